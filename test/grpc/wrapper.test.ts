/** Wrapper mode of sub-protocol B, by the bytes on the wire: those of the specification, of Java, and of attackers. */
import { readFileSync } from "node:fs";
import { create, toBinary } from "@bufbuild/protobuf";
import { Code, createRouter, Metadata, protoCodec, RpcError, type Transport } from "triple-es";
import { hessian2 } from "triple-es-dubbo/hessian2";
import {
  createInterfaceClient,
  type InterfaceMethod,
  interfacePayload,
  JavaException,
  type JavaType,
  jsonSerialization,
  type Serialization,
  type ServiceDef,
} from "triple-es-dubbo/java";
import { msgpack } from "triple-es-dubbo/msgpack";
import { describe, expect, it } from "vitest";
import { decodeWrapper, encodeWrapper } from "../../dubbo/src/interface/wrapper/wrapper.ts";
import {
  TripleRequestWrapperSchema,
  TripleResponseWrapperSchema,
} from "../../fixtures/gen/org/apache/dubbo/triple/triple_wrapper_pb.ts";
import { createGrpcClient } from "../../runtime/src/grpc/client.ts";
import { WholeBody } from "../../runtime/src/http/body.ts";
import { resolveClientOptions } from "../../runtime/src/protocol/options.ts";
import { ROOT } from "../support/documents.ts";
import { createShopClient, everything, ShopDef, type ShopHandler, shop } from "../support/shop.ts";

interface Recorded {
  readonly path: string;
  readonly requestHeaders: Readonly<Record<string, string>>;
  readonly request: string;
  readonly responseHeaders: Readonly<Record<string, string>>;
  readonly response: string;
  readonly trailers: Readonly<Record<string, string>>;
}

const recorded: readonly Recorded[] = JSON.parse(readFileSync(`${ROOT}fixtures/wire/dubbo/calls.json`, "utf8"));
const NAME = "com.example.interop.PlainService";

const hexOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex");
const bytesOf = (hex: string): Uint8Array => new Uint8Array(Buffer.from(hex.replaceAll(" ", ""), "hex"));
const framed = (data: Uint8Array): Uint8Array => {
  const frame = new Uint8Array(5 + data.byteLength);
  new DataView(frame.buffer).setUint32(1, data.byteLength);
  frame.set(data, 5);
  return frame;
};

interface Answer {
  readonly status: string;
  readonly message: string;
  readonly contentType: string | undefined;
  readonly headers: Metadata;
  readonly body: Uint8Array;
}

/** Posts a body to a router, and waits for the complete response. */
async function post(
  router: ReturnType<typeof createRouter>,
  path: string,
  body: Uint8Array,
  contentType = "application/grpc+proto",
): Promise<Answer> {
  const response = await router.exchange({
    method: "POST",
    path,
    version: "2",
    headers: new Metadata({ "content-type": contentType, te: "trailers" }),
    body: new WholeBody(body),
    signal: undefined,
  });
  const bytes = await response.body.bytes(2 ** 20);
  const end = response.trailers.has("grpc-status") ? response.trailers : response.headers;
  return {
    status: end.get("grpc-status") ?? `HTTP ${response.status}`,
    message: decodeURIComponent(end.get("grpc-message") ?? ""),
    contentType: response.headers.get("content-type"),
    headers: response.headers,
    body: bytes,
  };
}

const serving = (
  handler: Partial<ShopHandler> = {},
  serializations: readonly Serialization[] = [hessian2, jsonSerialization, msgpack],
) => createRouter({ serializations }).add(ShopDef, { ...shop, ...handler });

/** Calls `find` with one argument, whose type selects the overload. */
const finding = (type: string, value: Uint8Array, serializeType = "hessian4"): Uint8Array =>
  framed(encodeWrapper({ serializeType, values: [value], types: [type] }));

