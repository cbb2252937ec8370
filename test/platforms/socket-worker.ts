/**
 * A Worker of Cloudflare on sockets. A request makes a call over gRPC with a transport of its own, to the server and with the
 * message that its query has. A connection gets a server of its own, or is passed on to a Durable Object, if there is a binding.
 */
import { codeName, RpcError } from "triple-es";
import { createServer, createTransport, type Server } from "triple-es/node";
import { createGreetServiceClient, GreetServiceDef } from "../../examples/gen/greet/v1/greet_triple.ts";
import { createCallee } from "./callee.ts";

type Socket = Parameters<Server["accept"]>[0];

const callee = createCallee();

/** The callee with streams of requests. Its server closes when the name "Close" arrives in one. */
function createCalleeServer(): Server {
  const server = createServer({ onError: () => {} });
  return server.add(GreetServiceDef, {
    ...callee,
    async greetTogether(requests) {
      const names: string[] = [];
      for await (const { name } of requests) names.push(name);
      return { greeting: `Hello, ${names.join(" and ")}!` };
    },
    async *greetOnArrival(requests) {
      for await (const { name } of requests) {
        if (name === "Close") void server.close();
        yield { greeting: `Hello, ${name}!` };
      }
    },
  });
}

/** A Durable Object, whose connections share a server. */
export class Callee {
  readonly #server = createCalleeServer();

  connect(socket: Socket): Promise<void> {
    return this.#server.accept(socket);
  }
}

interface Env {
  readonly CALLEE?: { getByName(name: string): { connect(address: string): Socket } };
}

// biome-ignore lint/style/noDefaultExport: workerd loads the default export
export default {
  async fetch(request: Request): Promise<Response> {
    const { to = "", name = "", timeoutMs = "10000" } = Object.fromEntries(new URL(request.url).searchParams);
    // TLS has no ALPN there.
    const tls = to.startsWith("https:") ? { ALPNProtocols: [] as const } : undefined;
    const transport = createTransport({ baseUrl: to, tls });
    try {
      const { greeting } = await createGreetServiceClient(transport).greet({ name }, { timeoutMs: Number(timeoutMs) });
      return Response.json({ greeting });
    } catch (error) {
      const { code, rawMessage } = RpcError.from(error);
      return Response.json({ code: codeName(code), rawMessage });
    } finally {
      await transport.close();
    }
  },

  async connect(socket: Socket, { CALLEE }: Env): Promise<void> {
    if (CALLEE === undefined) return createCalleeServer().accept(socket);
    const { readable, writable } = CALLEE.getByName("main").connect("any:1");
    await Promise.allSettled([socket.readable.pipeTo(writable), readable.pipeTo(socket.writable)]);
  },
};
