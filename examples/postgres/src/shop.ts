/** The shop: its methods are transactions. */
import { createHash } from "node:crypto";
import { toBinary } from "@bufbuild/protobuf";
import type { ClientBase } from "pg";
import { Code, RpcError } from "triple-es";
import { type Order, type PlaceOrderRequest, PlaceOrderRequestSchema } from "../../gen/shop/v1/shop_pb.ts";
import type { ShopServiceHandler } from "../../gen/shop/v1/shop_triple.ts";
import { checkOrder } from "../../shop/shop.ts";
import type { Database } from "./database.ts";
import type { OrderFeed } from "./order-feed.ts";
import { euros, findOrder, ordersAfter } from "./order-row.ts";

/** Orders that are read at once. */
const PAGE = 100;

export function createShop(database: Database, feed: OrderFeed): ShopServiceHandler {
  return {
    listProducts: (_request, { signal }) =>
      database.transaction(signal, async (client) => {
        const { rows } = await client.query("SELECT id, name, price, stock FROM products ORDER BY id");
        return { products: rows.map(({ id, name, price, stock }) => ({ id, name, price: euros(price), stock })) };
      }),

    async placeOrder(request, { signal, requestHeaders }) {
      checkOrder(request);
      const key = requestHeaders.get("idempotency-key") ?? null;
      return { order: await database.transaction(signal, (client) => placeOrder(client, request, key)) };
    },

    async *watchOrders({ afterId }, { signal, draining }) {
      // The feed is watched before the stored orders are read, so that none is missed between the two.
      const watch = feed.watch(AbortSignal.any([signal, draining]));
      try {
        const sent = new Map<bigint, Order["status"]>();
        for (let after = afterId; ; ) {
          const page = await database.transaction(signal, (client) => ordersAfter(client, after, PAGE));
          for (const order of page) {
            sent.set(order.id, order.status);
            after = order.id;
            yield { order };
          }
          if (page.length < PAGE) break;
        }
        for (;;) {
          const id = await watch.next();
          const order = await database.transaction(signal, (client) => findOrder(client, id));
          // An order that was placed after the watch began can be among the stored ones.
          if (order !== undefined && sent.get(id) !== order.status) yield { order };
          sent.delete(id);
        }
      } finally {
        watch.close();
      }
    },
  };
}

async function placeOrder(
  client: ClientBase,
  request: PlaceOrderRequest,
  key: string | null,
): Promise<Order | undefined> {
  const { customer, items, delivery } = request;
  const fingerprint = createHash("sha256").update(toBinary(PlaceOrderRequestSchema, request)).digest();
  // A repeated request gets the order that the first one has placed.
  const repeated = await client.query("SELECT id FROM orders WHERE idempotency_key = $1 AND fingerprint = $2", [
    key,
    fingerprint,
  ]);
  if (repeated.rows[0] !== undefined) return findOrder(client, repeated.rows[0].id);

  const address = delivery.case === "address" ? delivery.value : undefined;
  const pickup = delivery.case === "pickup" ? delivery.value : undefined;
  const inserted = await client.query(
    `INSERT INTO orders (customer, total, street, city, pickup, idempotency_key, fingerprint)
     VALUES ($1, 0, $2, $3, $4, $5, $6) RETURNING id`,
    [customer, address?.street, address?.city, pickup, key, fingerprint],
  );
  const id: bigint = inserted.rows[0].id;
  for (const [position, { productId, quantity }] of items.entries()) {
    await takeFromStock(client, productId, quantity);
    await client.query("INSERT INTO order_items VALUES ($1, $2, $3, $4)", [id, position, productId, quantity]);
  }
  await client.query(
    `UPDATE orders SET total = (SELECT sum(price * quantity) FROM order_items JOIN products ON products.id = product_id
     WHERE order_id = $1) WHERE id = $1`,
    [id],
  );
  return findOrder(client, id);
}

async function takeFromStock(client: ClientBase, productId: bigint, quantity: number): Promise<void> {
  const { rows } = await client.query("SELECT name, stock FROM products WHERE id = $1", [productId]);
  if (rows[0] === undefined) throw new RpcError(Code.NotFound, `there is no product ${productId}`);
  const { name, stock } = rows[0];
  if (stock < quantity) throw new RpcError(Code.FailedPrecondition, `only ${stock} of ${name} are left`);
  await client.query("UPDATE products SET stock = stock - $2 WHERE id = $1", [productId, quantity]);
}
