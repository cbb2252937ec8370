import { type CallOptions, ClientError, Metadata, Status } from "nice-grpc";
import { Order, OrderStatus, type ShopServiceClient } from "../gen/shop/v1/shop";

export async function place(client: ShopServiceClient, ids: string[]): Promise<number> {
  async function* requests() {
    for (const id of ids) yield { id, items: [{ sku: "a", quantity: 1 }] };
  }
  const { count } = await client.placeOrders(requests());
  return count;
}

export async function show(client: ShopServiceClient, id: string): Promise<string> {
  let user: string | undefined;
  const options: CallOptions = {
    metadata: Metadata().set("x-test", "1"),
    onHeader(header: Metadata) {
      user = header.get("x-user");
    },
  };
  try {
    const order: Order = await client.getOrder({ id }, options);
    return `${order.id} ${OrderStatus[order.status]} ${user}`;
  } catch (error) {
    if (error instanceof ClientError && error.code === Status.NOT_FOUND) return error.details;
    throw error;
  }
}

export async function list(client: ShopServiceClient): Promise<string[]> {
  const abort = new AbortController();
  const ids: string[] = [];
  for await (const { id } of client.watchOrders({ status: OrderStatus.ORDER_STATUS_OPEN }, { signal: abort.signal })) {
    ids.push(id);
  }
  return ids;
}
