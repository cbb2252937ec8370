import { hc, parseResponse } from "hono/client";
import type { Book, Books } from "./server.ts";

const { books } = hc<Books>("http://127.0.0.1:50063");
export const get = (id: string) => parseResponse(books[":id"].$get({ param: { id } }));
export const add = (book: Book) => parseResponse(books.$post({ json: book }));
