/** Loggers report every call once, whatever its end. */
import {
  Code,
  createClientLogger,
  createInMemoryTransport,
  createRouter,
  createServerLogger,
  type FinishedCall,
  type InMemoryTransportOptions,
  type Interceptor,
  RpcError,
  type StreamResponse,
} from "triple-es";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import {
  createGreetServiceClient,
  type GreetServiceClient,
  GreetServiceDef,
  type GreetServiceHandler,
} from "../../examples/gen/greet/v1/greet_triple.ts";
import {
  aborted,
  arriving,
  connectGreeter,
  failureOf,
  greeter,
  greetings,
  missDeadline,
  signalled,
  startServer,
} from "../support/server.ts";

interface Logged {
  readonly client: GreetServiceClient;
  readonly calls: FinishedCall[];
}

/** A greeter in memory, with a logger on each side. */
function connect(
  handler: Partial<GreetServiceHandler> = {},
  inside: readonly Interceptor[] = [],
  options: InMemoryTransportOptions = {},
): Logged {
  const calls: FinishedCall[] = [];
  const server = createServerLogger((call) => calls.push(call));
  const router = createRouter({ interceptors: [server, ...inside], onError: () => {} });
  router.add(GreetServiceDef, { ...greeter, ...handler });
  const client = createClientLogger((call) => calls.push(call));
  return {
    client: createGreetServiceClient(createInMemoryTransport(router, { ...options, interceptors: [client] })),
    calls,
  };
}

const summary = (calls: readonly FinishedCall[]) =>
  calls.map(({ side, method, kind, code }) => `${side} ${method} ${kind} ${code}`).sort();

describe("a call that succeeds", () => {
  it.each<[string, string, (client: GreetServiceClient) => Promise<unknown>]>([
    ["Greet", "unary", (client) => client.greet({ name: "Ada" })],
    ["GreetEach", "server_streaming", (client) => greetings(client.greetEach({ names: ["Ada", "Bob"] }))],
    ["GreetTogether", "client_streaming", (client) => client.greetTogether(arriving("Ada", "Bob"))],
    ["GreetOnArrival", "bidi_streaming", (client) => greetings(client.greetOnArrival(arriving("Ada", "Bob")))],
  ])("is reported at both ends: %s", async (method, kind, call) => {
    const { client, calls } = connect();
    await call(client);
    expect(summary(calls)).toEqual([`client ${method} ${kind} ok`, `server ${method} ${kind} ok`]);
    for (const { service, durationMs, error } of calls) {
      expect([service, durationMs >= 0, error]).toEqual(["greet.v1.GreetService", true, undefined]);
    }
  });
});

describe("a call that fails", () => {
  it("is reported with its code", async () => {
    const { client, calls } = connect({
      greet: () => {
        throw new RpcError(Code.NotFound, "not found");
      },
    });
    await failureOf(client.greet({}));
    expect(summary(calls)).toEqual(["client Greet unary not_found", "server Greet unary not_found"]);
    expect(calls.map(({ error }) => error?.rawMessage)).toEqual(["not found", "not found"]);
  });

  it("is reported when it fails after its first message", async () => {
    const secret = new Error("the disk is full");
    const { client, calls } = connect({
      async *greetEach() {
        yield { greeting: "1" };
        throw secret;
      },
    });
    await failureOf(client.greetEach({}));
    expect(summary(calls)).toEqual([
      "client GreetEach server_streaming unknown",
      "server GreetEach server_streaming unknown",
    ]);
    expect(calls.find(({ side }) => side === "server")?.error?.cause).toBe(secret);
    expect(calls.find(({ side }) => side === "client")?.error?.cause).toBeUndefined();
  });

  it("is reported when an interceptor fails", async () => {
    const { client, calls } = connect({}, [
      () => () => {
        throw new RpcError(Code.Unauthenticated, "who are you?");
      },
    ]);
    await failureOf(client.greet({}));
    expect(summary(calls)).toEqual(["client Greet unary unauthenticated", "server Greet unary unauthenticated"]);
  });

  it.each(["greet", "greetEach"] as const)("is reported when its deadline passes: %s", async (name) => {
    const begun = signalled();
    const { client, calls } = connect({
      greet: async (_, { signal }) => {
        begun.resolve();
        await aborted(signal);
        return {};
      },
      async *greetEach(_, { signal }) {
        begun.resolve();
        yield {};
        await aborted(signal);
      },
    });
    await missDeadline(begun.promise, (options) => failureOf(client[name]({}, options)));
    await expect
      .poll(() => new Set(calls.map((call) => `${call.side} ${call.code}`)))
      .toEqual(new Set(["client deadline_exceeded", "server deadline_exceeded"]));
  });
});

