/**
 * Entry point `triple-es/fetch`: a transport on fetch, a handler of requests, and both together.
 */
import { create, toBinary } from "@bufbuild/protobuf";
import { anyPack } from "@bufbuild/protobuf/wkt";
import {
  Code,
  createRouter,
  findDetails,
  type HandlerContext,
  type Metadata,
  RpcError,
  Status,
  type Transport,
} from "triple-es";
import { createTransport, type FetchHandler, type FetchTransportOptions, fetchHandler } from "triple-es/fetch";
import { addHealth } from "triple-es/health";
import { createTransport as createJsonTransport } from "triple-es/json";
import { createTransport as createProtoTransport } from "triple-es/proto";
import { describe, expect, it, vi } from "vitest";
import { GreetRequestSchema } from "../examples/gen/greet/v1/greet_pb.ts";
import {
  createGreetServiceClient,
  type GreetServiceClient,
  GreetServiceDef,
  type GreetServiceHandler,
} from "../examples/gen/greet/v1/greet_triple.ts";
import { createThingsServiceClient } from "../fixtures/options/gen/json/fixture/options/v1/options_triple.ts";
import { freePort } from "./support/port.ts";
import { aborted, arriving, failureOf, greeter, greetings, signalled, startServer } from "./support/server.ts";
import { createShopClient, ShopDef, shop } from "./support/shop.ts";

const PATH = "/greet.v1.GreetService/Greet";

function connect(baseUrl: string, options: Omit<FetchTransportOptions, "baseUrl"> = {}): GreetServiceClient {
  return createGreetServiceClient(createTransport({ baseUrl, ...options }));
}

function handle(handler: Partial<GreetServiceHandler> = {}, maxMessageBytes?: number): FetchHandler {
  return fetchHandler(createRouter({ maxMessageBytes }).add(GreetServiceDef, { ...greeter, ...handler }));
}

/** The paths of a call with a fetch transport: over HTTP/1.1, or directly into a handler. */
const WAYS: Record<
  string,
  (
    handler?: Partial<GreetServiceHandler>,
    options?: Omit<FetchTransportOptions, "baseUrl">,
  ) => Promise<GreetServiceClient>
> = {
  "over HTTP/1.1": async (handler, options) => connect((await startServer(handler)).baseUrl, options),
  "straight into a handler": async (handler, options) => {
    const answer = handle(handler);
    const direct: typeof fetch = (input, init) => answer(new Request(input, init));
    return connect("https://greeter.example", { ...options, fetch: direct });
  },
};

it.each(["http-rpc", "grpc-web"] as const)("cancels the body of a response that is not %s", async (protocol) => {
  const cancel = vi.fn();
  const stray: typeof fetch = async () =>
    new Response(new ReadableStream({ cancel }), { headers: { "content-type": "text/html" } });
  const client = connect("https://greeter.example", { protocol, fetch: stray });
  await failureOf(client.greet({}));
  await failureOf(client.greetEach({}));
  expect(cancel).toHaveBeenCalledTimes(2);
});

const callGreet = (transport: Transport): Promise<unknown> => createGreetServiceClient(transport).greet({});
const callFind = (transport: Transport): Promise<unknown> => createThingsServiceClient(transport).find({});

it.each([
  ["fetch", createTransport],
  ["proto", createProtoTransport],
  ["json", createJsonTransport],
] as const)("a transport of %s has nothing to close", (_, create) => {
  expect(Object.keys(create({ baseUrl: "/" }))).toEqual(["call"]);
});

