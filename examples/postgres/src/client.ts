/** Places orders at all servers, and watches the orders of all of them at one. */
import { fixed, roundRobin } from "triple-es/discovery";
import { createTransport } from "triple-es/node";
import { createShopServiceClient } from "../../gen/shop/v1/shop_triple.ts";
import { SERVERS } from "./configuration.ts";
import { withIdempotencyKey } from "./idempotency-key.ts";
import { shopRetry } from "./retry.ts";

const ORDERS = 4;

const transport = createTransport({
  resolver: fixed(SERVERS),
  balancer: roundRobin(),
  // Interceptors are outside of the retries, so that all attempts of a call have the same key.
  interceptors: [withIdempotencyKey],
  retry: shopRetry,
});
const shop = createShopServiceClient(transport, { timeoutMs: 10_000 });

const before = (await shop.listProducts({})).products.find(({ name }) => name === "Cup");
const watching = (async () => {
  let seen = 0;
  for await (const { order } of shop.watchOrders({})) {
    console.log(`order ${order?.id} of ${order?.customer}: ${order?.total?.units} ${order?.total?.currencyCode}`);
    if (++seen === ORDERS) return;
  }
})();
const customers = Array.from({ length: ORDERS }, (_, index) => `customer ${index + 1}`);
const delivery = { case: "pickup", value: "Main street" } as const;
await Promise.all(
  customers.map((customer) => shop.placeOrder({ customer, items: [{ productId: 2n, quantity: 1 }], delivery })),
);
await watching;
const after = (await shop.listProducts({})).products.find(({ name }) => name === "Cup");
console.log(`cups: ${before?.stock} before, ${after?.stock} after`);
await transport.close();
