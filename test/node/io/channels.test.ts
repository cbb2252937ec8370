/** The channels of `node:diagnostics_channel`. `debug.test.ts` tests their text. */
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { Code, RpcError } from "triple-es";
import { fixed } from "triple-es/discovery";
import { createTransport } from "triple-es/node";
import { expect, it, onTestFinished } from "vitest";
import { createGreetServiceClient } from "../../../examples/gen/greet/v1/greet_triple.ts";
import { createStub } from "../../../runtime/src/client/client.ts";
import { idempotent } from "../../client/retry-calls.ts";
import { failureOf, startServer } from "../../support/server.ts";

const path = "/greet.v1.GreetService/Greet";

/** Subscribes to a channel. Returns its messages, which are collected until the end of the test. */
function collect(topic: string): Record<string, unknown>[] {
  const messages: Record<string, unknown>[] = [];
  const add = (message: unknown): void => void messages.push(message as Record<string, unknown>);
  subscribe(`triple-es.${topic}`, add);
  onTestFinished(() => void unsubscribe(`triple-es.${topic}`, add));
  return messages;
}

it("publish connections, resolution, picks, retries and calls", async () => {
  let calls = 0;
  const no = new RpcError(Code.Unavailable, "not now");
  const greet = () => {
    calls += 1;
    if (calls === 1) throw no;
    return {};
  };
  const { port } = await startServer({ greet });
  const address = `127.0.0.1:${port}`;
  const [connections = [], resolution, picks, retries, finished = []] = [
    "connection",
    "resolution",
    "pick",
    "retry",
    "call",
  ].map(collect);
  const transport = createTransport({
    resolver: fixed([address]),
    retry: { maxAttempts: 2, initialBackoffMs: 1, applies: () => true },
  });
  await createGreetServiceClient(transport).greet({ name: "Ada" });
  await transport.close();
  await expect.poll(() => connections.filter(({ type }) => type === "closed").length).toBe(2);
  const ends = connections.map(({ side, type, peer }) => [side, type, side === "client" ? peer : ""].join(" "));
  expect(ends.sort()).toEqual([
    `client closed ${address}`,
    `client connected ${address}`,
    `client connecting ${address}`,
    "server closed ",
    "server connected ",
    "server ended ",
  ]);
  expect(resolution).toMatchObject([{ addresses: [address], text: expect.stringContaining(address) }]);
  const pick = { path, address, text: `picked ${address} for ${path}` };
  expect(picks).toEqual([pick, pick]);
  expect(retries).toMatchObject([{ type: "retry", path, error: { code: Code.Unavailable } }]);
  expect(finished.map(({ side, method, code }) => `${side} ${method} ${code}`)).toEqual([
    "server Greet unavailable",
    "server Greet ok",
    "client Greet ok",
  ]);
});

it("publish the begin and the end of connections over HTTP/1.1, on both sides", async () => {
  const { port, baseUrl } = await startServer();
  const connections = collect("connection");
  const transport = createTransport({ baseUrl, protocol: "http-rpc", httpVersion: "1.1" });
  await createGreetServiceClient(transport).greet({});
  await transport.close();
  await expect.poll(() => connections.filter(({ type }) => type === "closed").length).toBe(2);
  expect(connections.map(({ side, type, text }) => [side, type, text]).sort()).toEqual([
    ["client", "closed", `connection to 127.0.0.1:${port} closed`],
    ["client", "connected", expect.stringMatching(/over HTTP\/1\.1 in \d+ ms$/)],
    ["client", "connecting", `connecting to 127.0.0.1:${port} over HTTP/1.1`],
    ["server", "closed", expect.stringMatching(/^connection from 127\.0\.0\.1:\d+ closed$/)],
    ["server", "connected", expect.stringMatching(/^connection from 127\.0\.0\.1:\d+ over HTTP\/1\.1$/)],
  ]);
});

it("publish that the option connect has thrown", async () => {
  const connections = collect("connection");
  const connect = () => {
    throw new Error("no tunnel");
  };
  const transport = createTransport({ baseUrl: "http://localhost:1", connect });
  await failureOf(createGreetServiceClient(transport).greet({}));
  await transport.close();
  expect(connections.map(({ text }) => text)).toEqual([
    "connecting to localhost:1 over HTTP/2",
    "connection to localhost:1 failed: no tunnel",
  ]);
});

it("publish hedged attempts, and attempts that the budget refuses", async () => {
  const greet = () => {
    throw new RpcError(Code.Unavailable, "not now");
  };
  const { baseUrl } = await startServer({ greet });
  const retries = collect("retry");
  const retry = { maxAttempts: 3, hedgingDelayMs: 60_000, budget: { minPerSecond: 0.1, ratio: 0 } };
  const transport = createTransport({ baseUrl, retry });
  onTestFinished(() => transport.close());
  await failureOf(createStub<(request: object) => Promise<object>>(idempotent, transport)({}));
  expect(retries.map(({ type, path: of }) => [type, of])).toEqual([
    ["hedge", path],
    ["refused", path],
  ]);
});

it("publish nothing after the last subscriber has left", async () => {
  const { baseUrl } = await startServer();
  const transport = createTransport({ baseUrl });
  onTestFinished(() => transport.close());
  const client = createGreetServiceClient(transport);
  const calls: unknown[] = [];
  const add = (message: unknown): void => void calls.push(message);
  subscribe("triple-es.call", add);
  await client.greet({});
  unsubscribe("triple-es.call", add);
  await client.greet({});
  expect(calls.length).toBe(2);
});