describe.each([
  ["fetch", createTransport, callGreet, PATH],
  ["proto", createProtoTransport, callGreet, PATH],
  ["json", createJsonTransport, callFind, "/fixture.options.v1.ThingsService/Find"],
] as const)("a transport of the entry point %s", (_path, create, call, path) => {
  it.each([
    "localhost:50051",
    "ftp://localhost",
    "http://",
    "http:localhost",
    "api",
    "http://localhost?a=b",
    "/api#here",
    new URL("http://localhost"),
    undefined,
  ])("refuses the base URL %s", (baseUrl) => {
    expect(() => create({ baseUrl: baseUrl as string })).toThrow(
      new TypeError(`baseUrl "${baseUrl}" must start with http://, https:// or / and have no query`),
    );
  });

  it.each([
    ["http://localhost:1", "http://localhost:1"],
    ["HTTPS://localhost/api/", "HTTPS://localhost/api"],
    ["/api", "/api"],
    ["/", ""],
    ["", ""],
  ])("calls below the base URL %j", async (baseUrl, prefix) => {
    const asked: unknown[] = [];
    const transport = create({
      baseUrl,
      fetch: async (url) => {
        asked.push(url);
        return new Response(null, { status: 404 });
      },
    });
    await failureOf(call(transport));
    expect(asked).toEqual([prefix + path]);
  });
});

describe("a transport for messages in binary", () => {
  it("carries messages of Protocol Buffers, and the JSON of interface methods", async () => {
    const answer = fetchHandler(createRouter().add(GreetServiceDef, greeter).add(ShopDef, shop));
    const transport = createProtoTransport({
      baseUrl: "http://greeter.example",
      fetch: (input, init) => answer(new Request(input, init)),
    });
    expect((await createGreetServiceClient(transport).greet({ name: "Ada" })).greeting).toBe("Hello, Ada!");
    expect(await createShopClient(transport).sayHi("Ada", "Hi")).toBe("Hi, Ada!");
  });
});

