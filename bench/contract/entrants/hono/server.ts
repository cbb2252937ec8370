import { serve } from "@hono/node-server";
import { zValidator } from "@hono/zod-validator";
import { Hono } from "hono";
import { HTTPException } from "hono/http-exception";
import { z } from "zod";
import { books } from "../books.ts";

const Book = z.object({ id: z.string().min(1), title: z.string().min(1), pages: z.int().min(1) });
export type Book = z.infer<typeof Book>;

const app = new Hono()
  .get("/books/:id", (c) => {
    const book = books.get(c.req.param("id"));
    if (book === undefined) throw new HTTPException(404, { message: "there is no such book" });
    return c.json(book);
  })
  .post("/books", zValidator("json", Book), (c) => {
    const book = c.req.valid("json");
    books.set(book.id, book);
    return c.json(book);
  });
export type Books = typeof app;
serve({ fetch: app.fetch, port: 50063, hostname: "127.0.0.1" });