/** The reports of both sides of one call. */
const outcomes = (calls: readonly FinishedCall[]) =>
  Object.fromEntries(calls.map(({ side, code, error }) => [side, [code, error?.rawMessage]]));

describe("a call that fails after the last interceptor of a server", () => {
  const secret = new Error("not today");
  const unspeakable = {
    get greeting(): string {
      throw secret;
    },
  };
  const PROTOCOLS = ["grpc", "http-rpc"] as const;

  it.each(PROTOCOLS)("is reported as its caller sees it if the response cannot be encoded: %s", async (protocol) => {
    const { client, calls } = connect({ greet: () => unspeakable }, [], { protocol });
    expect((await failureOf(client.greet({}))).code).toBe(Code.Internal);
    const told = ["internal", "internal server error"];
    expect(calls).toHaveLength(2);
    expect(outcomes(calls)).toEqual({ client: told, server: told });
    expect(calls.find(({ side }) => side === "server")?.error?.cause).toBe(secret);
  });

  it.each<[string, Partial<GreetServiceHandler>]>([
    [
      "its only message",
      {
        greetEach: async function* () {
          yield unspeakable;
        },
      },
    ],
    [
      "a later message",
      {
        greetEach: async function* () {
          yield {};
          yield unspeakable;
          yield {};
        },
      },
    ],
    [
      "the trailing metadata",
      {
        async *greetEach(_, { responseTrailers }) {
          yield {};
          responseTrailers.set("grpc-status", "0");
        },
      },
    ],
  ])("is reported as its caller sees it if %s of a stream cannot be sent", async (_, handler) => {
    const { client, calls } = connect(handler);
    expect((await failureOf(client.greetEach({}))).code).toBe(Code.Internal);
    const told = ["internal", "internal server error"];
    expect(calls).toHaveLength(2);
    expect(outcomes(calls)).toEqual({ client: told, server: told });
  });

  it.each(PROTOCOLS)("is reported if the metadata of the response is reserved: %s", async (protocol) => {
    const { client, calls } = connect(
      {
        greet(_, { responseHeaders }) {
          responseHeaders.set("content-type", "text/html");
          return {};
        },
      },
      [],
      { protocol },
    );
    await failureOf(client.greet({}));
    expect(summary(calls)).toEqual(["client Greet unary internal", "server Greet unary internal"]);
  });

  it.each(PROTOCOLS)("is reported on both sides if an interceptor returns nothing: %s", async (protocol) => {
    const forgetful: Interceptor = (next) => async (request) => {
      await next(request);
      return undefined as never;
    };
    const { client, calls } = connect({}, [forgetful], { protocol });
    expect((await failureOf(client.greet({}))).code).toBe(Code.Internal);
    expect(summary(calls)).toEqual(["client Greet unary internal", "server Greet unary internal"]);
    const { error } = calls.find(({ side }) => side === "server") as FinishedCall;
    expect(String(error?.cause)).toContain("must return the response of next(request)");
  });
});

it("a client's interceptor that returns nothing is reported, and its caller receives the reason", async () => {
  const calls: FinishedCall[] = [];
  const logger = createClientLogger((call) => calls.push(call));
  const interceptors: Interceptor[] = [logger, () => async () => undefined as never];
  const transport = createInMemoryTransport(createRouter().add(GreetServiceDef, greeter), { interceptors });
  const { message } = await failureOf(createGreetServiceClient(transport).greet({}));
  expect(message).toContain("with nothing instead of next(request)");
  expect(calls.map(({ error }) => error?.message)).toEqual([message]);
});

