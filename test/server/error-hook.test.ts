/** The error hook: called once for every error that is hidden from a peer, whatever its source. */
import { Code, type ErrorHook, type Interceptor, type StreamResponse } from "triple-es";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import type { GreetServiceHandler } from "../../examples/gen/greet/v1/greet_triple.ts";
import { grpcRequest, routeGreeter, rpcRequest, textOf } from "../support/greeter.ts";
import { connectGreeter, failureOf, signalled, startServer } from "../support/server.ts";

const secret = new Error("s3cret");
const fail = (): never => {
  throw secret;
};

/** A message that cannot be encoded. */
const UNSPEAKABLE = {
  get greeting(): string {
    return fail();
  },
};

/** Messages that fail after the first one. */
async function* failing(messages: AsyncIterable<object>): AsyncGenerator<object, void> {
  for await (const message of messages) {
    yield message;
    fail();
  }
}

const HANDLERS: Record<string, [method: string, Partial<GreetServiceHandler>]> = {
  "a unary handler that throws": ["Greet", { greet: fail }],
  "a unary handler that rejects": ["Greet", { greet: async () => fail() }],
  "a handler whose answer cannot be encoded": ["Greet", { greet: () => UNSPEAKABLE }],
  "metadata that is reserved": [
    "Greet",
    {
      greet: (_, { responseHeaders }) => {
        responseHeaders.set("content-type", "text/html");
        return {};
      },
    },
  ],
  "a stream that throws at once": ["GreetEach", { greetEach: fail }],
  "a stream that fails before its first message": [
    "GreetEach",
    {
      // biome-ignore lint/correctness/useYield: it fails before it yields
      async *greetEach() {
        fail();
      },
    },
  ],
  "a stream that fails after its first message": [
    "GreetEach",
    {
      async *greetEach() {
        yield {};
        fail();
      },
    },
  ],
  "a stream that fails after its headers": [
    "GreetEach",
    {
      async *greetEach(_, context) {
        context.sendHeaders();
        await new Promise((resolve) => setImmediate(resolve));
        fail();
      },
    },
  ],
  "a stream with a message that cannot be encoded": [
    "GreetEach",
    {
      async *greetEach() {
        yield UNSPEAKABLE;
      },
    },
  ],
  "a client stream whose handler rejects": ["GreetTogether", { greetTogether: async () => fail() }],
};

const INTERCEPTORS: Record<string, [method: string, Interceptor]> = {
  "an interceptor that throws": ["Greet", () => fail],
  "an interceptor that fails after the call": ["Greet", (next) => async (request) => (await next(request)) && fail()],
  "an interceptor whose stream fails": [
    "GreetEach",
    (next) => async (request) => {
      const response = (await next(request)) as StreamResponse;
      return { ...response, messages: failing(response.messages) };
    },
  ],
};

describe.each(["grpc", "http-rpc"])("over %s", (protocol) => {
  const unaryOnly = protocol === "http-rpc";
  const request = (method: string) => {
    const path = `/greet.v1.GreetService/${method}`;
    return unaryOnly ? rpcRequest({ path }) : grpcRequest({ path });
  };

  it.each(
    [
      ...Object.entries(HANDLERS).map(([name, [method, handler]]) => [name, method, handler, []] as const),
      ...Object.entries(INTERCEPTORS).map(([name, [method, one]]) => [name, method, {}, [one]] as const),
    ].filter(([, method]) => !unaryOnly || method === "Greet"),
  )("%s", async (_, method, handler, interceptors) => {
    const told: [unknown, string][] = [];
    const onError: ErrorHook = (error, path) => told.push([error, path]);
    const { exchange } = routeGreeter(handler, { interceptors, onError });
    const response = await exchange(request(method));
    const seen = `${await textOf(response)}${response.headers.raw}${response.trailers.raw}`;
    expect(told).toEqual([[expect.any(Error), `/greet.v1.GreetService/${method}`]]);
    expect(seen).not.toContain("s3cret");
    expect(seen).toMatch(/grpc-status,(2|13)|"status":(70|80)/);
  });
});

it("is called for a handler that fails when it is stopped", async () => {
  const told: unknown[] = [];
  const hook = signalled();
  const { baseUrl } = await startServer(
    {
      async *greetEach() {
        try {
          for (;;) yield {};
        } finally {
          fail();
        }
      },
    },
    {
      onError: (error) => {
        told.push(error);
        hook.resolve();
      },
    },
  );
  const client = connectGreeter(baseUrl);
  for await (const _ of client.greetEach({})) break;
  await hook.promise;
  expect(told).toEqual([secret]);
  expect((await client.greet({ name: "Ada" })).greeting).toBe("Hello, Ada!");
});

it.each<[string, ErrorHook]>([
  ["throws", () => fail()],
  ["rejects", () => Promise.reject(secret)],
])("does no harm when it %s", async (_, onError) => {
  const printed = vi.spyOn(console, "error").mockImplementation(() => {});
  onTestFinished(() => printed.mockRestore());
  const { baseUrl } = await startServer({ greet: fail }, { onError });
  const { code } = await failureOf(connectGreeter(baseUrl).greet({}));
  expect(code).toBe(Code.Unknown);
  await expect.poll(() => printed.mock.calls).toEqual([["triple-es: the hook onError failed:", secret]]);
});
