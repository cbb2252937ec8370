/**
 * The server that h2spec tests: it answers every request with a few bytes, on a port for each path into the engine. Prints
 * the ports, and runs until it is killed or its parent ends.
 */
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { createServer as createTlsServer } from "node:tls";
import { Metadata } from "../../runtime/src/call/metadata.ts";
import { MemoryBudget } from "../../runtime/src/connection/memory-budget.ts";
import { WholeBody } from "../../runtime/src/http/body.ts";
import type { Exchange } from "../../runtime/src/http/exchange.ts";
import { serveHttp2 } from "../../runtime/src/node/server/http2/engine.ts";
import { resolveLimits } from "../../runtime/src/node/server/listener/limits.ts";
import { sharedCertificates } from "../support/certificate.ts";

const exchange: Exchange = async ({ body }) => {
  await body.bytes(1024 * 1024).catch(() => {});
  return {
    status: 200,
    headers: new Metadata({ "content-type": "text/plain" }),
    body: new WholeBody(Buffer.from("hello")),
    trailers: new Metadata(),
  };
};

async function listen(server: Server): Promise<number> {
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  return (server.address() as AddressInfo).port;
}

const { signal } = new AbortController();
const engine = serveHttp2({
  exchange,
  limits: resolveLimits(),
  budget: new MemoryBudget(64 * 1024 * 1024),
  maxHeaderBytes: 16 * 1024,
  draining: signal,
  maxConnections: 10_000,
});
const accept = (socket: Socket): void => {
  socket.on("error", () => {});
  engine.accept(socket);
};
// The engine is used directly, because a listener answers in HTTP/1.1 if the first bytes are not HTTP/2.
const plain = await listen(createServer(accept));
const secure = createTlsServer({ ...sharedCertificates().server, ALPNProtocols: ["h2"] }, accept);
console.log(JSON.stringify({ h2c: plain, h2: await listen(secure) }));
process.stdin.on("end", () => process.exit()).resume();
