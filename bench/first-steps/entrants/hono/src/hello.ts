import { zValidator } from "@hono/zod-validator";
import { Hono } from "hono";
import { streamText } from "hono/streaming";
import { z } from "zod";

export const app = new Hono()
  .post("/hello", zValidator("json", z.object({ name: z.string().min(1) })), (c) =>
    c.json({ greeting: `Hello, ${c.req.valid("json").name}!` }),
  )
  .post("/greet-each", zValidator("json", z.object({ names: z.array(z.string()) })), (c) =>
    streamText(c, async (stream) => {
      for (const name of c.req.valid("json").names)
        await stream.writeln(JSON.stringify({ greeting: `Hello, ${name}!` }));
    }),
  );
export type App = typeof app;