describe("a wrapper", () => {
  it("has the bytes that the schema says", () => {
    const request = "0a08 6865737369616e34 1204 03616263 1a10 6a6176612e6c616e672e537472696e67";
    const values = [hessian2.encode("java.lang.String", "abc")];
    const wrapper = { serializeType: "hessian4", values, types: ["java.lang.String"] };
    expect(hexOf(encodeWrapper(wrapper))).toBe(request.replaceAll(" ", ""));
    expect(decodeWrapper(bytesOf(request))).toEqual(wrapper);
  });

  it("is encoded by Dubbo's schema", () => {
    const args = [Uint8Array.of(1), new Uint8Array(0)];
    const request = { serializeType: "hessian4", values: args, types: ["int", "[B"] };
    const message = create(TripleRequestWrapperSchema, { serializeType: "hessian4", args, argTypes: request.types });
    expect(encodeWrapper(request)).toEqual(toBinary(TripleRequestWrapperSchema, message));
    const response = create(TripleResponseWrapperSchema, { serializeType: "a", data: Uint8Array.of(2), type: "void" });
    expect(decodeWrapper(toBinary(TripleResponseWrapperSchema, response))).toEqual({
      serializeType: "a",
      values: [Uint8Array.of(2)],
      types: ["void"],
    });
  });

  it("has its fields even if they are empty, because Java requires them", () => {
    const wrapper = { serializeType: "", values: [new Uint8Array(0)], types: [""] };
    expect(hexOf(encodeWrapper(wrapper))).toBe("0a0012001a00");
  });

  it("may have unknown fields", () => {
    const strange = "22 01 78 28 05 31 0000000000000000 3d 00000000";
    expect(decodeWrapper(bytesOf(`0a0161 ${strange} 12014e 1a0162`))).toMatchObject({
      serializeType: "a",
      types: ["b"],
    });
  });

  it.each([
    ["a number where a string belongs", "0805"],
    ["a zero where a string belongs", "0800"],
    ["a group", "2324"],
    ["a length beyond the end", "0a7f61"],
    ["more arguments than any method has", "1200".repeat(256)],
    ["more types than any method has", "1a00".repeat(256)],
    ["many unknown fields", "f00100".repeat(1_025)],
    ["the same field many times", "0a00".repeat(1_025)],
  ])("is refused with %s", (_what, hex) => {
    expect(() => decodeWrapper(bytesOf(hex))).toThrow(Error);
  });
});

