import { type Item, Order, OrderStatus } from "../gen/shop/v1/shop";

const orders = new Map<string, Order>();

export const gifts: Item[] = [{ sku: "card", quantity: 1 }];

export function open(order: Order): Order {
  const opened: Order = { ...order, status: OrderStatus.ORDER_STATUS_OPEN, items: [...order.items, ...gifts] };
  orders.set(opened.id, opened);
  return opened;
}

export function find(id: string): Order | undefined {
  return orders.get(id);
}

export function withStatus(status: OrderStatus): Order[] {
  return [...orders.values()].filter((order) => order.status === status);
}

export function encode(order: Order): Uint8Array {
  return Order.encode(order).finish();
}

export function decode(bytes: Uint8Array): Order {
  return Order.decode(bytes);
}
