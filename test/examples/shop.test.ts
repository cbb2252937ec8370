/** The shop that the examples share. */
import { Code, createInMemoryTransport, createRouter, findDetails, type RpcError } from "triple-es";
import { expect, it } from "vitest";
import { BadRequestSchema } from "../../examples/gen/google/rpc/error_details_pb.ts";
import {
  createShopServiceClient,
  type ShopServiceClient,
  ShopServiceDef,
} from "../../examples/gen/shop/v1/shop_triple.ts";
import { createShop } from "../../examples/shop/shop.ts";
import { failureOf } from "../support/server.ts";

const open = (): ShopServiceClient =>
  createShopServiceClient(createInMemoryTransport(createRouter().add(ShopServiceDef, createShop())));

const pickup = { case: "pickup", value: "Main street" } as const;

it("takes the items of an order from the stock and adds up their prices", async () => {
  const shop = open();
  const items = [
    { productId: 1n, quantity: 2 },
    { productId: 9_007_199_254_740_993n, quantity: 3 },
    { productId: 1n, quantity: 1 },
  ];
  const { order } = await shop.placeOrder({ customer: "Ada", items, delivery: pickup });
  expect(order).toMatchObject({ id: 1n, customer: "Ada", delivery: pickup });
  expect(order?.total).toMatchObject({ currencyCode: "EUR", units: 109n, nanos: 500_000_000 });
  const { products } = await shop.listProducts({});
  expect(products.map(({ stock }) => stock)).toEqual([7, 40, 0]);
});

it("refuses orders that are invalid, too large or for unknown products, and keeps the stock", async () => {
  const shop = open();
  const refusalOf = async (productId: bigint, quantity: number): Promise<RpcError> =>
    failureOf(shop.placeOrder({ customer: "Ada", items: [{ productId, quantity }], delivery: pickup }));
  expect(await refusalOf(5n, 1)).toMatchObject({ code: Code.NotFound, rawMessage: "there is no product 5" });
  expect(await refusalOf(1n, 11)).toMatchObject({
    code: Code.FailedPrecondition,
    rawMessage: "only 10 of Teapot are left",
  });
  expect((await refusalOf(1n, -1)).code).toBe(Code.InvalidArgument);
  const invalid = await failureOf(shop.placeOrder({}));
  const [details] = findDetails(invalid, BadRequestSchema);
  expect(details?.fieldViolations.map(({ field }) => field)).toEqual(["customer", "items", "delivery"]);
  expect((await shop.listProducts({})).products[0]?.stock).toBe(10);
});

it("sends stored orders after an id, then new ones, until the caller leaves", async () => {
  const shop = open();
  const place = (customer: string) =>
    shop.placeOrder({ customer, items: [{ productId: 2n, quantity: 1 }], delivery: pickup });
  await place("Ada");
  await place("Bob");
  const seen: string[] = [];
  for await (const { order } of shop.watchOrders({ afterId: 1n })) {
    seen.push(`${order?.id} ${order?.customer}`);
    if (seen.length === 2) break;
    await place("Cleo");
  }
  expect(seen).toEqual(["2 Bob", "3 Cleo"]);
});

it("sends all stored orders after an id that no order can have", async () => {
  const shop = open();
  await shop.placeOrder({ customer: "Ada", items: [{ productId: 2n, quantity: 1 }], delivery: pickup });
  for await (const { order } of shop.watchOrders({ afterId: -1n }, { timeoutMs: 20_000 })) {
    expect(order?.id).toBe(1n);
    break;
  }
});