describe("a server", () => {
  it.each([
    "application/grpc",
    "application/grpc+proto",
    "application/grpc+hessian2",
    "application/grpc+msgpack",
    "application/triple+wrapper",
    "application/svc+wrapper",
  ])("takes wrapped messages as %s, and answers the same", async (contentType) => {
    const body = finding("java.lang.String", hessian2.encode("java.lang.String", "Ann"));
    const answer = await post(serving(), "/com.acme.Shop/find", body, contentType);
    expect(answer).toMatchObject({ status: "0", contentType });
  });

  it("accepts no other content types for wrapped messages", async () => {
    const answer = await post(serving(), "/com.acme.Shop/reset", framed(new Uint8Array(0)), "application/grpc+json");
    expect(answer.status).toBe("HTTP 415");
  });

  it("answers unknown methods with unimplemented, also for the content type of the specification", async () => {
    const answer = await post(
      serving(),
      "/com.acme.Shop/other",
      framed(new Uint8Array(0)),
      "application/triple+wrapper",
    );
    expect(answer.status).toBe(String(Code.Unimplemented));
  });

  it.each(["hessian2", "hessian4", "json", "msgpack"])("answers %s with the name in the request", async (name) => {
    const serialization = { json: jsonSerialization, msgpack }[name] ?? hessian2;
    const body = finding("java.lang.String", serialization.encode("java.lang.String", "Ann"), name);
    const { body: answer } = await post(serving(), "/com.acme.Shop/find", body);
    const { serializeType, values, types } = decodeWrapper(answer.subarray(5));
    expect({ serializeType, types }).toEqual({ serializeType: name, types: ["com.acme.User"] });
    expect(values).toHaveLength(1);
  });

  it("ignores the types of a method without overloads, as Java does", async () => {
    const values = ["Ann", "Hi"].map((value) => hessian2.encode("java.lang.String", value));
    const body = framed(encodeWrapper({ serializeType: "hessian4", values, types: [] }));
    expect((await post(serving(), "/com.acme.Shop/sayHi", body)).status).toBe("0");
  });

  it("refuses types that no overload has, without a list of the overloads", async () => {
    const answer = await post(serving(), "/com.acme.Shop/find", finding("double", hessian2.encode("double", 1)));
    expect(answer.status).toBe(String(Code.Unimplemented));
    expect(answer.message).toBe("/com.acme.Shop/find has no overload with the types of these arguments");
  });

  it("refuses a serialization that is not registered", async () => {
    const body = finding("long", Uint8Array.of(0xe1), "fastjson2");
    const answer = await post(serving({}, [hessian2]), "/com.acme.Shop/find", body);
    expect(answer).toMatchObject({
      status: String(Code.Unimplemented),
      message: 'serialization "fastjson2" is not supported; supported are: hessian4 (hessian2)',
    });
  });

  it("says that no serialization is registered", async () => {
    const answer = await post(serving({}, []), "/com.acme.Shop/find", finding("long", Uint8Array.of(0xe1)));
    expect(answer).toMatchObject({
      status: String(Code.Unimplemented),
      message: expect.stringMatching(/is not supported; the receiver has none \(option serializations\)$/),
    });
  });

  it.each<[string, Uint8Array]>([
    ["bytes that are no wrapper", framed(bytesOf("ffffffffff"))],
    ["no arguments", framed(encodeWrapper({ serializeType: "hessian4", values: [], types: [] }))],
    ["null for a long", finding("long", Uint8Array.of(0x4e))],
    ["a string for a long", finding("long", hessian2.encode("java.lang.String", "1"))],
    ["data that is cut off", finding("long", Uint8Array.of(0x4c, 0))],
    ["a list without an end", finding("long", new Uint8Array(100_000).fill(0x57))],
    [
      "an object of a class that has a name in Java",
      finding("java.lang.String", bytesOf("431d636f6d2e73756e2e726f777365742e4a646263526f77536574496d706c9060")),
    ],
    ["invalid JSON", finding("long", Buffer.from("[[["), "json")],
    ["JSON that is too deep", finding("long", Buffer.from("[".repeat(5000)), "json")],
    ["MessagePack that announces too much", finding("long", bytesOf("dd 7fffffff"), "msgpack")],
    ["MessagePack that is too deep", finding("long", new Uint8Array(5000).fill(0x91), "msgpack")],
  ])("refuses %s as the caller's mistake", async (_what, body) => {
    let called = false;
    const find = (): null => {
      called = true;
      return null;
    };
    const answer = await post(serving({ find, findByName: find }), "/com.acme.Shop/find", body);
    expect([Code.InvalidArgument, Code.Unimplemented, Code.ResourceExhausted]).toContain(Number(answer.status));
    expect(called).toBe(false);
  });

  it.each<[string, Uint8Array]>([
    ["nothing at all", new Uint8Array(0)],
    ["values alone", encodeWrapper({ serializeType: "", values: [Uint8Array.of(0x4e)], types: [] })],
    ["an unknown name", encodeWrapper({ serializeType: "kryo", values: [Uint8Array.of(0)], types: [] })],
  ])("refuses a wrapper of %s as unimplemented, and names what there is", async (_what, wrapper) => {
    for (const path of ["/com.acme.Shop/sayHi", "/com.acme.Shop/reset"]) {
      const answer = await post(serving(), path, framed(wrapper));
      expect(answer.status).toBe(String(Code.Unimplemented));
      expect(answer.message).toMatch(/serialization.*supported are: /);
    }
  });

  it.each<[string, Uint8Array, string]>([
    ["too few values", encodeWrapper({ serializeType: "json", values: [], types: [] }), "0 were sent, and it takes 2"],
  ])("refuses a wrapper of %s as the caller's mistake", async (_what, wrapper, message) => {
    const answer = await post(serving(), "/com.acme.Shop/sayHi", framed(wrapper));
    expect(answer.status).toBe(String(Code.InvalidArgument));
    expect(answer.message).toContain(message);
  });

  it.each([
    ["hessian4", hessian2],
    ["json", jsonSerialization],
    ["msgpack", msgpack],
  ])("counts all arguments of a message together: %s", async (serializeType, serialization) => {
    const parameters = Array.from({ length: 3 }, (_, index) => ({
      name: `p${index}`,
      type: "java.lang.Object" as JavaType,
    }));
    const put = { ...methodOf("note"), signature: { parameters, result: "void" as const } };
    const def: ServiceDef<object, object> = { typeName: NAME, methods: { put } };
    const router = createRouter({ serializations: [serialization] }).add(def, { put: () => undefined });
    const value = serialization.encode(
      "java.lang.Object",
      Array.from({ length: 25_000 }, () => []),
    );
    const sent = async (...values: Uint8Array[]): Promise<Answer> =>
      post(router, put.path, framed(encodeWrapper({ serializeType, values, types: [] })));
    const small = serialization.encode("java.lang.Object", 1);
    expect((await sent(value, value, small)).status).toBe("0");
    const answer = await sent(value, value, value);
    expect(answer.status).toBe(String(Code.ResourceExhausted));
    expect(answer.message).toContain(
      'argument "p2": there are at least 65537 values, more than the limit of 65536 (option maxMessageValues)',
    );
  });

  const ones = (
    count: number,
    item: readonly number[],
    open: readonly number[],
    close: readonly number[],
  ): Uint8Array =>
    Buffer.concat([Buffer.from(open), Buffer.alloc(count * item.length, Uint8Array.from(item)), Buffer.from(close)]);
  const announced = (count: number): number[] => [0xdd, 0, count >> 16, (count >> 8) & 255, count & 255];
  it.each([
    ["maps of an entry, in Hessian 2", "hessian4", ones(145_000, [0x48, 0x91, 0x91, 0x5a], [0x57], [0x5a])],
    ["lists of an item, in Hessian 2", "hessian4", ones(145_000, [0x79, 0x91], [0x57], [0x5a])],
    ["dates, in Hessian 2", "hessian4", ones(900_000, [0x4b, 0, 0, 0, 1], [0x57], [0x5a])],
    ["dates, in MessagePack", "msgpack", ones(690_000, [0xd6, 0xff, 0, 0, 0, 1], announced(690_000), [])],
    ["maps of an entry, in MessagePack", "msgpack", ones(149_000, [0x81, 0xa1, 0x6b, 1], announced(149_000), [])],
  ])("refuses more values than the limit: %s", async (_what, serializeType, value) => {
    const put = {
      ...methodOf("note"),
      signature: { parameters: [{ name: "value", type: "java.lang.Object" as const }], result: "void" as const },
    };
    const def: ServiceDef<object, object> = { typeName: NAME, methods: { put } };
    const router = createRouter({ serializations: [hessian2, msgpack], maxMessageBytes: 8 * 2 ** 20 }).add(def, {
      put: () => undefined,
    });
    const answer = await post(router, put.path, framed(encodeWrapper({ serializeType, values: [value], types: [] })));
    expect(answer).toMatchObject({
      status: String(Code.ResourceExhausted),
      message:
        'argument "value": there are at least 65537 values, more than the limit of 65536 (option maxMessageValues)',
    });
  });

  it("sends an exception of Java as Java does: serialized, with its code in the headers, and status 0", async () => {
    const body = finding("long", hessian2.encode("long", -1n));
    const answer = await post(serving(), "/com.acme.Shop/find", body);
    expect(answer.status).toBe("0");
    expect(answer.headers.get("tri-exception-code")).toBe("3");
    const { values, types } = decodeWrapper(answer.body.subarray(5));
    expect(types).toEqual(["com.acme.User"]);
    expect(hessian2.decodeException?.(values[0] as Uint8Array).className).toBe("com.acme.NoSuchUserException");
  });

  it("sends any other error, and exceptions that a serialization cannot carry, as a status", async () => {
    const failing = serving({
      findByName: () => {
        throw new RpcError(Code.NotFound, "not here", { trailers: { why: "because" } });
      },
    });
    const name = hessian2.encode("java.lang.String", "Ann");
    expect(await post(failing, "/com.acme.Shop/find", finding("java.lang.String", name))).toMatchObject({
      status: String(Code.NotFound),
      message: "not here",
    });
    const json = finding("long", jsonSerialization.encode("long", -1n), "json");
    expect(await post(serving(), "/com.acme.Shop/find", json)).toMatchObject({
      status: String(Code.Unknown),
      message: "com.acme.NoSuchUserException: no user -1",
    });
  });

  it("keeps a hidden error hidden, even if an exception of Java caused it", async () => {
    const hiding = createRouter({ serializations: [hessian2], onError: () => {} }).add(ShopDef, {
      ...shop,
      find: () => {
        throw new Error("secret", { cause: new JavaException("com.acme.Secret") });
      },
    });
    const answer = await post(hiding, "/com.acme.Shop/find", finding("long", hessian2.encode("long", 1n)));
    expect(answer).toMatchObject({ status: String(Code.Unknown), message: "the service failed to handle the call" });
  });

  it("takes no overloads of streams, and no method twice", () => {
    const { count, sayHi } = ShopDef.methods as Record<string, InterfaceMethod>;
    const other = { ...count, signature: { parameters: [], result: "int" } } as InterfaceMethod;
    const twice = (methods: Record<string, InterfaceMethod | undefined>): ServiceDef<object, object> =>
      ({ typeName: "com.acme.Shop", methods }) as ServiceDef<object, object>;
    expect(() => createRouter().add(twice({ count, other }), { count: shop.count, other: shop.count })).toThrow(
      "has been added already",
    );
    expect(() => createRouter().add(twice({ sayHi, again: sayHi }), { sayHi: shop.sayHi, again: shop.sayHi })).toThrow(
      "has been added already",
    );
  });
});

