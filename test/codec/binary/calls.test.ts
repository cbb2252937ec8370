/** Calls of methods with generated codecs: both protocols use them on both sides. */
import type { Method, ServiceDef } from "triple-es";
import { createClient, createInMemoryTransport, createRouter } from "triple-es";
import { createServer, createTransport } from "triple-es/node";
import { expect, it } from "vitest";
import type { FindRequest } from "../../../fixtures/options/gen/codecs/fixture/options/v1/options_pb.ts";
import {
  createThingsServiceClient,
  type ThingsServiceClient,
  ThingsServiceDef,
} from "../../../fixtures/options/gen/codecs/fixture/options/v1/options_triple.ts";

/** The service with codecs that count the messages they encode and decode. */
function counted(): { readonly def: typeof ThingsServiceDef; readonly counts: Map<string, number> } {
  const counts = new Map<string, number>();
  const count = (name: string): void => void counts.set(name, (counts.get(name) ?? 0) + 1);
  const methods = Object.entries<Method>(ThingsServiceDef.methods).map(([name, method]) => {
    if (method.payload !== undefined || method.codecs === undefined) throw new Error(`${name} has no codecs`);
    const wrap = (side: "input" | "output") => {
      const codec = method.codecs?.[side];
      if (codec === undefined) throw new Error("no codec");
      return {
        encode: (message: object, headroom?: number) => {
          count(`encode ${side}`);
          return codec.encode(message, headroom);
        },
        decode: (bytes: Uint8Array) => {
          count(`decode ${side}`);
          return codec.decode(bytes);
        },
      };
    };
    return [name, { ...method, codecs: { input: wrap("input"), output: wrap("output") } }];
  });
  const def = { ...ThingsServiceDef, methods: Object.fromEntries(methods) } as ServiceDef<object, object>;
  return { def: def as unknown as typeof ThingsServiceDef, counts };
}

it.each(["grpc", "http-rpc"] as const)("a unary call over %s uses them on both sides", async (protocol) => {
  const { def, counts } = counted();
  const router = createRouter().add(def, {
    find: ({ name, after }: FindRequest) => ({ names: { 7: `${name} ${after}` } }),
  } as never);
  const transport = createInMemoryTransport(router, { protocol, codec: "proto" });
  const client: ThingsServiceClient = createClient(def, transport);
  const { names } = await client.find({ name: "lamp", after: 5n, by: { case: "query", value: { deep: [1, null] } } });
  expect(names).toEqual({ 7: "lamp 5" });
  expect(Object.fromEntries(counts)).toEqual({
    "encode input": 1,
    "decode input": 1,
    "encode output": 1,
    "decode output": 1,
  });
});

it("a stream uses them for each message", async () => {
  const { def, counts } = counted();
  const router = createRouter().add(def, {
    async *sync(requests: AsyncIterable<{ name: string }>) {
      for await (const { name } of requests) yield { kebab: name };
    },
  } as never);
  const client: ThingsServiceClient = createClient(def, createInMemoryTransport(router));
  const requests = async function* () {
    for (const name of ["a", "b", "c"]) yield { name };
  };
  const names: string[] = [];
  for await (const response of client.sync(requests())) names.push(response.kebab);
  expect(names).toEqual(["a", "b", "c"]);
  expect(counts.get("decode output")).toBe(3);
  expect(counts.get("encode input")).toBe(3);
});

it("an invalid value fails with the name of its field on Node", async () => {
  await using server = await createServer().listen({ port: 0, host: "127.0.0.1" });
  const transport = createTransport({ baseUrl: `http://127.0.0.1:${server.address.port}` });
  await expect(createThingsServiceClient(transport).find({ name: "lamp", after: "many" } as never)).rejects.toThrow(
    "[invalid_argument] cannot encode field fixture.options.v1.FindRequest.after to binary: ",
  );
  await transport.close();
});
