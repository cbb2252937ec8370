/** Calls between the code of a contract and the code that is generated from its proto file, in JSON, in both directions. */
import { create, fromJson, type JsonValue, toJson } from "@bufbuild/protobuf";
import { timestampFromMs, ValueSchema } from "@bufbuild/protobuf/wkt";
import { Code, createInMemoryTransport, createRouter, findDetails } from "triple-es";
import { describe, expect, it } from "vitest";
import {
  EverythingSchema,
  MoneyCurrency_Value,
  OrderColour_Value,
  OrderSchema,
  ShapeKind_Value,
  ShapeSchema,
} from "../../../fixtures/contract/gen/shop/v1/shop_pb.ts";
import {
  createShopClient as createProtoClient,
  ShopDef as ProtoShopDef,
  type ShopHandler as ProtoShopHandler,
} from "../../../fixtures/contract/gen/shop/v1/shop_triple.ts";
import { createShopClient, Shop_echo, Shop_order, ShopDef } from "../../../fixtures/contract/gen/shop_triple.ts";
import type { Everything } from "../../../fixtures/contract/shop.ts";
import { BadRequestSchema } from "../../../runtime/src/gen/google/rpc/error_details_pb.ts";
import { everything, receipt, shop } from "./shop.ts";

/** The values of the fixture, with integers of 64 bits. */
const whole: Everything = { ...everything, byId: new Map([[2n ** 63n - 1n, new Uint8Array([1])]]) };
const order = { ...receipt.order, note: "soon" };

const jsonOf = (method: { payload?: unknown }, value: unknown): JsonValue =>
  JSON.parse(
    JSON.stringify((method.payload as { request: { toJson(value: unknown): unknown } }).request.toJson(value)),
  );

/** The implementation of `shop.ts`, with the types of the proto file. */
const protoShop: ProtoShopHandler = {
  order: (request) => ({ id: 1n, order: request }),
  stock: ({ value }) => fromJson(ValueSchema, value === "lamp" ? 7 : null),
  search: ({ text, page = 0 }) => ({ items: text === undefined ? [] : [{ thing: text, count: page + 1 }] }),
  area: ({ kind, radius }) => ({ value: kind === ShapeKind_Value.circle ? (radius ?? 0) : Number.NaN }),
  echo: (request) => request,
  now: () => timestampFromMs(1_000),
  ping: () => ({}),
  async *watch({ id }) {
    yield { id: id ?? 0n, order: fromJson(OrderSchema, jsonOf(Shop_order, order)) };
  },
  async total(items) {
    let cents = 0;
    for await (const { count = 0, price } of items) cents += count * (price?.cents ?? 0);
    return { cents, currency: MoneyCurrency_Value.EUR };
  },
  async *find(names) {
    for await (const { value } of names) yield fromJson(ValueSchema, value === "" ? null : { thing: value, count: 1 });
  },
};

async function* each<T>(...values: T[]): AsyncGenerator<T> {
  yield* values;
}

async function all<T>(messages: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const message of messages) found.push(message);
  return found;
}

const PROTOCOLS = ["grpc", "http-rpc"] as const;
const errors: unknown[] = [];
const onError = (error: unknown): void => void errors.push(error);

describe.each(PROTOCOLS)("a client of the contract, at a server of the proto file, over %s", (protocol) => {
  const router = createRouter({ onError }).add(ProtoShopDef, protoShop);
  const client = createShopClient(createInMemoryTransport(router, { protocol, codec: "json" }));

  it("has each value back", async () => {
    expect(await client.echo(whole)).toEqual(whole);
    const empty = {
      ...whole,
      shape: null,
      either: null,
      emails: [],
      record: {},
      byId: new Map(),
      text: "",
      flag: false,
    };
    expect(await client.echo(empty)).toEqual(empty);
    expect(await client.order(order)).toEqual({ id: 1n, order });
    expect(await client.stock("lamp")).toBe(7);
    expect(await client.stock("")).toBeNull();
    expect(await client.search({ text: "lamp" })).toEqual({ items: [{ thing: "lamp", count: 1 }] });
    expect(await client.area({ kind: "circle", radius: 0 })).toBe(0);
    expect(await client.now()).toEqual(new Date(1_000));
    expect(await client.ping()).toEqual({});
  });

  it("streams", async () => {
    expect(await all(client.watch({ id: 5n }))).toEqual([{ id: 5n, order }]);
    const price = { cents: 5, currency: "EUR" } as const;
    const total = client.total(each({ thing: "a", count: 2, price }, { thing: "b", count: 3, price }));
    if (protocol === "http-rpc") return expect(total).rejects.toMatchObject({ code: Code.Unimplemented });
    expect(await total).toEqual({ cents: 25, currency: "EUR" });
    expect(await all(client.find(each("a", "")))).toEqual([{ thing: "a", count: 1 }, null]);
  });
});