/** The methods of the Java interface whose calls are recorded. */
const PLAIN: Readonly<Record<string, readonly [Readonly<Record<string, JavaType>>, JavaType]>> = {
  greet: [{ name: "java.lang.String" }, "java.lang.String"],
  increment: [{ value: "int" }, "int"],
  next: [{ value: "long" }, "long"],
  half: [{ value: "double" }, "double"],
  not: [{ value: "boolean" }, "boolean"],
  boxedIncrement: [{ value: "java.lang.Integer" }, "java.lang.Integer"],
  boxedNext: [{ value: "java.lang.Long" }, "java.lang.Long"],
  reverse: [{ values: { list: "java.lang.String" } }, { list: "java.lang.String" }],
  nextAll: [{ values: { list: "java.lang.Long" } }, { list: "java.lang.Long" }],
  nextDay: [{ day: "java.util.Date" }, "java.util.Date"],
  reverseBytes: [{ bytes: "[B" }, "[B"],
  sortInts: [{ values: { array: "int" } }, { array: "int" }],
  sortStrings: [{ values: { array: "java.lang.String" } }, { array: "java.lang.String" }],
  nothing: [{}, "java.lang.String"],
  note: [{ text: "java.lang.String" }, "void"],
  fail: [{ message: "java.lang.String", reason: "int" }, "java.lang.String"],
};

