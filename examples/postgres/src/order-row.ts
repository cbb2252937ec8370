/** Rows as messages. */
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { ClientBase } from "pg";
import { type Money, MoneySchema, type Order, OrderSchema } from "../../gen/shop/v1/shop_pb.ts";

interface OrderRow {
  readonly id: bigint;
  readonly placed_at: Date;
  readonly status: number;
  readonly customer: string;
  readonly total: string;
  readonly street: string | null;
  readonly city: string | null;
  readonly pickup: string | null;
  /** Arrays of bigint arrive as text. */
  readonly product_ids: readonly string[];
  readonly quantities: readonly number[];
}

const ORDERS = `
  SELECT o.id, o.placed_at, o.status, o.customer, o.total, o.street, o.city, o.pickup,
    array_agg(i.product_id ORDER BY i.position) AS product_ids, array_agg(i.quantity ORDER BY i.position) AS quantities
  FROM orders o JOIN order_items i ON i.order_id = o.id`;

/** Returns one order, if it exists. */
export async function findOrder(client: ClientBase, id: bigint): Promise<Order | undefined> {
  const { rows } = await client.query<OrderRow>(`${ORDERS} WHERE o.id = $1 GROUP BY o.id`, [id]);
  return rows.map(orderOf)[0];
}

/** Returns the next orders after an id, in order. */
export async function ordersAfter(client: ClientBase, id: bigint, count: number): Promise<Order[]> {
  const query = `${ORDERS} WHERE o.id > $1 GROUP BY o.id ORDER BY o.id LIMIT $2`;
  return (await client.query<OrderRow>(query, [id, count])).rows.map(orderOf);
}

function orderOf(row: OrderRow): Order {
  return create(OrderSchema, {
    id: row.id,
    placedAt: timestampFromDate(row.placed_at),
    status: row.status as Order["status"],
    customer: row.customer,
    total: euros(row.total),
    items: row.product_ids.map((id, index) => ({ productId: BigInt(id), quantity: row.quantities[index] ?? 0 })),
    delivery: deliveryOf(row),
  });
}

function deliveryOf({ pickup, street, city }: OrderRow): NonNullable<MessageInitShape<typeof OrderSchema>["delivery"]> {
  if (pickup !== null) return { case: "pickup", value: pickup };
  return { case: "address", value: { street: street ?? "", city: city ?? "" } };
}

/** Converts `numeric`, which arrives as text such as 24.50, so that no digit is lost. */
export function euros(text: string): Money {
  const [units = "0", fraction = ""] = text.split(".");
  const NANO_DIGITS = 9;
  const nanos = Number(fraction.padEnd(NANO_DIGITS, "0"));
  return create(MoneySchema, { currencyCode: "EUR", units: BigInt(units), nanos });
}
