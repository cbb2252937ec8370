/** Mistakes of users, mostly without a type checker: each is reported where it is made, and affects no other call. */
import { Code, createContextKey, createInMemoryTransport, createRouter, type Interceptor, RpcError } from "triple-es";
import { createTransport as createFetchTransport } from "triple-es/fetch";
import { createTransport as createNodeTransport, createServer } from "triple-es/node";
import { describe, expect, it, vi } from "vitest";
import { GreetService } from "../../examples/gen/greet/v1/greet_pb.ts";
import { createGreetServiceClient, GreetServiceDef } from "../../examples/gen/greet/v1/greet_triple.ts";
import { GREET, grpcRequest, rpcRequest } from "../support/greeter.ts";
import { pause } from "../support/pause.ts";
import { failureOf, greeter } from "../support/server.ts";

type Protocol = "grpc" | "http-rpc";
const PROTOCOLS: Protocol[] = ["grpc", "http-rpc"];

function connect(implementation: object, interceptors: Interceptor[] = [], protocol: Protocol = "grpc") {
  const onError = vi.fn();
  const router = createRouter({ interceptors, onError }).add(GreetServiceDef, {
    ...greeter,
    ...implementation,
  } as typeof greeter);
  return { client: createGreetServiceClient(createInMemoryTransport(router, { protocol })), router, onError };
}

async function read(messages: AsyncIterable<unknown>): Promise<void> {
  for await (const _ of messages);
}

describe("a handler's answer", () => {
  it.each([undefined, null, "abc", 5, []])(
    "%j is not a message: the call fails, and the hook is called",
    async (answer) => {
      const { client, onError } = connect({ greet: () => answer });
      expect((await failureOf(client.greet({}))).code).toBe(Code.Internal);
      expect(onError).toHaveBeenCalledExactlyOnceWith(
        expect.objectContaining({ message: expect.stringContaining("greet.v1.GreetResponse must be an object") }),
        GREET,
      );
    },
  );

  it.each([undefined, "abc", {}])("%j is no stream", async (answer) => {
    const { client, onError } = connect({ greetEach: () => answer });
    expect((await failureOf(read(client.greetEach({})))).code).toBe(Code.Unknown);
    expect(onError.mock.calls[0]?.[0]).toMatchObject({
      message: expect.stringContaining("GreetEach must return an iterable or async iterable"),
    });
  });
});

describe("an option of a call", () => {
  const TEXT = " must be a string of printable ASCII";
  it.each([
    [{ headers: { note: 5 } }, `metadata "note"${TEXT}`],
    [{ headers: { note: ["a", 5] } }, `metadata "note"${TEXT}`],
    [{ headers: { note: null } }, `metadata "note"${TEXT}`],
    [{ headers: { "note-bin": 5 } }, 'metadata "note-bin" must be a Uint8Array or base64'],
    [{ headers: 5 }, "metadata must be an object"],
    [{ headers: null }, "metadata must be an object"],
    [{ headers: "note: 5" }, "metadata must be an object"],
    [{ signal: 5 }, "signal must be an AbortSignal"],
    [{ signal: null }, "signal must be an AbortSignal"],
    [{ signal: new AbortController() }, "signal must be an AbortSignal"],
  ])("%j is named in the error", async (options, message) => {
    const { client } = connect({});
    const node = createNodeTransport({ baseUrl: "http://127.0.0.1:1", protocol: "http-rpc" });
    const expected = { code: Code.InvalidArgument, rawMessage: expect.stringContaining(message) };
    expect(await failureOf(createGreetServiceClient(node).greet({}, options as never))).toMatchObject(expected);
    expect(await failureOf(client.greet({}, options as never))).toMatchObject(expected);
    expect(await failureOf(read(client.greetEach({}, options as never)))).toMatchObject(expected);
  });
});

