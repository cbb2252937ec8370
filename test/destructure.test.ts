/**
 * Members taken out of their object, as in `greet: (_, { timeoutMs }) => …`. Every function of a public object works
 * so, or its type declares `this`, by which the compiler refuses it. The tables are checked against the types: a type
 * that gains a function does not compile until the function is here.
 */
import { DurationSchema } from "@bufbuild/protobuf/wkt";
import {
  type CallContext,
  type ClosableTransport,
  type Codec,
  type Compression,
  type ContextValues,
  createContextKey,
  createContextValues,
  createFakeClient,
  createInMemoryTransport,
  createJsonCodec,
  createRouter,
  type HandlerContext,
  type Interceptor,
  jsonCodec,
  Metadata,
  protoCodec,
  type Router,
  type Transport,
} from "triple-es";
import { createTransport as createFetchTransport } from "triple-es/fetch";
import { addHealth, type Health } from "triple-es/health";
import { createTransport as createJsonTransport } from "triple-es/json";
import { createServer, createTransport, nodeCompressions, type Server } from "triple-es/node";
import { createTransport as createProtoTransport } from "triple-es/proto";
import { framedSnappy, snappy } from "triple-es/snappy";
import { hessian2 } from "triple-es-dubbo/hessian2";
import { createProtobufSerialization, jsonSerialization, type Serialization } from "triple-es-dubbo/java";
import { msgpack } from "triple-es-dubbo/msgpack";
import { describe, expect, it } from "vitest";
import {
  createGreetServiceClient,
  type GreetServiceClient,
  GreetServiceDef,
} from "../examples/gen/greet/v1/greet_triple.ts";
import { defaultProtoCodec } from "../runtime/src/codec/bounded-codec.ts";
import { arriving, greeter, startServer } from "./support/server.ts";

type AnyFunction = (...args: never) => unknown;
type FunctionsOf<T> = { [K in keyof T]-?: NonNullable<T[K]> extends AnyFunction ? K : never }[keyof T];
type DeclaresThis<F> = unknown extends ThisParameterType<F> ? false : true;

/**
 * For every function of `T` how it is called once it is out of its object, or that its type declares `this`. Whether it
 * works is whether the call does not throw.
 */
type Members<T> = {
  readonly [K in FunctionsOf<T>]: DeclaresThis<NonNullable<T[K]>> extends true
    ? "declares this"
    : (member: NonNullable<T[K]>) => unknown;
};

/** Takes every one of the members out of the object, one after the other, and calls it. */
async function destructure<T extends object>(object: T, members: Members<T>): Promise<void> {
  for (const name of Reflect.ownKeys(members)) {
    const call: unknown = members[name as FunctionsOf<T>];
    const { [name as keyof T]: member } = object;
    expect(member, String(name)).toBeInstanceOf(Function);
    if (typeof call === "function") await call(member);
  }
}

const key = createContextKey("default");

