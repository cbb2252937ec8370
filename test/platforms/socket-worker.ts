/**
 * A Worker of Cloudflare on sockets. A request makes a call over gRPC with a transport of its own, to the server and with the
 * message that its query has. A connection gets a server of its own: the callee, with request streams.
 */
import { codeName, RpcError } from "triple-es";
import { createServer, createTransport, type Server } from "triple-es/node";
import { createGreetServiceClient, GreetServiceDef } from "../../examples/gen/greet/v1/greet_triple.ts";
import { createCallee } from "./callee.ts";

const callee = createCallee();

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

  connect(socket: Parameters<Server["accept"]>[0]): Promise<void> {
    const server = createServer({ onError: () => {} }).add(GreetServiceDef, {
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
    return server.accept(socket);
  },
};
