/** Clients of plain JSON: they work with servers that know the schema, and their bundle has no protobuf runtime. */
import { create } from "@bufbuild/protobuf";
import { build } from "esbuild";
import { Code, createDetail, createInMemoryTransport, createRouter, findDetails, RpcError } from "triple-es";
import { createTransport as createFetchTransport, fetchHandler } from "triple-es/fetch";
import { createStreamingStub, createTransport } from "triple-es/json";
import { createTransport as createProtoTransport } from "triple-es/proto";
import { beforeAll, describe, expect, it } from "vitest";
import { createGreetServiceClient } from "../../examples/gen/greet/v1/greet_triple.ts";
import {
  createThingsServiceClient,
  ThingsServiceDef as PlainThingsServiceDef,
  ThingsService_watch,
} from "../../fixtures/options/gen/json/fixture/options/v1/options_triple.ts";
import { FindResponseSchema } from "../../fixtures/options/gen/server/fixture/options/v1/options_pb.ts";
import {
  ThingsServiceBase,
  ThingsServiceDef,
} from "../../fixtures/options/gen/server/fixture/options/v1/options_triple.ts";
import { SharedSchema } from "../../fixtures/options/gen/server/fixture/options/v1/shared_pb.ts";
import { signalled } from "../support/server.ts";
import { createShopClient, ShopDef, shop } from "../support/shop.ts";
import { root } from "./support/protos.ts";

class Things extends ThingsServiceBase {
  override find(request: Parameters<ThingsServiceBase["find"]>[0]) {
    return create(FindResponseSchema, {
      names: { 1: request.name, 2: request.by.case ?? "", 3: String(request.after) },
      shared: { title: "shared", parts: [{}] },
    });
  }
  override async *watch(
    { name, tags }: Parameters<ThingsServiceBase["watch"]>[0],
    { signal }: Parameters<ThingsServiceBase["watch"]>[1],
  ) {
    signal.addEventListener("abort", () => left.resolve(signal.reason));
    for (const tag of tags) yield { names: { 1: tag } };
    const shelf = createDetail(SharedSchema, { title: "the shelf" });
    if (name === "missing") throw new RpcError(Code.NotFound, "no lamp", { details: [shelf] });
    if (name === "endless") await left.promise;
  }
  override hTTPGet(request: Parameters<ThingsServiceBase["hTTPGet"]>[0]) {
    return create(SharedSchema, { title: request.value });
  }
}

const left = signalled<unknown>();
const unreachable: typeof fetch = () => Promise.reject(new Error("nothing should have been sent"));