describe("an interceptor", () => {
  const forgetful: Interceptor = (next) => async (request) => {
    await next(request);
    return undefined as never;
  };

  it.each(PROTOCOLS)("fails the call if it does not return on a server: %s", async (protocol) => {
    const { client, onError } = connect({}, [forgetful], protocol);
    expect((await failureOf(client.greet({}))).code).toBe(Code.Internal);
    expect(String(onError.mock.calls[0]?.[0])).toContain("must return the response of next(request)");
  });

  it("fails a stream if it does not return on a server, without an unhandled rejection", async () => {
    const unhandled = vi.fn();
    process.on("unhandledRejection", unhandled);
    const { client } = connect({}, [forgetful]);
    expect((await failureOf(read(client.greetEach({ names: ["Ada"] })))).code).toBe(Code.Internal);
    await pause(20);
    process.off("unhandledRejection", unhandled);
    expect(unhandled).not.toHaveBeenCalled();
  });

  it.each([undefined, async () => ({}), () => undefined])("%s is refused when the router is created", (interceptor) => {
    expect(() => connect({}, [interceptor as never])).toThrow("interceptors[0] must be (next)");
  });

  it.each(PROTOCOLS)("may change the headers of the request on a server in memory: %s", async (protocol) => {
    const add: Interceptor = (next) => (request) => {
      request.headers.set("user", "Ada");
      return next(request);
    };
    const { client } = connect({ greet: greetUser }, [add], protocol);
    expect((await client.greet({})).greeting).toBe("Ada");
    expect((await client.greet({}, { headers: { user: "Bob" } })).greeting).toBe("Ada");
  });

  function greetUser(_: object, { requestHeaders }: { requestHeaders: { get(name: string): string | undefined } }) {
    return { greeting: requestHeaders.get("user") };
  }
});

describe("an RpcError", () => {
  it.each([0, 17, 404, "ECONNREFUSED", undefined])("has the code unknown if it is created with %j", (code) => {
    expect(new RpcError(code as Code, "x")).toMatchObject({ code: Code.Unknown, message: "[unknown] x" });
  });

  it.each([[[{ a: 1 }]], [{}], ["x"]])("does not accept %j as details", (details) => {
    expect(() => new RpcError(Code.NotFound, "x", { details: details as never })).toThrow("anyPack");
  });

  it.each(PROTOCOLS)("keeps its code with a very long text, many details and much metadata: %s", async (protocol) => {
    const details = [{ typeUrl: "type.googleapis.com/x.Y", value: new Uint8Array(100_000) }];
    const metadata = { note: "x".repeat(100_000) };
    const { router } = connect({
      greet: () => {
        throw new RpcError(
          Code.NotFound,
          "é".repeat(100_000),
          protocol === "grpc" ? { details, trailers: metadata } : {},
        );
      },
    });
    const request = protocol === "grpc" ? grpcRequest({ body: new Uint8Array(5) }) : rpcRequest();
    const { headers, body } = await router.exchange(request);
    if (protocol === "grpc") expect(headers.get("grpc-status")).toBe("5");
    else expect(JSON.parse(new TextDecoder().decode(body.whole))).toMatchObject({ status: 70, code: "not_found" });
    expect([...headers].flat().join().length + (body.whole?.byteLength ?? 0)).toBeLessThan(32 * 1024);
  });
});

describe("a client", () => {
  it("is not created without a transport", () => {
    const url = { baseUrl: "http://127.0.0.1" };
    expect(() => createGreetServiceClient(url as never)).toThrow("needs a transport (createTransport)");
    expect(() => createGreetServiceClient(undefined as never)).toThrow("needs a transport");
  });

  it.each<[string, Record<string, string>]>([
    ["reserved", { host: "x" }],
    ["with an invalid name", { "a b": "x" }],
    ["with a value of a wrong form", { note: "\n" }],
    ["too large to be sent", { note: "x".repeat(20_000) }],
  ])("receives invalid_argument from calls of every kind if it sends metadata %s", async (_what, headers) => {
    const { client } = connect({});
    expect((await failureOf(client.greet({}, { headers }))).code).toBe(Code.InvalidArgument);
    expect((await failureOf(read(client.greetEach({}, { headers })))).code).toBe(Code.InvalidArgument);
  });
});