const contextMembers: Members<CallContext> = {
  timeoutMs: (timeoutMs) => expect(timeoutMs()).toBeGreaterThan(0),
};
const handlerMembers: Members<HandlerContext> = {
  ...contextMembers,
  sendHeaders: (sendHeaders) => sendHeaders(),
};
const valuesMembers: Members<ContextValues> = {
  set: (set) => expect(set(key, "set").get(key)).toBe("set"),
  get: (get) => expect(get(key)).toBe("set"),
  delete: (remove) => expect(remove(key).get(key)).toBe("default"),
};
const metadataMembers: Members<Metadata> = {
  append: "declares this",
  appendAll: "declares this",
  appendRaw: "declares this",
  delete: "declares this",
  filter: "declares this",
  freeze: "declares this",
  get: "declares this",
  getAll: "declares this",
  getAllBinary: "declares this",
  getBinary: "declares this",
  has: "declares this",
  set: "declares this",
  toJSON: "declares this",
  [Symbol.iterator]: "declares this",
};
const transportMembers: Members<Transport> = {
  call: (call) => expect(call).toBeInstanceOf(Function),
};
const closableMembers: Members<ClosableTransport & AsyncDisposable> = {
  ...transportMembers,
  close: (close) => close(),
  [Symbol.asyncDispose]: (dispose) => dispose(),
};
const routerMembers = (router: Router): Members<Router> => ({
  add: (add) => expect(add(GreetServiceDef, greeter, { group: "destructured" })).toBe(router),
  exchange: async (exchange) => {
    const request = { method: "POST", path: "/a.B/C", version: "1.1", headers: new Metadata() } as const;
    const body = (await import("../runtime/src/http/body.ts")).emptyBody;
    expect((await exchange({ ...request, body, signal: undefined })).status).toBe(404);
  },
  mount: (mount) => expect(mount({ serves: () => false, exchange: router.exchange })).toBe(router),
  serves: (serves) => expect(serves({ method: "GET", path: "/nothing" })).toBe(false),
  onClose: (onClose) => onClose(() => {}),
});
const serverMembers = (server: Server): Members<Server> => ({
  ...routerMembers(server),
  listen: async (listen) => expect(await listen({ port: 0, host: "127.0.0.1" })).toBe(server),
  accept: (accept) => expect(accept({} as never)).rejects.toThrow(TypeError),
  drainConnections: (drainConnections) => drainConnections(),
  close: (close) => close(),
  [Symbol.asyncDispose]: (dispose) => dispose(),
});
const healthMembers = (health: Health): Members<Health> => ({
  set: (set) => expect(set("", "unknown")).toBe(health),
  get: (get) => expect(get("")).toBe("unknown"),
  shutdown: (shutdown) => shutdown(),
});
const clientMembers: Members<GreetServiceClient> = {
  greet: async (greet) => expect((await greet({ name: "Ada" })).greeting).toBe("Hello, Ada!"),
  greetTogether: (greetTogether) => greetTogether(arriving("Ada")),
  greetEach: (greetEach) => destructure(greetEach({ names: ["Ada"] }), streamMembers),
  greetOnArrival: (greetOnArrival) => destructure(greetOnArrival(arriving("Ada")), streamMembers),
};
const streamMembers: Members<AsyncIterable<unknown>> = {
  [Symbol.asyncIterator]: async (iterate) => {
    const { next, return: leave } = iterate();
    expect((await next()).done).toBe(false);
    await leave?.();
  },
};
const duration = { seconds: 5n, nanos: 0 };
const codecMembers = (codec: Codec): Members<Codec> => ({
  encode: (encode) => encode(DurationSchema, duration),
  decode: (decode) => decode(DurationSchema, codec.encode(DurationSchema, duration)),
  encodeWithHeadroom: (encodeWithHeadroom) => encodeWithHeadroom(5, DurationSchema, duration),
});
const bytes = new Uint8Array(10_000);
const compressionMembers = (compression: Compression): Members<Compression> => ({
  compress: (compress) => compress(bytes),
  decompress: async (decompress) => decompress((await compression.compress(bytes)) as Uint8Array, 10_000),
});
const serializationMembers = (serialization: Serialization): Members<Serialization> => ({
  encode: (encode) => encode("java.lang.String", "text"),
  decode: (decode) => expect(decode("java.lang.String", serialization.encode("java.lang.String", "text"))).toBe("text"),
  encodeException: () => {},
  decodeException: () => {},
});

/** Without the members that this implementation of an interface leaves out. */
function present<T extends object>(object: T, members: Members<T>): Members<T> {
  const known = Reflect.ownKeys(members).filter((name) => (object as Record<PropertyKey, unknown>)[name] !== undefined);
  return Object.fromEntries(known.map((name) => [name, (members as Record<PropertyKey, unknown>)[name]])) as Members<T>;
}

