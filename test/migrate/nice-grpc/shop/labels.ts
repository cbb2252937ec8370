import { DeepPartial, Item, Order, OrderStatus } from "../gen/shop/v1/shop";

export function withLabel(order: Order, name: string, value: string): Order {
  return { ...order, labels: { ...order.labels, [name]: value } };
}

export const draft = (items: Item[]): DeepPartial<Order> => ({ id: "draft", items });

export function parse(json: unknown): Order {
  return Order.fromJSON(json);
}

export const isOpen = ({ status }: Order): boolean => status === OrderStatus.ORDER_STATUS_OPEN;