describe("a client of plain JSON", () => {
  const handle = fetchHandler(createRouter().add(ThingsServiceDef, new Things()));
  const bodies: string[] = [];
  const types: (string | null)[] = [];
  const transport = createTransport({
    baseUrl: "http://things.example",
    fetch: async (url, init) => {
      bodies.push(new TextDecoder().decode(init?.body as Uint8Array<ArrayBuffer>));
      types.push(new Headers(init?.headers).get("content-type"));
      return handle(new Request(url as string, init));
    },
  });
  const client = createThingsServiceClient(transport);

  it("sends and receives the JSON of messages", async () => {
    const answer = await client.find({ name: "lamp", after: "9007199254740993", id: "x", order: "ORDER_NAME" });
    expect(answer).toEqual({
      names: { 1: "lamp", 2: "id", 3: "9007199254740993" },
      shared: { title: "shared", parts: [{}] },
    });
    expect(bodies.at(-1)).toBe('[{"name":"lamp","after":"9007199254740993","id":"x","order":"ORDER_NAME"}]');
  });

  it("sends JSON that is no object", async () => {
    expect(await client.hTTPGet("text")).toEqual({ title: "text" });
  });

  it("has no methods with streams of requests", () => {
    expect(Object.keys(client)).toEqual(["find", "watch", "hTTPGet"]);
  });

  it("receives a stream, message by message", async () => {
    const seen: unknown[] = [];
    for await (const { names } of client.watch({ name: "lamp", tags: ["a", "b"] })) {
      seen.push(names);
    }
    expect(seen).toEqual([{ 1: "a" }, { 1: "b" }]);
    expect(types.at(-1)).toBe("application/grpc-web+json");
  });

  it("receives the error of a stream, with its details, after its messages", async () => {
    const seen: unknown[] = [];
    const reading = async (): Promise<void> => {
      for await (const { names } of client.watch({ name: "missing", tags: ["a"] })) seen.push(names);
    };
    const error = await reading().catch((reason) => reason);
    expect(seen).toEqual([{ 1: "a" }]);
    expect(error).toMatchObject({
      code: Code.NotFound,
      rawMessage: "no lamp",
      method: "/fixture.options.v1.ThingsService/Watch",
    });
    expect(findDetails(error, SharedSchema)).toMatchObject([{ title: "the shelf" }]);
  });

  it("cancels a stream that it leaves", async () => {
    for await (const _ of client.watch({ name: "endless", tags: ["a"] })) break;
    expect(await left.promise).toMatchObject({ code: Code.Canceled });
  });

  it("can make the calls of one streaming method alone", async () => {
    const watch = createStreamingStub(ThingsService_watch, transport);
    const first = await watch({ tags: ["a"] })
      [Symbol.asyncIterator]()
      .next();
    expect(first.value).toEqual({ names: { 1: "a" } });
  });

  it("passes streams through the interceptors of its transport", async () => {
    const kinds: string[] = [];
    const observed = createTransport({
      baseUrl: "http://things.example",
      fetch: (url, init) => handle(new Request(url as string, init)),
      interceptors: [
        (next) => (request) => {
          kinds.push(request.method.kind);
          return next(request);
        },
      ],
    });
    for await (const _ of createThingsServiceClient(observed).watch({ tags: ["a"] }));
    expect(kinds).toEqual(["server_streaming"]);
  });

  it.each([createFetchTransport, createProtoTransport])(
    "streams over the transports of protobuf's clients",
    async (create) => {
      const shared = create({
        baseUrl: "http://things.example",
        fetch: (url, init) => handle(new Request(url as string, init)),
      });
      const seen: unknown[] = [];
      for await (const { names } of createThingsServiceClient(shared).watch({ tags: ["a"] })) seen.push(names);
      expect(seen).toEqual([{ 1: "a" }]);
    },
  );

  it.each(["array", "object"] as const)("refuses clients of other messages, with jsonBody %s", async (jsonBody) => {
    const transport = createTransport({ baseUrl: "http://things.example", jsonBody, fetch: unreachable });
    const refusal = "[invalid_argument] greet.v1.GreetRequest is not plain JSON: use triple-es/fetch";
    await expect(createGreetServiceClient(transport).greet({ name: "Ada" })).rejects.toThrow(refusal);
  });

  it("can share its transport with clients of interface methods", async () => {
    const answer = fetchHandler(createRouter().add(ShopDef, shop));
    const transport = createTransport({
      baseUrl: "http://shop.example",
      fetch: (url, init) => answer(new Request(url as string, init)),
    });
    const client = createShopClient(transport);
    expect(await client.sayHi("Ada", "Hi")).toBe("Hi, Ada!");
    const each = client.count(1, 2)[Symbol.asyncIterator]();
    await expect(each.next()).rejects.toThrow("HTTP RPC is unary only");
  });

  it.each(["proto", "json"] as const)("travels as JSON over HTTP RPC with the codec %s", async (codec) => {
    const router = createRouter().add(ThingsServiceDef, new Things());
    const transport = createInMemoryTransport(router, { protocol: "http-rpc", codec });
    expect(await createThingsServiceClient(transport).hTTPGet("text")).toEqual({ title: "text" });
  });

  it("refuses gRPC, which has no content type for JSON without a schema", async () => {
    const router = createRouter().add(ThingsServiceDef, new Things());
    const call = createThingsServiceClient(createInMemoryTransport(router)).hTTPGet("text");
    await expect(call).rejects.toThrow(
      '[unimplemented] /fixture.options.v1.ThingsService/HTTPGet has messages that travel over HTTP RPC only; use the protocol "http-rpc" for it',
    );
  });

  it("names the transports that can carry a stream, over gRPC", async () => {
    const router = createRouter().add(ThingsServiceDef, new Things());
    const call = createThingsServiceClient(createInMemoryTransport(router)).watch({})[Symbol.asyncIterator]().next();
    await expect(call).rejects.toThrow(
      "[unimplemented] /fixture.options.v1.ThingsService/Watch has a stream of plain JSON, which travels over gRPC-Web only; use triple-es/json or triple-es/fetch for it",
    );
  });

  it("declares methods that no server can serve", () => {
    const { find } = new Things();
    expect(() => createRouter().add(PlainThingsServiceDef, { find })).toThrow(
      "/fixture.options.v1.ThingsService/Find is declared for clients only, so it cannot be served",
    );
  });
});

describe("its bundle", () => {
  let inputs: Record<string, { bytesInOutput: number }>;

  beforeAll(async () => {
    const { metafile } = await build({
      entryPoints: [`${root}fixtures/options/json-client.ts`],
      conditions: ["triple-source"],
      bundle: true,
      minify: true,
      format: "esm",
      platform: "browser",
      metafile: true,
      write: false,
    });
    inputs = Object.values(metafile.outputs)[0]?.inputs ?? {};
  });

  it("has nothing of protobuf-es", () => {
    const protobuf = Object.entries(inputs).filter(
      ([path, { bytesInOutput }]) => path.includes("@bufbuild") && bytesInOutput > 0,
    );
    expect(protobuf.map(([path]) => path.replace(/.*\//, ""))).toEqual([]);
  });

  it("is small", () => {
    const bytes = Object.values(inputs).reduce((sum, { bytesInOutput }) => sum + bytesInOutput, 0);
    expect(bytes).toBeLessThan(30_000);
  });
});
