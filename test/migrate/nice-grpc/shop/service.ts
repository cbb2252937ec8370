import { CallContext, Metadata, ServerError, Status } from "nice-grpc";
import {
  DeepPartial, GetOrderRequest, Offer, Order, OrderStatus, PlaceOrdersResponse, ServerStreamingMethodResult,
  ShopServiceImplementation, WatchOrdersRequest,
} from "../gen/shop/v1/shop";

export class ShopImpl implements ShopServiceImplementation {
  private readonly orders = new Map<string, Order>();

  async getOrder(request: GetOrderRequest, context: CallContext): Promise<DeepPartial<Order>> {
    const order = this.orders.get(request.id);
    if (order === undefined) {
      throw new ServerError(Status.NOT_FOUND, `no order ${request.id}`);
    }
    context.header.set("x-user", context.metadata.get("x-user") ?? "nobody");
    context.trailer.set("x-peer", String(context.peer !== ""));
    return order;
  }

  async *watchOrders(request: WatchOrdersRequest, { signal }: CallContext): ServerStreamingMethodResult<DeepPartial<Order>> {
    for (const order of this.orders.values()) {
      if (signal.aborted) return;
      if (order.status === request.status) yield order;
    }
  }

  async placeOrders(requests: AsyncIterable<Order>): Promise<DeepPartial<PlaceOrdersResponse>> {
    for await (const order of requests) {
      this.orders.set(order.id, { ...order, status: OrderStatus.ORDER_STATUS_OPEN });
    }
    return { count: this.orders.size, ids: [...this.orders.keys()] };
  }

  async *negotiate(requests: AsyncIterable<Offer>): ServerStreamingMethodResult<DeepPartial<Offer>> {
    for await (const { price } of requests) yield { price: price - 1 };
  }
}

export const noMetadata = Metadata();
