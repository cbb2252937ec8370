/**
 * The maximum number of open connections of a server. Ten thousand sockets are more than a test may open, so the test
 * reads the maximum from the server's socket and lowers it before it connects.
 */
import { once } from "node:events";
import { connect, Server, type Socket } from "node:net";
import { createServer } from "triple-es/node";
import { expect, it, onTestFinished, vi } from "vitest";
import { GreetServiceDef } from "../../../examples/gen/greet/v1/greet_triple.ts";
import { hasOpenssl, sharedCertificates } from "../../support/certificate.ts";
import { Http1Connection } from "../../support/connection.ts";
import { greeter } from "../../support/server.ts";

const GREET = "/greet.v1.GreetService/Greet";
const JSON_TYPE = { "content-type": "application/json" };

/** Starts a greeter, and also returns the socket server that it listens with. */
async function listen(options: Parameters<typeof createServer>[0]): Promise<{ sockets: Server; port: number }> {
  const listened = vi.spyOn(Server.prototype, "listen");
  const server = createServer(options).add(GreetServiceDef, greeter);
  await server.listen({ port: 0, host: "127.0.0.1" });
  const sockets = listened.mock.contexts[0] as Server;
  listened.mockRestore();
  onTestFinished(() => server.close({ graceMs: 0 }));
  return { sockets, port: server.address.port };
}

async function open(port: number): Promise<Socket> {
  const socket = connect({ port, host: "127.0.0.1" });
  socket.on("error", () => {});
  onTestFinished(() => {
    socket.destroy();
  });
  await once(socket, "connect");
  return socket;
}

async function greet(connection: Http1Connection, name: string): Promise<unknown> {
  const { body } = await connection.post(GREET, JSON_TYPE, JSON.stringify({ name }));
  return JSON.parse(body.toString());
}

it("a server closes connections beyond its maximum at once, and continues to serve the others", async () => {
  const { sockets, port } = await listen({});
  expect(sockets.maxConnections).toBe(10_000);
  sockets.maxConnections = 2;
  const first = new Http1Connection(await open(port));
  expect(await greet(first, "first")).toEqual({ greeting: "Hello, first!" });
  const second = new Http1Connection(await open(port));
  expect(await greet(second, "second")).toEqual({ greeting: "Hello, second!" });

  const refused = await open(port);
  refused.resume();
  await once(refused, "close");
  expect(await greet(first, "again")).toEqual({ greeting: "Hello, again!" });

  second.destroy();
  await expect.poll(() => new Promise((resolve) => sockets.getConnections((_error, count) => resolve(count)))).toBe(1);
  expect(await greet(new Http1Connection(await open(port)), "third")).toEqual({ greeting: "Hello, third!" });
});

it.skipIf(!hasOpenssl)("a server over TLS has the same maximum", async () => {
  const { sockets, port } = await listen({ tls: sharedCertificates().server });
  expect(sockets.maxConnections).toBe(10_000);
  sockets.maxConnections = 1;
  await open(port);
  const refused = await open(port);
  refused.resume();
  await once(refused, "close");
});
