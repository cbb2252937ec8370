import { createTRPCClient, httpLink } from "@trpc/client";
import type { Book, Books } from "./server.ts";

const books = createTRPCClient<Books>({ links: [httpLink({ url: "http://127.0.0.1:50062" })] });
export const get = (id: string) => books.get.query({ id });
export const add = (book: Book) => books.add.mutate(book);
