import { createORPCClient } from "@orpc/client";
import { RPCLink } from "@orpc/client/fetch";
import type { Book, Books } from "./server.ts";

const books: Books = createORPCClient(new RPCLink({ url: "http://127.0.0.1:50064" }));
export const get = (id: string) => books.get({ id });
export const add = (book: Book) => books.add(book);