const methodOf = (name: string): InterfaceMethod => {
  const [parameters, result] = PLAIN[name] as (typeof PLAIN)[string];
  const signature = { parameters: Object.entries(parameters).map(([one, type]) => ({ name: one, type })), result };
  return {
    kind: "unary",
    service: NAME,
    name,
    path: `/${NAME}/${name}`,
    payload: interfacePayload,
    signature,
  };
};

/** Implements the Java service: the reaction to its argument. */
const PLAIN_HANDLER: Readonly<Record<string, (argument: never) => unknown>> = {
  greet: (name: string) => `Hello, ${name}!`,
  increment: (value: number) => (value + 1) | 0,
  next: (value: bigint) => value + 1n,
  half: (value: number) => value / 2,
  not: (value: boolean) => !value,
  boxedIncrement: (value: number | null) => value && value + 1,
  boxedNext: (value: bigint | null) => value && value + 1n,
  reverse: (values: string[]) => values.toReversed(),
  nextAll: (values: bigint[]) => values.map((value) => value + 1n),
  nextDay: (day: Date) => new Date(day.getTime() + 86_400_000),
  reverseBytes: (bytes: Uint8Array) => bytes.toReversed(),
  sortInts: (values: number[]) => values.toSorted((a, b) => a - b),
  sortStrings: (values: string[]) => values.toSorted(),
  nothing: () => null,
  note: () => undefined,
};

