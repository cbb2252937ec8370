import { createServer } from "node:http";
import { ORPCError, os, type RouterClient } from "@orpc/server";
import { RPCHandler } from "@orpc/server/node";
import { z } from "zod";
import { books } from "../books.ts";

const Get = z.object({ id: z.string().min(1) });
const Book = z.object({ id: z.string().min(1), title: z.string().min(1), pages: z.int().min(1) });
export type Book = z.infer<typeof Book>;

const router = {
  get: os.input(Get).handler(({ input }) => {
    const book = books.get(input.id);
    if (book === undefined) throw new ORPCError("NOT_FOUND", { message: "there is no such book" });
    return book;
  }),
  add: os.input(Book).handler(({ input }) => {
    books.set(input.id, input);
    return input;
  }),
};
export type Books = RouterClient<typeof router>;
const handler = new RPCHandler(router);
createServer((request, response) => handler.handle(request, response)).listen(50064, "127.0.0.1");
