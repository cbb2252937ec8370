/**
 * A Worker of Cloudflare that serves the callee in a Durable Object, because its requests wait for each other, and below
 * `/direct` without one, where the platform drops the callbacks of a request that it has answered. The
 * stream "Flood" is endless; a unary call of that name returns whether it has ended, and how many messages it has
 * produced.
 */
import { createRouter } from "triple-es";
import { fetchHandler } from "triple-es/fetch";
import { GreetServiceDef, type GreetServiceHandler } from "../../examples/gen/greet/v1/greet_triple.ts";
import { createCallee } from "./callee.ts";

const FLOOD = "Flood";
const MESSAGE = "a".repeat(16 * 1024);

function createFlood(): GreetServiceHandler {
  const callee = createCallee();
  let produced = 0;
  let state = "runs";
  return {
    ...callee,
    greet: (request, context) =>
      request.name === FLOOD ? { greeting: `${state} ${produced}` } : callee.greet(request, context),
    async *greetEach(request, context) {
      if (request.names[0] !== FLOOD) return yield* callee.greetEach(request, context);
      try {
        for (; ; produced++) yield { greeting: MESSAGE };
      } finally {
        state = "ended";
      }
    },
  };
}

const router = createRouter({ maxMessageBytes: 100_000, cors: { origins: ["https://friend.example"] } });
router.add(GreetServiceDef, createFlood(), { bodies: ["multipart", "form", "text", "xml"] });
const handle = fetchHandler(router, { prefix: "/rpc" });
const handleDirectly = fetchHandler(router, { prefix: "/direct" });

export class Callee {
  fetch(request: Request): Promise<Response> {
    return handle(request);
  }
}

interface Env {
  readonly CALLEE: { getByName(name: string): Callee };
}

// biome-ignore lint/style/noDefaultExport: workerd loads the default export
export default {
  fetch: (request: Request, { CALLEE }: Env): Promise<Response> =>
    new URL(request.url).pathname.startsWith("/direct/")
      ? handleDirectly(request)
      : CALLEE.getByName("main").fetch(request),
};