const replayed = recorded
  .map((call) => ({ ...call, name: call.path.slice(call.path.lastIndexOf("/") + 1) }))
  // The overload of greet with one argument.
  .filter(({ name, request }) => name in PLAIN_HANDLER && !(name === "greet" && request.endsWith("696e74")));
const PlainDef: ServiceDef<Record<string, (...given: unknown[]) => Promise<unknown>>, typeof PLAIN_HANDLER> = {
  typeName: NAME,
  methods: Object.fromEntries(Object.keys(PLAIN).map((name) => [name, methodOf(name)])),
};

/** A transport whose server responds to every call as recorded, and the requests that it received. */
function answering({ responseHeaders, response, trailers }: Recorded): { transport: Transport; sent: Uint8Array[] } {
  const sent: Uint8Array[] = [];
  const call = createGrpcClient(
    async (request) => {
      sent.push(await request.body.bytes(2 ** 20));
      const { ":status": status, ...headers } = responseHeaders;
      return {
        status: Number(status),
        headers: new Metadata(headers),
        body: new WholeBody(bytesOf(response)),
        trailers: Metadata.fromRaw(Object.entries(trailers).flat()),
      };
    },
    { ...resolveClientOptions({ codec: protoCodec, compressions: [] }), serializations: [hessian2] },
  );
  return { transport: { call }, sent };
}

describe("recorded calls of Dubbo for Java", () => {
  it("are there", () => {
    expect(replayed.length).toBeGreaterThan(15);
  });

  it.each(replayed)("are answered with the bytes of Java: $name $request", async ({ path, request, response }) => {
    const router = createRouter({ serializations: [hessian2] }).add(PlainDef, {
      ...PLAIN_HANDLER,
      fail: () => undefined,
    });
    const answer = await post(router, path, bytesOf(request));
    expect(answer.status).toBe("0");
    expect(hexOf(answer.body)).toBe(response);
  });

  it.each(replayed)("send the bytes of Java and read its responses: $name $request", async (call) => {
    const { signature } = methodOf(call.name);
    const { values } = decodeWrapper(bytesOf(call.request).subarray(5));
    const given = signature.parameters.map(({ type }, index) => hessian2.decode(type, values[index] as Uint8Array));
    const { transport, sent } = answering(call);
    const result = await createInterfaceClient(PlainDef, transport)[call.name]?.(...given);
    expect(sent.map(hexOf)).toEqual([call.request]);
    expect(result).toEqual(PLAIN_HANDLER[call.name]?.(given[0] as never));
  });

  it("report an exception with its class, message and fields", async () => {
    const call = recorded.find(({ path }) => path.endsWith("/fail")) as Recorded;
    const { transport } = answering(call);
    const error = await createInterfaceClient(PlainDef, transport)
      ["fail"]?.("no such thing", 7)
      .catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(JavaException);
    expect(error).toMatchObject({
      code: Code.Unknown,
      className: "com.example.interop.PlainException",
      fields: { reason: 7 },
    });
    expect((error as JavaException).trace[0]).toContain("PlainServiceImpl.java");
  });
});

