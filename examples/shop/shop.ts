/** The shop of the examples: an implementation of `shop.v1.ShopService` that keeps products and orders in memory. */
import { create } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { Code, createDetail, RpcError } from "triple-es";
import { BadRequestSchema } from "../gen/google/rpc/error_details_pb.ts";
import {
  type Money,
  MoneySchema,
  type Order,
  OrderSchema,
  OrderStatus,
  type PlaceOrderRequest,
  type Product,
  ProductSchema,
} from "../gen/shop/v1/shop_pb.ts";
import type { ShopServiceHandler } from "../gen/shop/v1/shop_triple.ts";

const NANOS_PER_UNIT = 1_000_000_000n;

const euros = (units: bigint, nanos: number): Money => create(MoneySchema, { currencyCode: "EUR", units, nanos });

const PRODUCTS: readonly Product[] = [
  create(ProductSchema, { id: 1n, name: "Teapot", price: euros(24n, 500_000_000), stock: 10 }),
  create(ProductSchema, { id: 2n, name: "Cup", price: euros(6n, 950_000_000), stock: 40 }),
  // A number of JavaScript cannot hold this id exactly: products are identified by `bigint` throughout.
  create(ProductSchema, { id: 9_007_199_254_740_993n, name: "Green tea", price: euros(12n, 0), stock: 3 }),
];

/** Creates a shop with three products and no orders. */
export function createShop(): ShopServiceHandler {
  const products = new Map(PRODUCTS.map((product) => [product.id, { ...product }]));
  /** The order with the id 1 is the first. */
  const orders: Order[] = [];
  /** Called after each new order. */
  const watchers = new Set<() => void>();

  return {
    listProducts: () => ({ products: [...products.values()] }),

    placeOrder(request) {
      checkOrder(request);
      const quantities = new Map<Product, number>();
      for (const { productId, quantity } of request.items) {
        const product = products.get(productId);
        if (product === undefined) throw new RpcError(Code.NotFound, `there is no product ${productId}`);
        quantities.set(product, (quantities.get(product) ?? 0) + quantity);
      }
      for (const [{ name, stock }, quantity] of quantities) {
        if (quantity > stock) throw new RpcError(Code.FailedPrecondition, `only ${stock} of ${name} are left`);
      }
      for (const [product, quantity] of quantities) product.stock -= quantity;
      const order = create(OrderSchema, {
        id: BigInt(orders.length + 1),
        placedAt: timestampFromDate(new Date()),
        status: OrderStatus.PLACED,
        customer: request.customer,
        items: request.items,
        total: totalOf(quantities),
        delivery: request.delivery,
      });
      orders.push(order);
      for (const watcher of watchers) watcher();
      return { order };
    },

    async *watchOrders({ afterId }, { signal, draining, sendHeaders }) {
      // Tells the caller before the first order that the stream is open.
      sendHeaders();
      // `signal` fires when the caller has left, `draining` when the server is about to close.
      const ended = AbortSignal.any([signal, draining]);
      let wake = (): void => {};
      const watcher = (): void => wake();
      watchers.add(watcher);
      ended.addEventListener("abort", watcher);
      try {
        let index = Math.max(0, Number(afterId));
        for (;;) {
          ended.throwIfAborted();
          const order = orders[index];
          if (order === undefined) {
            await new Promise<void>((resolve) => {
              wake = resolve;
            });
          } else {
            index++;
            yield { order };
          }
        }
      } finally {
        watchers.delete(watcher);
      }
    },
  };
}

/** Throws one error that describes all invalid fields, as `google.rpc.BadRequest`. */
export function checkOrder({ customer, items, delivery }: PlaceOrderRequest): void {
  const fieldViolations: { field: string; description: string }[] = [];
  const report = (field: string, description: string): number => fieldViolations.push({ field, description });
  if (customer.trim() === "") report("customer", "a name is required");
  if (items.length === 0) report("items", "an order needs at least one item");
  for (const [index, { quantity }] of items.entries()) {
    if (quantity < 1) report(`items[${index}].quantity`, `must be at least 1, is ${quantity}`);
  }
  if (delivery.case === undefined) report("delivery", "either address or pickup is required");
  if (fieldViolations.length === 0) return;
  const details = [createDetail(BadRequestSchema, { fieldViolations })];
  const fields = fieldViolations.map(({ field }) => field).join(", ");
  throw new RpcError(Code.InvalidArgument, `the order is invalid: ${fields}`, { details });
}

function totalOf(quantities: ReadonlyMap<Product, number>): Money {
  let nanos = 0n;
  for (const [{ price }, quantity] of quantities) {
    nanos += ((price?.units ?? 0n) * NANOS_PER_UNIT + BigInt(price?.nanos ?? 0)) * BigInt(quantity);
  }
  return euros(nanos / NANOS_PER_UNIT, Number(nanos % NANOS_PER_UNIT));
}
