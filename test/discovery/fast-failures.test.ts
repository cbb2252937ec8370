/**
 * Endpoints that fail every call at once, in the ways in which a server can: they have the fewest active streams, so the power of
 * two choices prefers them until they are ejected. Each is one of three, beside two that answer after some time.
 */
import { constants, createServer, type Http2Server, type ServerHttp2Stream } from "node:http2";
import type { AddressInfo } from "node:net";
import { Code, RpcError } from "triple-es";
import { fixed } from "triple-es/discovery";
import { createServer as createServerOfServices, createTransport } from "triple-es/node";
import { describe, expect, it, onTestFinished } from "vitest";
import { createGreetServiceClient, type GreetServiceClient } from "../../examples/gen/greet/v1/greet_triple.ts";
import { failureOf, startServer } from "../support/server.ts";

const CALLS = 300;
const CALLERS = 6;
/** Five failures in a row eject, while the other callers may have picked the endpoint too. */
const MOST_FAILURES = 5 + CALLERS;

const GRPC = { "content-type": "application/grpc+proto" };
const ONE_MESSAGE = Buffer.from([0, 0, 0, 0, 0]);

/** Starts an HTTP/2 server that handles each request in the same way. Returns its address and its count of requests. */
async function startFailing(fail: (stream: ServerHttp2Stream) => void): Promise<{ address: string; requests: number }> {
  const server: Http2Server = createServer();
  const started = { address: "", requests: 0 };
  server.on("stream", (stream) => {
    started.requests++;
    stream.on("error", () => {});
    fail(stream);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  started.address = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return started;
}

/** Starts two servers that answer after some time. */
async function startSlow(): Promise<string[]> {
  const answer = async () => {
    await new Promise((resolve) => setTimeout(resolve, 5));
    return { greeting: "Hello" };
  };
  const each = async function* () {
    yield await answer();
  };
  const servers = await Promise.all([0, 1].map(() => startServer({ greet: answer, greetEach: each })));
  return servers.map(({ port }) => `127.0.0.1:${port}`);
}

async function connect(
  addresses: readonly string[],
  options: { readonly protocol?: "http-rpc"; readonly httpVersion?: "1.1" | "2" } = {},
) {
  const transport = createTransport({ ...options, resolver: fixed(addresses) });
  onTestFinished(() => transport.close({ graceMs: 0 }));
  const client = createGreetServiceClient(transport);
  const states = () => transport.endpoints().map(({ state }) => state);
  await client.greet({}).catch(() => {});
  await expect.poll(() => new Set(states()), { timeout: 10_000 }).toEqual(new Set(["ready"]));
  return { client, states };
}

/** Makes many calls, some at a time. Returns the number of those that failed. */
async function failures(call: () => Promise<unknown>): Promise<number> {
  let left = CALLS;
  let failed = 0;
  const caller = async (): Promise<void> => {
    while (left-- > 0) await call().catch(() => failed++);
  };
  await Promise.all(Array.from({ length: CALLERS }, caller));
  return failed;
}

const unary = (client: GreetServiceClient) => client.greet({});
const stream = async (client: GreetServiceClient) => {
  for await (const _ of client.greetEach({ names: ["x"] }));
};

describe("an endpoint that fails each call at once is ejected", () => {
  it.each<[string, (stream: ServerHttp2Stream) => void]>([
    [
      "with HTTP 404 and HTML, as a web server on a stale address",
      (stream) => {
        stream.respond({ ":status": 404, "content-type": "text/html" });
        stream.end("<h1>Not Found</h1>");
      },
    ],
    [
      "with HTTP 200 and HTML",
      (stream) => {
        stream.respond({ ":status": 200, "content-type": "text/html" });
        stream.end("<h1>Welcome</h1>");
      },
    ],
    ["with RST_STREAM and INTERNAL_ERROR", (stream) => stream.close(constants.NGHTTP2_INTERNAL_ERROR)],
    ["with RST_STREAM and CANCEL", (stream) => stream.close(constants.NGHTTP2_CANCEL)],
    ["with RST_STREAM and REFUSED_STREAM", (stream) => stream.close(constants.NGHTTP2_REFUSED_STREAM)],
    [
      "with RST_STREAM after the headers",
      (stream) => {
        stream.respond(GRPC);
        setImmediate(() => stream.close(constants.NGHTTP2_INTERNAL_ERROR));
      },
    ],
    [
      "with a status in the trailers",
      (stream) => {
        stream.respond(GRPC, { waitForTrailers: true });
        stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": `${Code.ResourceExhausted}` }));
        stream.end();
      },
    ],
    [
      "with a body of other bytes",
      (stream) => {
        stream.respond(GRPC);
        stream.end("no envelope at all");
      },
    ],
  ])("%s", async (_, fail) => {
    const bad = await startFailing(fail);
    const { client, states } = await connect([bad.address, ...(await startSlow())]);
    const failed = await failures(() => unary(client));
    expect(bad.requests).toBeLessThanOrEqual(2 * MOST_FAILURES);
    expect(failed).toBeLessThanOrEqual(MOST_FAILURES);
    expect(states()).toEqual(["ejected", "ready", "ready"]);
  });

  it("with a stream that fails after its first message", async () => {
    const bad = await startFailing((stream) => {
      stream.respond(GRPC, { waitForTrailers: true });
      stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": `${Code.Internal}` }));
      stream.end(ONE_MESSAGE);
    });
    const { client, states } = await connect([bad.address, ...(await startSlow())]);
    await failures(() => stream(client));
    expect(bad.requests).toBeLessThanOrEqual(MOST_FAILURES);
    expect(states()).toEqual(["ejected", "ready", "ready"]);
  });

  it.each(["2", "1.1"] as const)("with a failure event after a message, over HTTP/%s", async (httpVersion) => {
    const greetEach = async function* () {
      yield { greeting: "Hello" };
      throw new RpcError(Code.Internal, "broken");
    };
    const { port } = await startServer({ greetEach });
    const addresses = [`127.0.0.1:${port}`, ...(await startSlow())];
    const { client, states } = await connect(addresses, { protocol: "http-rpc", httpVersion });
    expect(await failures(() => stream(client))).toBeLessThanOrEqual(MOST_FAILURES);
    expect(states()).toEqual(["ejected", "ready", "ready"]);
  });

  it.each(["2", "1.1"] as const)("with `unimplemented` over HTTP RPC and HTTP/%s", async (httpVersion) => {
    const server = createServerOfServices();
    await server.listen({ port: 0, host: "127.0.0.1" });
    onTestFinished(() => server.close({ graceMs: 0 }));
    const addresses = [`127.0.0.1:${server.address.port}`, ...(await startSlow())];
    const { client, states } = await connect(addresses, { protocol: "http-rpc", httpVersion });
    const failed = await failures(() => unary(client));
    expect(failed).toBeLessThanOrEqual(MOST_FAILURES);
    expect(states()).toEqual(["ejected", "ready", "ready"]);
  });
});

describe("an endpoint is not ejected", () => {
  it.each(["2", "1.1"] as const)("because of `not_found` over HTTP RPC and HTTP/%s", async (httpVersion) => {
    const greet = () => Promise.reject(new RpcError(Code.NotFound, "no such name"));
    const { port } = await startServer({ greet });
    const addresses = [`127.0.0.1:${port}`, ...(await startSlow())];
    const { client, states } = await connect(addresses, { protocol: "http-rpc", httpVersion });
    expect(await failures(() => unary(client))).toBeGreaterThan(MOST_FAILURES);
    expect(states()).toEqual(["ready", "ready", "ready"]);
  });

  it.each(["2", "1.1"] as const)("because of a failure event with `not_found` over HTTP/%s", async (httpVersion) => {
    const greetEach = async function* () {
      yield { greeting: "Hello" };
      throw new RpcError(Code.NotFound, "no such name");
    };
    const { port } = await startServer({ greetEach });
    const addresses = [`127.0.0.1:${port}`, ...(await startSlow())];
    const { client, states } = await connect(addresses, { protocol: "http-rpc", httpVersion });
    expect(await failures(() => stream(client))).toBeGreaterThan(MOST_FAILURES);
    expect(states()).toEqual(["ready", "ready", "ready"]);
  });

  it("because callers leave its streams or cancel their calls", async () => {
    const hanging = async () => {
      await new Promise((resolve) => setTimeout(resolve, 50));
      return { greeting: "late" };
    };
    const endless = async function* () {
      for (;;) yield { greeting: "on" };
    };
    const { port } = await startServer({ greet: hanging, greetEach: endless });
    const { client, states } = await connect([`127.0.0.1:${port}`, ...(await startSlow())]);
    for (let calls = 0; calls < 30; calls++) {
      const end = new AbortController();
      const cancelled = client.greet({}, { signal: end.signal }).catch(() => {});
      for await (const _ of client.greetEach({ names: ["x"] })) break;
      end.abort();
      await cancelled;
    }
    expect(states()).toEqual(["ready", "ready", "ready"]);
  });

  it("because of requests that this side cannot make", async () => {
    const { client, states } = await connect(await startSlow());
    const broken = async function* () {
      yield { name: "x" };
      throw new Error("no more names");
    };
    for (let calls = 0; calls < 30; calls++) await failureOf(client.greetTogether(broken()));
    expect(states()).toEqual(["ready", "ready"]);
  });
});
