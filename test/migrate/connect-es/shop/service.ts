import { create } from "@bufbuild/protobuf";
import type { HandlerContext, ServiceImpl } from "@connectrpc/connect";
import {
  GetOrderRequest, Offer, Order, OrderProblemSchema, OrderSchema, OrderStatus, ShopService, WatchOrdersRequest,
} from "../gen/shop/v1/shop_pb.js";
import { Code, ConnectError } from "./rpc.js";

const authorize = (headers: Headers): void => {
  if (headers.get("authorization") !== null) return;
  throw new ConnectError("no token", Code.Unauthenticated, { "x-reason": "no token" });
};

export class Shop implements ServiceImpl<typeof ShopService> {
  readonly #orders = new Map<string, Order>();

  async getOrder(request: GetOrderRequest, context: HandlerContext) {
    authorize(context.requestHeader);
    const order = this.#orders.get(request.id);
    if (!order) {
      throw new ConnectError(`no order ${request.id}`, Code.NotFound, undefined, [
        { desc: OrderProblemSchema, value: { field: "id" } },
      ]);
    }
    return order;
  }

  async *watchOrders(request: WatchOrdersRequest, context: HandlerContext) {
    for (const order of this.#orders.values()) {
      if (context.signal.aborted) break;
      if (order.status === request.status) yield order;
    }
  }

  async placeOrders(requests: AsyncIterable<Order>) {
    const ids: string[] = [];
    for await (const order of requests) {
      this.#orders.set(order.id, create(OrderSchema, { ...order, status: OrderStatus.OPEN }));
      ids.push(order.id);
    }
    return { count: ids.length, ids };
  }

  async *negotiate(requests: AsyncIterable<Offer>) {
    for await (const { price } of requests) yield { price: price - 1 };
  }
}
