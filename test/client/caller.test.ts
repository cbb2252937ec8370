/**
 * The error of a client identifies the call: its stack contains the line of the caller, and `method` the path, whether the
 * error comes from the network, a timer or the server.
 */
import {
  type ClosableTransport,
  Code,
  createInMemoryTransport,
  createRouter,
  createStub,
  type Interceptor,
  RpcError,
  Status,
  type Transport,
} from "triple-es";
import { createTransport as createFetchTransport } from "triple-es/fetch";
import { createTransport } from "triple-es/node";
import { afterEach, beforeAll, describe, expect, it } from "vitest";
import {
  createGreetServiceClient,
  type GreetServiceClient,
  GreetServiceDef,
  type GreetServiceHandler,
} from "../../examples/gen/greet/v1/greet_triple.ts";
import { aborted, arriving, failureOf, greeter, startServer } from "../support/server.ts";
import { idempotent, idempotentStream } from "./retry-calls.ts";

const fail = (): never => {
  throw new RpcError(Code.NotFound, "no such name");
};
/** Fails every call; after its first message, if the name requests that. */
const failing: Partial<GreetServiceHandler> = {
  greet: fail,
  greetEach: fail,
  greetTogether: fail,
  async *greetOnArrival() {
    yield {};
    fail();
  },
};

type Kind = keyof GreetServiceClient;
type Calls = Record<
  Kind,
  (client: GreetServiceClient, options?: Parameters<GreetServiceClient["greet"]>[1]) => unknown
>;

/** One function for each kind of call. Their names must be in the stack. */
const CALLERS: Calls = {
  async greet(client, options) {
    await client.greet({ name: "Ada" }, options);
  },
  async greetEach(client, options) {
    for await (const _ of client.greetEach({ names: ["Ada"] }, options));
  },
  async greetTogether(client, options) {
    await client.greetTogether(arriving("Ada"), options);
  },
  async greetOnArrival(client, options) {
    for await (const _ of client.greetOnArrival(arriving("Ada"), options));
  },
};
const KINDS = Object.keys(CALLERS) as Kind[];

const TRANSPORTS: Record<string, (baseUrl: string, interceptors?: Interceptor[]) => Transport> = {
  "gRPC on Node": (baseUrl, interceptors) => createTransport({ baseUrl, interceptors }),
  "HTTP RPC on Node": (baseUrl, interceptors) => createTransport({ baseUrl, interceptors, protocol: "http-rpc" }),
  "HTTP RPC over HTTP/2": (baseUrl, interceptors) =>
    createTransport({ baseUrl, interceptors, protocol: "http-rpc", httpVersion: "2" }),
  fetch: (baseUrl, interceptors) => createFetchTransport({ baseUrl, interceptors }),
  "gRPC in memory": (_, interceptors) =>
    createInMemoryTransport(createRouter().add(GreetServiceDef, { ...greeter, ...failing }), { interceptors }),
  "HTTP RPC in memory": (_, interceptors) =>
    createInMemoryTransport(createRouter().add(GreetServiceDef, { ...greeter, ...failing }), {
      protocol: "http-rpc",
      interceptors,
    }),
};

const PATHS: Record<Kind, string> = {
  greet: "/greet.v1.GreetService/Greet",
  greetEach: "/greet.v1.GreetService/GreetEach",
  greetTogether: "/greet.v1.GreetService/GreetTogether",
  greetOnArrival: "/greet.v1.GreetService/GreetOnArrival",
};

const transports: Transport[] = [];
const isClosable = (transport: Transport): transport is ClosableTransport => "close" in transport;
const open = (name: string, baseUrl: string, interceptors?: Interceptor[]): GreetServiceClient => {
  const transport = (TRANSPORTS[name] as (typeof TRANSPORTS)[string])(baseUrl, interceptors);
  transports.push(transport);
  return createGreetServiceClient(transport);
};
afterEach(async () => {
  for (const transport of transports.splice(0).filter(isClosable)) await transport.close({ graceMs: 0 });
});