describe("every member works out of its object:", () => {
  const KINDS = ["greet", "greetEach", "greetTogether", "greetOnArrival"] as const;
  const PROTOCOLS = KINDS.map((kind) => ["grpc", kind] as const);

  it.each([["http-rpc", "greet"] as const, ...PROTOCOLS])("contexts, over %s, of %s", async (protocol, kind) => {
    const seen: string[] = [];
    const intercept =
      (side: string): Interceptor =>
      (next) =>
      async (request) => {
        await destructure(request.context, contextMembers);
        await destructure(request.context.values, valuesMembers);
        const response = await next(request);
        if (response.stream) await destructure(response.messages, { [Symbol.asyncIterator]: () => {} });
        seen.push(side);
        return response;
      };
    const handle = async (context: HandlerContext): Promise<void> => {
      await destructure(context, handlerMembers);
      await destructure(context.requestHeaders, metadataMembers);
      const { method, signal, requestHeaders, responseHeaders, responseTrailers, values } = context;
      expect([method.kind, signal.aborted, requestHeaders.size > 0]).toEqual([method.kind, false, true]);
      expect([responseHeaders.size, responseTrailers.size, values.get(key)]).toEqual([0, 0, "default"]);
      seen.push("handler");
    };
    const { baseUrl } = await startServer(
      {
        greet: async (_, context) => {
          await handle(context);
          return {};
        },
        async *greetEach(_, context) {
          await handle(context);
          yield {};
        },
        greetTogether: async (_, context) => {
          await handle(context);
          return {};
        },
        async *greetOnArrival(_, context) {
          await handle(context);
          yield {};
        },
      },
      { interceptors: [intercept("server")] },
    );
    const transport = createTransport({ baseUrl, protocol, interceptors: [intercept("client")] });
    const client = createGreetServiceClient(transport, { timeoutMs: 10_000 });
    const result = kind === "greet" || kind === "greetEach" ? client[kind]({}) : client[kind](arriving("Ada"));
    if (Symbol.asyncIterator in result) for await (const _ of result);
    else await result;
    await transport.close();
    expect(seen).toContain("handler");
    expect(seen).toContain("server");
    expect(seen).toContain("client");
  });

  it("context values", () => destructure(createContextValues(), valuesMembers));

  it("metadata", () => destructure(new Metadata(), metadataMembers));

  it("a router", async () => {
    const router = createRouter();
    await destructure(router, present(router, routerMembers(router)));
  });

  it("a router with cors, whose services answer pages", async () => {
    const router = createRouter({ cors: { origins: ["https://shop.example"] } });
    await destructure(router, present(router, routerMembers(router)));
  });

  it("a server", async () => {
    const server = createServer();
    await destructure(server, serverMembers(server));
  });

  it("health", async () => {
    const health = addHealth(createRouter());
    await destructure(health, healthMembers(health));
  });

  const router = createRouter().add(GreetServiceDef, greeter);
  const baseUrl = "http://127.0.0.1:9";
  it.each<[string, Transport]>([
    ["fetch", createFetchTransport({ baseUrl })],
    ["proto", createProtoTransport({ baseUrl })],
    ["json", createJsonTransport({ baseUrl })],
    ["memory", createInMemoryTransport(router)],
  ])("a transport of %s", (_, transport) => destructure(transport, transportMembers));

  it("a transport of Node", () => destructure(createTransport({ baseUrl }), closableMembers));

  it("a client, and its streams", () =>
    destructure(createGreetServiceClient(createInMemoryTransport(router)), clientMembers));

  it("a fake client", async () => {
    const { greet } = createFakeClient(GreetServiceDef, {});
    await expect(greet({})).rejects.toThrow("the fake client has no such method");
  });

  it.each([protoCodec, jsonCodec, createJsonCodec(), defaultProtoCodec])("a codec: $name", async (codec) => {
    await destructure(codec, present(codec, codecMembers(codec)));
    const { values } = codec;
    if (values === undefined) return;
    const { toValue, fromValue } = values;
    expect(fromValue(DurationSchema, toValue(DurationSchema, duration))).toMatchObject(duration);
  });

  it.each([...nodeCompressions, snappy, framedSnappy])("a compression: $name", (compression) =>
    destructure(compression, compressionMembers(compression)),
  );

  it.each([hessian2, jsonSerialization, msgpack, createProtobufSerialization()])(
    "a serialization: $name",
    (serialization) => destructure(serialization, present(serialization, serializationMembers(serialization))),
  );
});
