/**
 * A Worker of Cloudflare that makes a call over gRPC with a transport of its own, to the server and with the message that its
 * query has.
 */
import { codeName, RpcError } from "triple-es";
import { createTransport } from "triple-es/node";
import { createGreetServiceClient } from "../../examples/gen/greet/v1/greet_triple.ts";

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
};