describe("an interceptor's error that is not for the caller", () => {
  const secret = new Error("the cache is unreachable");
  const told = ["unknown", "the service failed to handle the call"];
  const failing: Interceptor = (next) => async (request) => {
    const response = (await next(request)) as StreamResponse;
    return { ...response, messages: failAfterFirst(response.messages) };
  };

  async function* failAfterFirst(messages: AsyncIterable<object>): AsyncGenerator<object, void> {
    for await (const message of messages) {
      yield message;
      throw secret;
    }
  }

  it.each<[string, "greet" | "greetEach", "grpc" | "http-rpc", Interceptor]>([
    ["a unary call of B", "greet", "grpc", () => () => Promise.reject(secret)],
    ["a unary call of A", "greet", "http-rpc", () => () => Promise.reject(secret)],
    ["a stream that does not begin", "greetEach", "grpc", () => () => Promise.reject(secret)],
    ["a stream that has begun", "greetEach", "grpc", failing],
  ])("has one code and text for the caller and the logger: %s", async (_, method, protocol, interceptor) => {
    const { client, calls } = connect({}, [interceptor], { protocol });
    const error = await failureOf(client[method]({ names: ["Ada", "Bob"] } as object));
    expect([error.code, error.rawMessage]).toEqual([Code.Unknown, told[1]]);
    expect(calls).toHaveLength(2);
    expect(outcomes(calls)).toEqual({ client: told, server: told });
    expect(calls.find(({ side }) => side === "server")?.error?.cause).toBe(secret);
  });
});

describe("a stream that its reader leaves", () => {
  it("is reported as cancelled, once", async () => {
    const { client, calls } = connect();
    for await (const _ of client.greetEach({ names: ["Ada", "Bob"] })) break;
    await expect
      .poll(() => summary(calls))
      .toEqual(["client GreetEach server_streaming canceled", "server GreetEach server_streaming canceled"]);
  });

  it("is reported over a network, when the client cancels", async () => {
    const calls: FinishedCall[] = [];
    const started = signalled();
    const { baseUrl } = await startServer(
      {
        async *greetEach(_, { signal }) {
          started.resolve();
          yield {};
          await aborted(signal);
        },
      },
      { interceptors: [createServerLogger((call) => calls.push(call))] },
    );
    const abort = new AbortController();
    const interceptors = [createClientLogger((call) => calls.push(call))];
    const reading = failureOf(connectGreeter(baseUrl, { interceptors }).greetEach({}, { signal: abort.signal }));
    await started.promise;
    abort.abort();
    expect((await reading).code).toBe(Code.Canceled);
    await expect
      .poll(() => summary(calls))
      .toEqual(["client GreetEach server_streaming canceled", "server GreetEach server_streaming canceled"]);
  });

  it("is not reported if it is never read, because it was never sent", async () => {
    const { client, calls } = connect();
    client.greetEach({ names: ["Ada"] });
    await new Promise((resolve) => setImmediate(resolve));
    expect(summary(calls)).toEqual([]);
  });
});

describe("the report", () => {
  it("holds no metadata, and the request has it", async () => {
    const texts: string[] = [];
    const ids: unknown[] = [];
    const router = createRouter({
      interceptors: [
        createServerLogger((call, request) => {
          texts.push(JSON.stringify(call));
          ids.push(request.headers.get("x-request-id"));
        }),
      ],
    });
    const transport = createInMemoryTransport(router.add(GreetServiceDef, greeter));
    const headers = { authorization: "Bearer s3cret", cookie: "id=s3cret", "x-request-id": "r1" };
    await createGreetServiceClient(transport).greet({ name: "s3cret" }, { headers });
    expect(texts).toHaveLength(1);
    expect(texts[0]).not.toContain("s3cret");
    expect(ids).toEqual(["r1"]);
  });

  it.each([
    [
      "throws",
      () => {
        throw new Error("log is full");
      },
    ],
    ["rejects", () => Promise.reject(new Error("log is full"))],
  ])("may fail without harm: it %s", async (_, report) => {
    const printed = vi.spyOn(console, "error").mockImplementation(() => {});
    onTestFinished(() => printed.mockRestore());
    const router = createRouter({ interceptors: [createServerLogger(report)] }).add(GreetServiceDef, greeter);
    const transport = createInMemoryTransport(router, { interceptors: [createClientLogger(report)] });
    const client = createGreetServiceClient(transport);
    expect((await client.greet({ name: "Ada" })).greeting).toBe("Hello, Ada!");
    expect(await greetings(client.greetEach({ names: ["Ada"] }))).toEqual(["Hello, Ada!"]);
    await expect.poll(() => printed.mock.calls.length).toBe(4);
    expect(printed).toHaveBeenCalledWith("triple-es: a logger failed:", new Error("log is full"));
  });
});
