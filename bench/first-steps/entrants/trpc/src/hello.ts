import { initTRPC } from "@trpc/server";
import { z } from "zod";

const t = initTRPC.create();

export const router = t.router({
  sayHello: t.procedure
    .input(z.object({ name: z.string().min(1) }))
    .query(({ input }) => ({ greeting: `Hello, ${input.name}!` })),
  greetEach: t.procedure.input(z.object({ names: z.array(z.string()) })).query(async function* ({ input }) {
    for (const name of input.names) yield { greeting: `Hello, ${name}!` };
  }),
});
export const createCaller = t.createCallerFactory(router);
export type Router = typeof router;