describe.each(Object.keys(WAYS))("a transport on fetch %s", (name) => {
  const reach = WAYS[name] as (typeof WAYS)[string];

  it.each(["json", "proto"] as const)("makes a unary call in %s", async (codec) => {
    expect((await (await reach({}, { codec })).greet({ name: "Ada" })).greeting).toBe("Hello, Ada!");
  });

  it("sends the array of one or the bare object", async () => {
    for (const jsonBody of ["array", "object"] as const) {
      expect((await (await reach({}, { jsonBody })).greet({ name: "Ada" })).greeting).toBe("Hello, Ada!");
    }
  });

  it("receives an error with its code, message, details and metadata", async () => {
    const client = await reach({
      greet: () => {
        const details = [anyPack(GreetRequestSchema, create(GreetRequestSchema, { name: "unknown" }))];
        throw new RpcError(Code.NotFound, "100 % née", { details, trailers: { "x-why": "unknown" } });
      },
    });
    const error = await failureOf(client.greet({}));
    expect([error.code, error.rawMessage, error.status]).toEqual([Code.NotFound, "100 % née", Status.ServiceError]);
    expect(findDetails(error, GreetRequestSchema)).toMatchObject([{ name: "unknown" }]);
    expect(error.trailers.get("x-why")).toBe("unknown");
  });

  it("sends and receives metadata, leading and trailing, text and bytes", async () => {
    const client = await reach({
      greet: (_, { requestHeaders, responseHeaders, responseTrailers }) => {
        responseHeaders.set("x-echo", requestHeaders.get("x-echo") ?? "");
        responseTrailers.set("x-bytes-bin", requestHeaders.getBinary("x-bytes-bin") ?? new Uint8Array());
        return {};
      },
    });
    const headers = { "x-echo": "here", "x-bytes-bin": Uint8Array.of(0, 255) };
    const seen: unknown[] = [];
    await client.greet(
      {},
      {
        headers,
        onHeaders: (received) => seen.push(received.get("x-echo")),
        onTrailers: (received) => seen.push(received.getBinary("x-bytes-bin")),
      },
    );
    expect(seen).toEqual(["here", Uint8Array.of(0, 255)]);
  });

  it("receives the headers of a stream before its first message", async () => {
    const client = await reach({
      async *greetEach(_, { responseHeaders, sendHeaders, signal }) {
        responseHeaders.set("x-echo", "early");
        sendHeaders();
        await aborted(signal);
        yield {};
      },
    });
    const controller = new AbortController();
    const seen: unknown[] = [];
    const onHeaders = (headers: Metadata): void => {
      seen.push(headers.get("x-echo"));
      controller.abort();
    };
    const messages = client.greetEach({}, { onHeaders, signal: controller.signal, timeoutMs: 20_000 });
    expect((await failureOf(messages)).code).toBe(Code.Canceled);
    expect(seen).toEqual(["early"]);
  });

  it("fails with deadline_exceeded when time is up", async () => {
    const client = await reach({ greet: () => new Promise(() => {}) });
    expect((await failureOf(client.greet({}, { timeoutMs: 30 }))).code).toBe(Code.DeadlineExceeded);
  });

  it("fails with canceled when it is aborted, and the handler's signal fires", async () => {
    const running = signalled();
    const reason = signalled<unknown>();
    const client = await reach({
      greet: async (_, { signal }) => {
        running.resolve();
        reason.resolve(await aborted(signal));
        return {};
      },
    });
    const controller = new AbortController();
    const call = client.greet({}, { signal: controller.signal });
    await running.promise;
    controller.abort();
    expect((await failureOf(call)).code).toBe(Code.Canceled);
    expect(await reason.promise).toBeDefined();
  });

  it.each(["json", "proto"] as const)("receives a stream in %s, message by message", async (codec) => {
    const more = signalled();
    const client = await reach(
      {
        async *greetEach({ names }, { responseTrailers }) {
          yield { greeting: names.join() };
          await more.promise;
          yield { greeting: "after" };
          responseTrailers.set("x-end", "1");
        },
      },
      { codec },
    );
    const seen: unknown[] = [];
    const onTrailers = (fields: Metadata): unknown => seen.push(fields.get("x-end"));
    for await (const { greeting } of client.greetEach({ names: ["a", "b"] }, { onTrailers })) {
      seen.push(greeting);
      more.resolve();
    }
    expect(seen).toEqual(["a,b", "after", "1"]);
  });

  it("receives the error of a stream after its messages", async () => {
    const client = await reach({
      async *greetEach() {
        yield { greeting: "one" };
        throw new RpcError(Code.DataLoss, "lost", { trailers: { "x-why": "so" } });
      },
    });
    const seen: string[] = [];
    const error = await failureOf(
      (async () => {
        for await (const { greeting } of client.greetEach({})) seen.push(greeting);
      })(),
    );
    expect([seen, error.code, error.rawMessage, error.trailers.get("x-why")]).toEqual([
      ["one"],
      Code.DataLoss,
      "lost",
      "so",
    ]);
  });

  it("cancels a stream that its reader leaves", async () => {
    const ended = signalled();
    const client = await reach({
      async *greetEach(_, { signal }) {
        try {
          yield { greeting: "one" };
          await aborted(signal);
        } finally {
          ended.resolve();
        }
      },
    });
    for await (const _ of client.greetEach({})) break;
    await ended.promise;
  });

  it("ends a stream at its deadline", async () => {
    const client = await reach({
      async *greetEach(_, { signal }) {
        yield { greeting: "one" };
        await aborted(signal);
      },
    });
    const error = await failureOf(client.greetEach({}, { timeoutMs: 100 }));
    expect([error.code, error.status]).toEqual([Code.DeadlineExceeded, expect.any(Number)]);
  });

  it("makes all calls over gRPC-Web with that protocol", async () => {
    const types: unknown[] = [];
    const note = ({ requestHeaders }: HandlerContext): unknown => types.push(requestHeaders.get("content-type"));
    const handler: Partial<GreetServiceHandler> = {
      greet: (_, context) => ({ greeting: String(note(context)) }),
      async *greetEach(_, context) {
        yield { greeting: String(note(context)) };
      },
    };
    for (const protocol of ["grpc-web", undefined] as const) {
      const client = await reach(handler, { protocol, codec: "proto" });
      await client.greet({});
      expect(await greetings(client.greetEach({}))).toHaveLength(1);
    }
    const [web, rpc] = ["application/grpc-web+proto", "application/proto"];
    expect(types).toEqual([web, web, rpc, web]);
  });

  it.each(["proto", "json"] as const)("receives streams over HTTP RPC as events, with the codec %s", async (codec) => {
    const client = await reach({}, { protocol: "http-rpc", codec });
    expect(await greetings(client.greetEach({ names: ["Ada", "Bob"] }))).toEqual(["Hello, Ada!", "Hello, Bob!"]);
  });

  it("fails streams of requests over HTTP RPC with a clear error", async () => {
    const client = await reach({}, { protocol: "http-rpc" });
    for (const call of [client.greetTogether(arriving()), client.greetOnArrival(arriving())]) {
      const error = await failureOf(call);
      expect(error.code).toBe(Code.Unimplemented);
      expect(error.rawMessage).toContain("which HTTP RPC cannot carry: it needs gRPC");
    }
  });

  it("rejects streams of requests, and names an alternative", async () => {
    const client = await reach();
    for (const call of [client.greetTogether(arriving()), client.greetOnArrival(arriving())]) {
      const error = await failureOf(call);
      expect([error.code, error.status]).toEqual([Code.Unimplemented, Status.ClientError]);
      expect(error.rawMessage).toContain("which fetch cannot carry: use createWebSocketTransport or triple-es/node");
    }
  });
});

