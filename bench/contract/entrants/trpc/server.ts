import { initTRPC, TRPCError } from "@trpc/server";
import { createHTTPServer } from "@trpc/server/adapters/standalone";
import { z } from "zod";
import { books } from "../books.ts";

const t = initTRPC.create();
const Get = z.object({ id: z.string().min(1) });
const Book = z.object({ id: z.string().min(1), title: z.string().min(1), pages: z.int().min(1) });
export type Book = z.infer<typeof Book>;

const router = t.router({
  get: t.procedure.input(Get).query(({ input }) => {
    const book = books.get(input.id);
    if (book === undefined) throw new TRPCError({ code: "NOT_FOUND", message: "there is no such book" });
    return book;
  }),
  add: t.procedure.input(Book).mutation(({ input }) => {
    books.set(input.id, input);
    return input;
  }),
});
export type Books = typeof router;
createHTTPServer({ router }).listen(50062, "127.0.0.1");
