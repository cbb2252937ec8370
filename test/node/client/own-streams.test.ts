/** Connections on streams of bytes that the user's function returns (option `connect`). */
import { once } from "node:events";
import { connect as connectSocket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Duplex } from "node:stream";
import { connect as connectTls } from "node:tls";
import { Code } from "triple-es";
import { fixed } from "triple-es/discovery";
import { createServer, createTransport, type NodeTransportOptions } from "triple-es/node";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { createGreetServiceClient, GreetServiceDef } from "../../../examples/gen/greet/v1/greet_triple.ts";
import { hasOpenssl, sharedCertificates } from "../../support/certificate.ts";
import { arriving, connectGreeter, failureOf, greeter, greetings, startServer } from "../../support/server.ts";

type Connect = NonNullable<NodeTransportOptions["connect"]>;
type StreamPair = ReturnType<Connect>;

const onSockets: Connect = (address) => Duplex.toWeb(connectSocket(address)) as StreamPair;
const CLIENTS = [
  { protocol: "grpc", httpVersion: "2" },
  { protocol: "http-rpc", httpVersion: "2" },
  { protocol: "http-rpc", httpVersion: "1.1" },
] as const;

describe("the option connect", () => {
  it.each(CLIENTS)("carries calls: $protocol over HTTP/$httpVersion", async (options) => {
    const { port } = await startServer();
    const addresses: unknown[] = [];
    const connect: Connect = (address) => {
      addresses.push(address);
      return onSockets(address);
    };
    const greeter = connectGreeter(`http://localhost:${port}`, { ...options, connect });
    const names = Array.from({ length: 30 }, (_, i) => `Ada ${i}`);
    for (const name of names) expect((await greeter.greet({ name })).greeting).toBe(`Hello, ${name}!`);
    expect(await greetings(greeter.greetEach({ names }))).toHaveLength(30);
    expect(new Set(addresses.map((one) => JSON.stringify(one)))).toEqual(
      new Set([`{"host":"localhost","port":${port}}`]),
    );
    expect(addresses.length).toBeLessThan(3);
    if (options.protocol !== "grpc") return;
    const long = "b".repeat(300_000);
    expect((await greetings(greeter.greetOnArrival(arriving("Ada", long))))[1]).toBe(`Hello, ${long}!`);
  });

  it.skipIf(!hasOpenssl).each(CLIENTS)("has streams with TLS: $protocol over HTTP/$httpVersion", async (options) => {
    const { ca, server: tls } = sharedCertificates();
    const { port } = await startServer({}, { tls });
    const connect: Connect = (address) => {
      const ALPNProtocols = [options.httpVersion === "2" ? "h2" : "http/1.1"];
      return Duplex.toWeb(connectTls({ ...address, ca, ALPNProtocols })) as StreamPair;
    };
    const greeter = connectGreeter(`https://localhost:${port}`, { ...options, connect });
    expect((await greeter.greet({ name: "Ada" })).greeting).toBe("Hello, Ada!");
  });

  it("is called for the endpoints of a resolver", async () => {
    const ports = [(await startServer()).port, (await startServer()).port];
    const called = new Set<number>();
    const transport = createTransport({
      resolver: fixed(ports.map((port) => `127.0.0.1:${port}`)),
      connect(address) {
        called.add(address.port);
        return onSockets(address);
      },
    });
    onTestFinished(() => transport.close());
    const greeter = createGreetServiceClient(transport);
    await Promise.all(Array.from({ length: 50 }, () => greeter.greet({ name: "Ada" })));
    expect(called).toEqual(new Set(ports));
  });

  it.each(CLIENTS)(
    "fails calls whose streams fail, and connects again: $protocol over HTTP/$httpVersion",
    async (options) => {
      const { port } = await startServer();
      const connects: Connect[] = [
        () => {
          throw new Error("no tunnel");
        },
        () => undefined as unknown as StreamPair,
        () => ({}) as StreamPair,
        () => Promise.reject(new Error("too late")) as unknown as StreamPair,
        () => ({
          readable: new ReadableStream({ start: (controller) => controller.error(new Error("cut")) }),
          writable: new WritableStream(),
        }),
        () => ({
          readable: new ReadableStream(),
          writable: new WritableStream({ write: () => Promise.reject("a text") }),
        }),
        (address) => {
          const socket = connectSocket(address);
          void once(socket, "connect").then(() => socket.destroy(new Error("broken")));
          return Duplex.toWeb(socket) as StreamPair;
        },
      ];
      const connect: Connect = (address) => (connects.shift() ?? onSockets)(address);
      const greeter = connectGreeter(`http://localhost:${port}`, { ...options, connect, maxBackoffMs: 0 });
      const printed = vi.spyOn(console, "error").mockImplementation(() => {});
      onTestFinished(() => printed.mockRestore());
      for (const text of [
        "no tunnel",
        ...Array(3).fill("two streams that are not locked"),
        "cut",
        "a text",
        "failed",
      ]) {
        const { code, rawMessage } = await failureOf(greeter.greet({}));
        expect([code, rawMessage]).toEqual([Code.Unavailable, expect.stringContaining(text)]);
      }
      expect((await greeter.greet({ name: "Ada" })).greeting).toBe("Hello, Ada!");
      expect(printed.mock.calls).toEqual([["triple-es: the option connect failed:", new Error("too late")]]);
    },
  );

  it("ends an attempt that is not answered at connectTimeoutMs", async () => {
    const cancelled: unknown[] = [];
    const connect: Connect = () => ({
      readable: new ReadableStream({ cancel: (reason) => void cancelled.push(reason) }),
      writable: new WritableStream(),
    });
    const greeter = connectGreeter("http://localhost:1", { protocol: "grpc", connect, connectTimeoutMs: 50 });
    expect((await failureOf(greeter.greet({}))).rawMessage).toContain("no connection within 50 ms");
    expect(cancelled).toHaveLength(1);
  });

  it("excludes tls and proxy", () => {
    for (const others of [{ tls: {} }, { proxy: "http://127.0.0.1:1" }]) {
      const create = () => createTransport({ baseUrl: "https://localhost", connect: onSockets, ...others });
      expect(create).toThrow("connect excludes tls and proxy");
    }
    expect(() => createTransport({ baseUrl: "http://localhost", connect: 1 as never })).toThrow(TypeError);
  });

  it("does not replace connections to Unix sockets", async () => {
    expect(() => createTransport({ baseUrl: "unix:/run/a.sock", connect: onSockets })).toThrow(
      "connect has no effect on a Unix socket",
    );
    const path = join(tmpdir(), `own-streams-${process.pid}.sock`);
    const server = createServer().add(GreetServiceDef, greeter);
    await server.listen({ path });
    onTestFinished(() => server.close({ graceMs: 0 }));
    const transport = createTransport({
      resolver: fixed([`unix:${path}`]),
      connect() {
        throw new Error("not an address");
      },
    });
    onTestFinished(() => transport.close());
    expect((await createGreetServiceClient(transport).greet({ name: "Ada" })).greeting).toBe("Hello, Ada!");
  });
});