describe.each(PROTOCOLS)(
  "a client of the contract that sends what the proto file has no value for, over %s",
  (protocol) => {
    const router = createRouter({ onError }).add(ProtoShopDef, protoShop);
    const client = createShopClient(createInMemoryTransport(router, { protocol, codec: "json" }));

    it("has an error", async () => {
      const code = protocol === "grpc" ? Code.Internal : Code.InvalidArgument;
      const wide = { ...whole, big: 2n ** 63n };
      await expect(client.echo(wide)).rejects.toMatchObject({ code });
      const early = { ...whole, instant: new Date("0000-01-01T00:00:00Z") };
      await expect(client.echo(early)).rejects.toMatchObject({ code });
    });
  },
);

describe.each(PROTOCOLS)("a client of the proto file, at a server of the contract, over %s", (protocol) => {
  const router = createRouter({ onError }).add(ShopDef, shop);
  const client = createProtoClient(createInMemoryTransport(router, { protocol, codec: "json" }));

  it("has each value back", async () => {
    const json = jsonOf(Shop_echo, whole);
    const message = fromJson(EverythingSchema, json);
    expect(await client.echo(message)).toEqual(message);
    const empty = create(EverythingSchema, {
      ...message,
      text: "",
      flag: false,
      big: 0n,
      emails: [],
      record: {},
      byName: {},
      bytes: new Uint8Array(),
    });
    expect(await client.echo(empty)).toEqual(empty);
    const answer = await client.order(fromJson(OrderSchema, jsonOf(Shop_order, order)));
    expect(answer).toMatchObject({ id: 1n, order: { note: "soon", colour: OrderColour_Value.RED } });
    expect(toJson(ValueSchema, await client.stock({ value: "lamp" }))).toBe(7);
    expect(toJson(ValueSchema, await client.stock({ value: "moon" }))).toBeNull();
    expect((await client.search({ text: "x" })).items).toMatchObject([{ thing: "x", count: 1 }]);
    expect(await client.now({})).toMatchObject(timestampFromMs(1_000));
    expect(await client.ping({})).toMatchObject({});
  });

  it("is told what the contract does not allow", async () => {
    const error = await client.order({ id: 1n, items: [{}] } as never).catch((reason) => reason);
    expect(error).toMatchObject({ code: Code.InvalidArgument });
    expect(findDetails(error, BadRequestSchema)[0]?.fieldViolations.map(({ field }) => field)).toEqual([
      "items[0].thing",
      "items[0].count",
      "customer",
      "due",
      "colour",
    ]);
    await expect(client.area(create(ShapeSchema, {}))).rejects.toThrow("shape.kind is missing");
    errors.length = 0;
    await expect(client.area({ kind: ShapeKind_Value.group })).rejects.toMatchObject({ code: Code.Internal });
    expect(errors.map(String)).toEqual(["TypeError: result must be a finite number"]);
  });

  it("streams", async () => {
    const router = createRouter({ onError }).add(ShopDef, {
      ...shop,
      async *watch({ id }) {
        yield { id, order };
        if (id === 0n) yield { id, order: { ...order, items: [], colour: "GREEN" } };
      },
    });
    const { watch } = createProtoClient(createInMemoryTransport(router, { protocol, codec: "json" }));
    const [receipt, ...others] = await all(watch({ id: 5n }));
    expect([receipt?.id, receipt?.order?.customer, others]).toEqual([5n, order.customer, []]);
    await expect(all(watch({ id: 0n }))).rejects.toMatchObject({ code: Code.Internal });
    const total = client.total(each({ thing: "a", count: 2, price: { cents: 5, currency: MoneyCurrency_Value.EUR } }));
    if (protocol === "http-rpc") return expect(total).rejects.toMatchObject({ code: Code.Unimplemented });
    expect(await total).toMatchObject({ cents: 10, currency: MoneyCurrency_Value.EUR });
    const found = await all(client.find(each({ value: "a" }, { value: "" })));
    expect(found.map((one) => toJson(ValueSchema, one))).toEqual([{ thing: "a", count: 1 }, null]);
  });
});