describe("a transport on fetch", () => {
  it("refuses an unknown protocol", () => {
    expect(() => connect("/", { protocol: "grpc" as never })).toThrow(/createWebSocketTransport.*grpc-web/);
  });

  it("ends a stream as unavailable when the server stops, and works again after its restart", async () => {
    const { server, port, baseUrl } = await startServer({
      async *greetEach() {
        yield { greeting: "one" };
        await new Promise(() => {});
      },
    });
    const client = connect(baseUrl);
    const messages = client.greetEach({})[Symbol.asyncIterator]();
    expect((await messages.next()).value?.greeting).toBe("one");
    const failure = failureOf(messages.next());
    await server.close({ graceMs: 0 });
    expect((await failure).code).toBe(Code.Unavailable);
    expect((await failureOf(client.greetEach({}))).rawMessage).toContain(`cannot reach ${baseUrl}`);
    await startServer({}, {}, port);
    expect(await greetings(client.greetEach({ names: ["Ada"] }))).toEqual(["Hello, Ada!"]);
  });

  it("fails as unavailable if no server listens", async () => {
    const baseUrl = `http://127.0.0.1:${await freePort()}`;
    const error = await failureOf(connect(baseUrl).greet({}));
    expect([error.code, error.status]).toEqual([Code.Unavailable, Status.ChannelInactive]);
    expect(error.rawMessage).toContain(`cannot reach ${baseUrl}`);
  });

  it.each([
    ["json", createTransport],
    ["proto", createProtoTransport],
  ])("reports the system's error, which Node's fetch hides in the cause, in %s", async (_codec, create) => {
    const port = await freePort();
    const refused = createGreetServiceClient(create({ baseUrl: `http://127.0.0.1:${port}` }));
    expect((await failureOf(refused.greet({}))).rawMessage).toMatch(
      /: fetch failed: connect ECONNREFUSED 127\.0\.0\.1:\d+$/,
    );
    const several = new TypeError("fetch failed", {
      cause: Object.assign(new AggregateError([]), { code: "ECONNREFUSED" }),
    });
    const client = createGreetServiceClient(
      create({ baseUrl: "http://several.example", fetch: () => Promise.reject(several) }),
    );
    const error = await failureOf(client.greet({}));
    expect(error.rawMessage).toBe("cannot reach http://several.example: fetch failed: ECONNREFUSED");
  });

  it.each([
    ["https://api.example", true],
    ["https://page.example.org/api", true],
    ["https://page.example/api", false],
    ["https://page.example", false],
    ["/api", false],
  ])("mentions in a page that %s may not allow its origin: %s", async (baseUrl, isForeign) => {
    vi.stubGlobal("origin", "https://page.example");
    try {
      const failing = connect(baseUrl, { fetch: () => Promise.reject(new TypeError("Failed to fetch")) });
      const hint = isForeign ? ", or it does not allow pages of this origin (option cors)" : "";
      expect((await failureOf(failing.greet({}))).rawMessage).toBe(`cannot reach ${baseUrl}: Failed to fetch${hint}`);
    } finally {
      vi.unstubAllGlobals();
    }
  });

  it("understands a response that was compressed on the way", async () => {
    const { baseUrl } = await startServer();
    const name = "Ada ".repeat(1000);
    expect((await connect(baseUrl).greet({ name })).greeting).toBe(`Hello, ${name}!`);
  });

  it("passes the call to fetch in the format of the specification", async () => {
    const send = vi.fn<typeof fetch>(async () => Response.json({ greeting: "Hello!" }));
    const client = connect("https://greeter.example/api/", { fetch: send, credentials: "include" });
    await client.greet({ name: "Ada" }, { timeoutMs: 1000, version: "1.0.0", group: "blue" });
    const [url, init] = send.mock.calls[0] ?? [];
    expect(url).toBe(`https://greeter.example/api${PATH}`);
    expect(init).toMatchObject({ method: "POST", credentials: "include", redirect: "manual" });
    expect(new TextDecoder().decode(init?.body as Uint8Array)).toBe('[{"name":"Ada"}]');
    expect(Object.fromEntries(new Headers(init?.headers))).toEqual({
      "content-type": "application/json",
      "tri-protocol-version": "1.0.0",
      "tri-service-timeout": expect.stringMatching(/^(1000|9\d\d)$/),
      "tri-service-version": "1.0.0",
      "tri-service-group": "blue",
    });
  });

  it("uses the global fetch of the moment of the call", async () => {
    const client = connect("https://greeter.example");
    vi.stubGlobal("fetch", async () => Response.json({ greeting: "stubbed" }));
    try {
      expect((await client.greet({})).greeting).toBe("stubbed");
    } finally {
      vi.unstubAllGlobals();
    }
  });

  it("refuses a response over its limit", async () => {
    const send = async (): Promise<Response> => Response.json({ greeting: "x".repeat(1000) });
    const client = connect("https://greeter.example", { fetch: send, maxMessageBytes: 100 });
    expect((await failureOf(client.greet({}))).code).toBe(Code.ResourceExhausted);
  });

  it("fails as unavailable when the body breaks off", async () => {
    const body = new ReadableStream({
      start: (controller) => {
        controller.enqueue(new TextEncoder().encode('{"gree'));
        controller.error(new Error("broken off"));
      },
    });
    const send = async (): Promise<Response> => new Response(body, { headers: { "content-type": "application/json" } });
    const error = await failureOf(connect("https://greeter.example", { fetch: send }).greet({}));
    expect(error.code).toBe(Code.Unavailable);
    expect(error.rawMessage).toContain("broken off");
  });
});

