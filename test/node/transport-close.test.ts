/** Closing a transport: it settles when the last call is over, whoever began to end the connection. */
import { Code, type Interceptor, Status } from "triple-es";
import type { TransportOptions } from "triple-es/node";
import { describe, expect, it } from "vitest";
import { createGreetServiceClient } from "../../examples/gen/greet/v1/greet_triple.ts";
import { connectGreeter, failureOf, openTransport, signalled, startServer } from "../support/server.ts";

it("waits for the calls of a connection that the server is closing already", async () => {
  const [begun, finish] = [signalled(), signalled()];
  const { server, baseUrl } = await startServer({
    async greet({ name }) {
      begun.resolve();
      await finish.promise;
      return { greeting: `Hello, ${name}!` };
    },
  });
  const transport = openTransport(baseUrl);
  const call = createGreetServiceClient(transport).greet({ name: "Ada" });
  await begun.promise;
  const serverClosed = server.close();
  // A connection that was refused proves that the server has begun to close, and time for its GOAWAY has passed.
  await expect(connectGreeter(baseUrl).greet({ name: "late" })).rejects.toThrow();
  const closed = transport.close();
  finish.resolve();
  expect((await call).greeting).toBe("Hello, Ada!");
  await closed;
  await serverClosed;
});

const TRANSPORTS: Readonly<Record<string, Omit<TransportOptions, "baseUrl">>> = {
  "gRPC over HTTP/2": { protocol: "grpc" },
  "HTTP RPC over HTTP/1.1": { protocol: "http-rpc" },
  "HTTP RPC over HTTP/2": { protocol: "http-rpc", httpVersion: "2" },
};
const WAYS: readonly (readonly [string, (opened: Promise<void>) => Omit<TransportOptions, "baseUrl">])[] = [
  ["as it is", () => ({})],
  ["that is compressed first", () => ({ compression: "gzip", compressMinBytes: 0 })],
  [
    "that an interceptor holds back",
    (opened) => {
      const waiting: Interceptor = (next) => async (request) => {
        await opened;
        return next(request);
      };
      return { interceptors: [waiting] };
    },
  ],
];

describe.each(Object.entries(TRANSPORTS))("%s", (_, options) => {
  it.each(WAYS)(
    "finishes a call %s, though the transport is closed at once, and then only is closed",
    async (_, way) => {
      const { baseUrl } = await startServer();
      const gate = signalled();
      const transport = openTransport(baseUrl, { ...options, ...way(gate.promise) });
      const events: string[] = [];
      const call = createGreetServiceClient(transport).greet({ name: "Ada" });
      const called = call.then(({ greeting }) => events.push(greeting));
      const closed = transport.close().then(() => events.push("closed"));
      expect(await failureOf(createGreetServiceClient(transport).greet({ name: "late" }))).toMatchObject({
        code: Code.Unavailable,
        status: Status.ChannelInactive,
      });
      gate.resolve();
      await Promise.all([called, closed]);
      expect(events).toEqual(["Hello, Ada!", "closed"]);
    },
  );

  it("is closed also after calls that went wrong in an interceptor, and as often as one likes", async () => {
    const { baseUrl } = await startServer();
    const broken = [
      () => () => {
        throw new Error("broken");
      },
      () => () => undefined,
    ] as unknown as Interceptor[];
    for (const interceptor of broken) {
      const transport = openTransport(baseUrl, { ...options, interceptors: [interceptor] });
      await expect(createGreetServiceClient(transport).greet({})).rejects.toThrow();
      await transport.close();
      await transport.close();
    }
  });
});
