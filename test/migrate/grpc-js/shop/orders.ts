import { Order, OrderStatus, orderStatusToJSON } from "../gen/shop/v1/shop";

export const sample: Order = {
  id: "1",
  status: OrderStatus.ORDER_STATUS_UNSPECIFIED,
  items: [{ sku: "a", quantity: 2 }],
  labels: { color: "red" },
  gift: false,
};

export function describeOrder(order: Order): string {
  switch (order.status) {
    case OrderStatus.ORDER_STATUS_OPEN:
      return `open: ${order.items.length}`;
    default:
      return orderStatusToJSON(order.status);
  }
}

export const other = Order.fromPartial({ id: "2", items: [{ sku: "b" }] });