describe("a handler of requests", () => {
  const post = (body: string | Uint8Array<ArrayBuffer>, headers: Record<string, string> = {}, path = PATH): Request =>
    new Request(`https://greeter.example${path}`, {
      method: "POST",
      headers: { "content-type": "application/json", ...headers },
      body,
    });

  it("answers a call in JSON, and one in proto", async () => {
    const response = await handle()(post('[{"name":"Ada"}]'));
    expect([response.status, response.headers.get("content-type")]).toEqual([200, "application/json"]);
    expect(await response.json()).toEqual({ greeting: "Hello, Ada!" });
    const body = new Uint8Array(toBinary(GreetRequestSchema, create(GreetRequestSchema, { name: "Ada" })));
    const proto = await handle()(post(body, { "content-type": "application/proto" }));
    expect([proto.status, proto.headers.get("content-type")]).toEqual([200, "application/proto"]);
  });

  it("does not look at a query", async () => {
    expect((await handle()(post("[{}]", {}, `${PATH}?trace=1`))).status).toBe(200);
  });

  it("answers errors with their status and body", async () => {
    const failing = handle({
      greet: () => {
        throw new RpcError(Code.Unauthenticated, "who are you?");
      },
    });
    const response = await failing(post("[{}]"));
    expect(response.status).toBe(401);
    expect(await response.json()).toEqual({
      status: Status.ServiceError,
      message: "who are you?",
      code: "unauthenticated",
    });
  });

  it("hides unexpected errors from the caller, and reports them to the hook", async () => {
    const onError = vi.fn();
    const router = createRouter({ onError }).add(GreetServiceDef, {
      ...greeter,
      greet: () => {
        throw new Error("the password is secret");
      },
    });
    const response = await fetchHandler(router)(post("[{}]"));
    expect(response.status).toBe(500);
    expect(await response.text()).not.toContain("secret");
    expect(onError).toHaveBeenCalledExactlyOnceWith(
      expect.objectContaining({ message: "the password is secret" }),
      PATH,
    );
  });

  it.each([
    ["another verb", new Request(`https://greeter.example${PATH}`), 405],
    ["an unknown path", post("[{}]", {}, "/greet.v1.GreetService/Gone"), 404],
    [
      "no body",
      new Request(`https://greeter.example${PATH}`, {
        method: "POST",
        headers: { "content-type": "application/json" },
      }),
      400,
    ],
    ["broken JSON", post("[{"), 400],
    ["an unknown content type", post("a", { "content-type": "text/csv" }), 415],
    ["a streaming method", post("[{}]", {}, "/greet.v1.GreetService/GreetTogether"), 415],
    ["gRPC", post(new Uint8Array(5), { "content-type": "application/grpc" }), 505],
    ["a body over the limit", post(JSON.stringify([{ name: "x".repeat(200) }])), 413],
  ] as const)("answers %s", async (_, request, status) => {
    expect((await handle({}, 100)(request)).status).toBe(status);
  });

  it("answers a deadline that passes with 408", async () => {
    const slow = handle({ greet: () => new Promise(() => {}) });
    const response = await slow(post("[{}]", { "tri-service-timeout": "20" }));
    expect(response.status).toBe(408);
    expect(await response.json()).toMatchObject({ status: Status.ServerTimeout });
  });

  it("ends the handler of a stream at its deadline, though the response is not read", async () => {
    let ended = false;
    async function* greetEach() {
      try {
        for (;;) yield { greeting: "Hello!" };
      } finally {
        ended = true;
      }
    }
    const headers = { accept: "text/event-stream", "tri-service-timeout": "50" };
    const response = await handle({ greetEach })(post("[{}]", headers, "/greet.v1.GreetService/GreetEach"));
    await response.body?.getReader().read();
    await expect.poll(() => ended, { timeout: 10_000 }).toBe(true);
  });

  it("answers a request whose body was read before", async () => {
    const request = post("[{}]");
    await request.json();
    expect((await handle({})(request)).status).toBe(503);
  });

  it("leaves the body of a request that it refuses", async () => {
    const request = post("[{}]", {}, "/greet.v1.GreetService/Unknown");
    expect([(await handle({})(request)).status, await request.text()]).toEqual([404, "[{}]"]);
  });

  it("does not begin a call whose request is aborted already", async () => {
    let calls = 0;
    const greet = () => ({ greeting: `${++calls}` });
    const response = await handle({ greet })(new Request(post("[{}]"), { signal: AbortSignal.abort() }));
    expect([response.status, await response.text(), calls]).toEqual([499, "", 0]);
  });

  it("has a signal that fires with the request's own, but not after the response, unlike Deno's", async () => {
    const signals: AbortSignal[] = [];
    const answering = handle({
      greet: ({ name }, { signal }) => {
        signals.push(signal);
        return name === "" ? new Promise((resolve) => signal.addEventListener("abort", () => resolve({}))) : {};
      },
    });
    const [served, given] = [new AbortController(), new AbortController()];
    await answering(new Request(post('[{"name":"Ada"}]'), { signal: served.signal }));
    served.abort();
    const waiting = answering(new Request(post("[{}]"), { signal: given.signal }));
    await vi.waitUntil(() => signals.length === 2);
    given.abort();
    await waiting;
    expect(signals.map(({ aborted }) => aborted)).toEqual([false, true]);
  });
});

it("passes the query of a request to resources, such as probes", async () => {
  const router = createRouter();
  addHealth(router, { probes: true });
  const handle = fetchHandler(router, { prefix: "/rpc" });
  const probe = async (target: string): Promise<number> =>
    (await handle(new Request(`http://localhost/rpc${target}`))).status;
  expect([await probe("/readyz"), await probe("/readyz?service=nothing")]).toEqual([200, 404]);
});