describe.each(PROTOCOLS)("a client over %s", (protocol) => {
  it.each([
    ["tri-service-version", { version: 5 }],
    ["tri-service-version", { version: "\u00e9" }],
    ["tri-service-group", { group: "a\nb" }],
  ])("receives invalid_argument if %s cannot contain its option", async (header, options) => {
    const { client } = connect({}, [], protocol);
    const error = await failureOf(client.greet({}, options as never));
    expect(error).toMatchObject({ code: Code.InvalidArgument, method: GREET });
    expect(error.rawMessage).toContain(`"${header}" must be a string of printable ASCII`);
  });

  it.each([undefined, null, "abc", 5, []])("receives invalid_argument if it sends %j as a message", async (message) => {
    const greet = vi.fn(() => ({ greeting: "" }));
    const { client } = connect({ greet }, [], protocol);
    const error = await failureOf(client.greet(message as never));
    expect(error).toMatchObject({ code: Code.InvalidArgument, method: GREET });
    expect(error.rawMessage).toContain("greet.v1.GreetRequest must be an object");
    expect(greet).not.toHaveBeenCalled();
  });
});

describe("a transport", () => {
  const baseUrl = "http://127.0.0.1";
  const makers: Record<string, (options: object) => unknown> = {
    Node: (options) => createNodeTransport({ baseUrl, ...options }),
    memory: (options) => createInMemoryTransport(createRouter(), options),
    fetch: (options) => createFetchTransport({ baseUrl, ...options }),
  };

  it.each<[keyof typeof makers, object, string]>([
    ["Node", { protocol: "http" }, 'protocol must be in ["grpc","http-rpc"], not "http"'],
    ["Node", { codec: "protobuf" }, 'codec must be in ["proto","json"], not "protobuf"'],
    ["Node", { jsonBody: "bare" }, 'jsonBody must be in ["array","object"], not "bare"'],
    ["Node", { protocol: "http-rpc", httpVersion: 2 }, 'httpVersion must be in ["1.1","2"], not 2'],
    [
      "Node",
      { wrapperContentType: "application/svc+wrapper" },
      'wrapperContentType must be in ["application/grpc+proto","application/triple+wrapper"], not "application/svc+wrapper"',
    ],
    ["Node", { httpVersion: "1.0" }, 'httpVersion must be in ["1.1","2"], not "1.0"'],
    ["memory", { protocol: "triple" }, 'protocol must be in ["grpc","http-rpc"], not "triple"'],
    ["memory", { codec: "JSON" }, 'codec must be in ["proto","json"], not "JSON"'],
    ["fetch", { codec: "binary" }, 'codec must be in ["proto","json"], not "binary"'],
    ["fetch", { jsonBody: true }, 'jsonBody must be in ["array","object"], not true'],
  ])("of %s is not created with %j", (maker, options, message) => {
    expect(() => makers[maker]?.(options)).toThrow(new TypeError(message));
  });
});

it.each([createRouter, createServer])("%o is not created with an unknown versionMatch", (make) => {
  const message = 'versionMatch must be in ["exact","fallback"], not "Exact"';
  expect(() => make({ versionMatch: "Exact" as never })).toThrow(new TypeError(message));
});

it.each([50079, "50079"])("a server does not listen on %j, which is no options", async (options) => {
  await expect(createServer().listen(options as never)).rejects.toThrow(
    new TypeError("the options of listen must be an object with some of: port, host, path, backlog"),
  );
  await expect(createServer().listen({ port: 0, hosts: "127.0.0.1" } as object)).rejects.toThrow(
    'the options of listen: there is no "hosts", did you mean "host"?',
  );
});

it("a server listens only if a port or a path is given, even if its value is missing", async () => {
  for (const options of [{}, { port: undefined }, { host: "127.0.0.1" }]) {
    await expect(createServer().listen(options)).rejects.toThrow("listen needs port (0 selects a free one) or path");
  }
});

describe("a service", () => {
  it.each([
    [GreetServiceDef, undefined],
    [undefined, greeter],
    [greeter, GreetServiceDef],
    [GreetService, greeter],
  ])("is added as a definition and an implementation, in this order", (service, implementation) => {
    expect(() => createRouter().add(service as never, implementation as never)).toThrow(
      "add takes the definition of a service",
    );
  });
});

it("a value under a key that was not set is the key's default", async () => {
  const key = createContextKey("anonymous");
  const { client } = connect({
    greet: (_: object, context: { values: { get(k: typeof key): string } }) => ({ greeting: context.values.get(key) }),
  });
  expect((await client.greet({})).greeting).toBe("anonymous");
});