function expectCaller(error: RpcError, kind: Kind): void {
  const lines = (error.stack ?? "")
    .split("\n")
    .filter((line) => line.includes("caller.test.ts") && line.includes(kind));
  expect(lines, error.stack).not.toEqual([]);
  expect(error.stack).toMatch(/^RpcError: \[/);
  expect(error.method).toBe(PATHS[kind]);
}

const cases = Object.keys(TRANSPORTS).flatMap((name) => KINDS.map((kind) => [name, kind] as const));
const remote = cases.filter(([name]) => !name.includes("memory"));

describe("the error of a call leads to its caller:", () => {
  it.each(cases)("an error of the server, %s, %s", async (name, kind) => {
    const { baseUrl } = await startServer(failing);
    expectCaller(await failureOf(CALLERS[kind](open(name, baseUrl)) as Promise<unknown>), kind);
  });

  it.each(remote)("a server that cannot be reached, %s, %s", async (name, kind) => {
    const client = open(name, "http://127.0.0.1:9");
    expectCaller(await failureOf(CALLERS[kind](client) as Promise<unknown>), kind);
  });

  const never: Interceptor = () => () => new Promise(() => {});
  it.each(cases)("a deadline that passes, %s, %s", async (name, kind) => {
    const client = open(name, "http://127.0.0.1:9", [never]);
    const error = await failureOf(CALLERS[kind](client, { timeoutMs: 10 }) as Promise<unknown>);
    expect(error.code).toBe(Code.DeadlineExceeded);
    expectCaller(error, kind);
  });

  it.each(cases)("a call that is cancelled, %s, %s", async (name, kind) => {
    const client = open(name, "http://127.0.0.1:9", [never]);
    const controller = new AbortController();
    const failure = failureOf(CALLERS[kind](client, { signal: controller.signal }) as Promise<unknown>);
    setImmediate(() => controller.abort());
    expectCaller(await failure, kind);
  });

  it.each(cases)("options that are invalid, %s, %s", async (name, kind) => {
    const client = open(name, "http://127.0.0.1:9");
    const error = await failureOf(CALLERS[kind](client, { timeoutMs: -1 }) as Promise<unknown>);
    expect(error.code).toBe(Code.InvalidArgument);
    expectCaller(error, kind);
  });
});

describe("the stack of a call's error", () => {
  let client: GreetServiceClient;
  beforeAll(() => {
    client = createGreetServiceClient(
      createInMemoryTransport(createRouter().add(GreetServiceDef, { ...greeter, ...failing })),
    );
  });

  it("has the frames in which it was created, before those of the caller", async () => {
    const refuse: Interceptor = () =>
      async function refuseInInterceptor() {
        throw new RpcError(Code.PermissionDenied, "not today");
      };
    const error = await failureOf(CALLERS.greet(open("gRPC in memory", "", [refuse])) as Promise<unknown>);
    const { stack = "" } = error;
    expect(stack.indexOf("refuseInInterceptor")).toBeGreaterThan(0);
    expect(stack.indexOf("greet (")).toBeGreaterThan(stack.indexOf("refuseInInterceptor"));
  });

  it("leads through Promise.all", async () => {
    async function callBoth(): Promise<void> {
      await Promise.all([client.greet({}), client.greet({})]);
    }
    expect((await failureOf(callBoth())).stack).toContain("callBoth");
  });

  it("is unchanged if stacks are switched off", async () => {
    const { stackTraceLimit } = Error;
    Error.stackTraceLimit = 0;
    try {
      const error = await failureOf(client.greet({}));
      expect(error.stack).toBe("RpcError: [not_found] no such name");
    } finally {
      Error.stackTraceLimit = stackTraceLimit;
    }
  });

  it("may be any value that a tool sets", async () => {
    const { prepareStackTrace } = Error;
    Error.prepareStackTrace = (_, sites) => sites;
    try {
      const error = await failureOf(client.greet({}));
      expect(error).toMatchObject({ code: Code.NotFound, method: PATHS.greet });
    } finally {
      Error.prepareStackTrace = prepareStackTrace;
    }
  });
});

describe("the target of a call's error", () => {
  /** Returns what the transport names as its server: a transport on fetch its base URL, the others an address. */
  const serverOf = (name: string, baseUrl: string): string => (name === "fetch" ? baseUrl : new URL(baseUrl).host);

  /** Waits until the call ends. */
  const hang: GreetServiceHandler["greet"] = async (_, { signal }) => {
    await aborted(signal as AbortSignal);
    return {};
  };

  /** Reads the response of a call of either kind. */
  async function onlyOf(response: unknown): Promise<unknown> {
    if (response instanceof Promise) return response;
    for await (const message of response as AsyncIterable<unknown>) return message;
    return undefined;
  }

  it.each(remote)("is the server that has sent the error, %s, %s", async (name, kind) => {
    const { baseUrl } = await startServer(failing);
    const error = await failureOf(CALLERS[kind](open(name, baseUrl)) as Promise<unknown>);
    // Streams of fetch need gRPC-Web, and some kinds are refused before a request is made.
    expect(error.target).toBe(error.status === Status.ClientError ? undefined : serverOf(name, baseUrl));
  });

  it.each(Object.keys(TRANSPORTS).filter((name) => !name.includes("memory")))(
    "is the server that cannot be reached, %s",
    async (name) => {
      const error = await failureOf(open(name, "http://127.0.0.1:9").greet({}));
      expect(error).toMatchObject({ code: Code.Unavailable, target: serverOf(name, "http://127.0.0.1:9") });
    },
  );

  it.each(Object.keys(TRANSPORTS).filter((name) => !name.includes("memory")))(
    "is the server that did not answer before the deadline, %s",
    async (name) => {
      const { baseUrl } = await startServer({ greet: hang });
      const error = await failureOf(open(name, baseUrl).greet({}, { timeoutMs: 20 }));
      expect(error).toMatchObject({ code: Code.DeadlineExceeded, target: serverOf(name, baseUrl) });
    },
  );

  it("is undefined in memory, and if the call was refused before it reached a connection", async () => {
    const client = createGreetServiceClient(
      createInMemoryTransport(createRouter().add(GreetServiceDef, { ...greeter, ...failing })),
    );
    expect((await failureOf(client.greet({}))).target).toBeUndefined();
    expect((await failureOf(open("gRPC on Node", "http://127.0.0.1:9").greet({}, { timeoutMs: -1 }))).target).toBe(
      undefined,
    );
  });

  it.each([
    ["retries", { retry: { maxAttempts: 2, initialBackoffMs: 1, codes: [Code.NotFound] } }],
    ["hedging", { retry: { maxAttempts: 2, hedgingDelayMs: 1 } }],
    [
      "a service config",
      { serviceConfig: { methodConfig: [{ name: [{ service: "greet.v1.GreetService" }], timeout: "5s" }] } },
    ],
  ] as const)("is known with %s", async (_, options) => {
    const { baseUrl } = await startServer(failing);
    const transport = createTransport({ baseUrl, ...options });
    transports.push(transport);
    for (const method of [idempotent, idempotentStream]) {
      const call = createStub<(request: object) => unknown>(method, transport);
      const error = await failureOf(onlyOf(call({})));
      expect(error).toMatchObject({ code: Code.NotFound, target: new URL(baseUrl).host });
    }
  });

  it("is that of each call if several calls fail for the same reason", async () => {
    const servers = await Promise.all([1, 2].map(() => startServer({ greet: hang })));
    const controller = new AbortController();
    const { signal } = controller;
    const failures = servers.map(({ baseUrl }) => failureOf(open("gRPC on Node", baseUrl).greet({}, { signal })));
    setTimeout(() => controller.abort(new RpcError(Code.Aborted, "the page was closed")), 50);
    expect((await Promise.all(failures)).map(({ target }) => target)).toEqual(
      servers.map(({ baseUrl }) => new URL(baseUrl).host),
    );
  });
});

describe("the method of a call's error", () => {
  it("is that of the call if several calls fail for the same reason", async () => {
    const reason = new RpcError(Code.Aborted, "the page was closed", { trailers: { why: "closed" } });
    const controller = new AbortController();
    const { signal } = controller;
    const client = open("gRPC on Node", "http://127.0.0.1:9", [() => () => new Promise(() => {})]);
    const failures = KINDS.map((kind) => failureOf(CALLERS[kind](client, { signal }) as Promise<unknown>));
    setImmediate(() => controller.abort(reason));
    for (const [index, error] of (await Promise.all(failures)).entries()) {
      expectCaller(error, KINDS[index] as Kind);
      expect(error).toMatchObject({ code: Code.Aborted, rawMessage: "the page was closed" });
      expect(error.trailers.get("why")).toBe("closed");
    }
  });

  it("is that of the call if an interceptor throws a frozen error", async () => {
    const denied = Object.freeze(new RpcError(Code.PermissionDenied, "no"));
    const deny: Interceptor = () => () => Promise.reject(denied);
    const error = await failureOf(CALLERS.greet(open("gRPC in memory", "", [deny])) as Promise<unknown>);
    expect(error).toMatchObject({ code: Code.PermissionDenied, rawMessage: "no", method: PATHS.greet });
  });

  it("is that of the outer call if an interceptor makes a call; the cause has the inner one's", async () => {
    const inner = open("gRPC in memory", "");
    const ask: Interceptor = () => async () => {
      await inner.greetTogether(arriving("Ada"));
      throw new Error("not reached");
    };
    const error = await failureOf(CALLERS.greet(open("gRPC in memory", "", [ask])) as Promise<unknown>);
    expect(error).toMatchObject({ method: PATHS.greet, cause: { method: PATHS.greetTogether } });
  });

  it("is absent from an error that is not of a call", () => {
    expect(new RpcError(Code.Internal, "made by hand").method).toBeUndefined();
  });

  it("does not travel", async () => {
    const inner = open("gRPC in memory", "");
    const { baseUrl } = await startServer({
      greet: async () => {
        await inner.greetTogether(arriving("Ada"));
        return {};
      },
    });
    expect((await failureOf(open("gRPC on Node", baseUrl).greet({}))).method).toBe(PATHS.greet);
  });
});
