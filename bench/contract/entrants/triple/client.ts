import { createTransport } from "triple-es/json";
import type { Book } from "./api.ts";
import { createBooksClient } from "./gen/api_triple.ts";

const books = createBooksClient(createTransport({ baseUrl: "http://127.0.0.1:50061" }));
export const get = (id: string) => books.get({ id });
export const add = (book: Book) => books.add(book);