describe("a client", () => {
  it.each<[string, string]>([
    ["application/grpc+proto", "application/grpc+proto"],
    ["application/triple+wrapper", "application/triple+wrapper"],
  ])("sends %s if the option selects it", async (wrapperContentType, expected) => {
    const router = serving();
    let seen: string | undefined;
    const call = createGrpcClient(
      (request) => {
        seen = request.headers.get("content-type");
        return router.exchange({ ...request, headers: new Metadata(request.headers) });
      },
      {
        ...resolveClientOptions({ codec: protoCodec, compressions: [] }),
        serializations: [hessian2],
        wrapperContentType: wrapperContentType as "application/triple+wrapper",
      },
    );
    const client = createShopClient({ call });
    expect(await client.echo(everything)).toEqual(everything);
    expect(seen).toBe(expected);
  });

  it("reports errors of bounded length for any response", async () => {
    const call = recorded.find(({ path }) => path.endsWith("/greet")) as Recorded;
    const wrapper = { serializeType: "x".repeat(1_000_000), values: [Uint8Array.of(0x4e)], types: ["void"] };
    const strange = answering({ ...call, response: hexOf(framed(encodeWrapper(wrapper))) });
    const error = await createInterfaceClient(PlainDef, strange.transport)
      ["greet"]?.("Ann")
      .catch((reason: unknown) => reason);
    expect((error as Error).message).toMatch(/serialization "x+…" is not registered/);
    expect((error as Error).message.length).toBeLessThan(300);
    const long = new JavaException("com.acme.Long", "y".repeat(100_000));
    expect(long.message.length).toBeLessThan(5000);
    expect(long.detailMessage).toHaveLength(100_000);
  });

  it("requests no version and no group if they are empty, despite its defaults", async () => {
    const router = serving();
    const seen: (string | undefined)[][] = [];
    const call = createGrpcClient(
      (request) => {
        seen.push(["tri-service-version", "tri-service-group"].map((name) => request.headers.get(name)));
        return router.exchange({ ...request, headers: new Metadata(request.headers) });
      },
      { ...resolveClientOptions({ codec: protoCodec, compressions: [] }), serializations: [hessian2] },
    );
    const transport = { call };
    await createShopClient(transport, { version: "", group: "" }).reset();
    await createShopClient(transport, { version: "1.0.0", group: "blue" }).reset({ version: "", group: "" });
    expect(seen).toEqual([
      [undefined, undefined],
      [undefined, undefined],
    ]);
  });

  it.each(["constructor", "99", "x"])("treats an exception with the code %s like any other", async (code) => {
    const call = recorded.find(({ path }) => path.endsWith("/fail")) as Recorded;
    const { transport } = answering({
      ...call,
      responseHeaders: { ...call.responseHeaders, "tri-exception-code": code },
    });
    const failed = createInterfaceClient(PlainDef, transport)["fail"]?.("", 7);
    await expect(failed).rejects.toMatchObject({ code: Code.Unknown });
  });

  it.each([
    ["an unknown serialization", "0a026b6f", "ko"],
    ["no value", `0a08${hexOf(Buffer.from("hessian4"))}`, ": it cannot be read"],
  ])("reports an exception that it cannot decode, with %s", async (_, wrapper, reason) => {
    const call = recorded.find(({ path }) => path.endsWith("/fail")) as Recorded;
    const { transport } = answering({ ...call, response: hexOf(framed(bytesOf(wrapper))) });
    const failed = createInterfaceClient(PlainDef, transport)["fail"]?.("", 7);
    await expect(failed).rejects.toThrow("a Java exception that cannot be read");
    await expect(failed).rejects.toThrow(reason);
  });
});
