import { timestampDate } from "@bufbuild/protobuf/wkt";
import type { Order, OrderItem } from "../../gen/shop/v1/shop_pb.ts";
import { format } from "./money.ts";
import { useLiveOrders, useProduct } from "./queries.ts";

/** The orders of all customers. New ones appear when they are placed. */
export function OrderList() {
  const { data: orders, isSuccess, isFetching } = useLiveOrders();
  return (
    <section>
      <h2>Orders</h2>
      <p>{isSuccess && isFetching ? "live" : "connecting …"}</p>
      <ol>
        {orders?.map((order) => (
          <OrderRow key={String(order.id)} order={order} />
        ))}
      </ol>
    </section>
  );
}

function OrderRow({ order: { customer, items, placedAt, total } }: { readonly order: Order }) {
  return (
    <li>
      {placedAt && timestampDate(placedAt).toLocaleTimeString("en")} {customer}:{" "}
      {items.map((item) => (
        <Item key={String(item.productId)} item={item} />
      ))}
      {total && format(total)}
    </li>
  );
}

function Item({ item: { productId, quantity } }: { readonly item: OrderItem }) {
  const { data: product } = useProduct(productId);
  return (
    <span>
      {quantity} × {product?.name ?? "…"},{" "}
    </span>
  );
}
