import * as grpc from "@grpc/grpc-js";
import { readFileSync } from "node:fs";
import { GetOrderRequest, Order, OrderStatus, ShopServiceClient, type PlaceOrdersResponse } from "../gen/shop/v1/shop";

export class Shop {
  constructor(private readonly client: ShopServiceClient) {}

  static secure(ca: string): Shop {
    return new Shop(
      new ShopServiceClient("shop.example:443", grpc.credentials.createSsl(readFileSync(ca)), {
        "grpc.keepalive_time_ms": 30_000,
        "grpc.keepalive_timeout_ms": 5_000,
      }),
    );
  }

  find(id: string): Promise<Order> {
    const metadata = new grpc.Metadata();
    metadata.set("authorization", "Bearer secret");
    const request: GetOrderRequest = { id };
    return new Promise((resolve, reject) => {
      this.client.getOrder(request, metadata, (error, response) => (error ? reject(error) : resolve(response)));
    });
  }

  place(orders: Order[]): Promise<PlaceOrdersResponse> {
    return new Promise((resolve, reject) => {
      const stream = this.client.placeOrders((err, res) => {
        if (err) return reject(err);
        resolve(res);
      });
      for (const order of orders) stream.write(order);
      stream.end();
    });
  }

  async list(limit: number): Promise<string[]> {
    const ids: string[] = [];
    const deadline = new Date();
    deadline.setSeconds(deadline.getSeconds() + 5);
    const stream = this.client.watchOrders({ status: OrderStatus.ORDER_STATUS_OPEN, limit }, new grpc.Metadata(), { deadline });
    for await (const order of stream) ids.push((order as Order).id);
    return ids;
  }
}

export function connect(target: string): Shop {
  return new Shop(new ShopServiceClient(target, grpc.credentials.createInsecure()));
}
