import { credentials } from "@grpc/grpc-js";
import { Order, OrderStatus, ShopServiceClient, WatchOrdersRequest } from "../gen/shop/v1/shop";

const client = new ShopServiceClient("localhost:50051", credentials.createInsecure());

export function watch(onOrder: (order: Order) => void): void {
  client
    .watchOrders(WatchOrdersRequest.create({ status: OrderStatus.ORDER_STATUS_SHIPPED }))
    .on("data", onOrder)
    .on("end", () => console.log("done"));
}

export function watchNew(): void {
  client
    .watchOrders({ status: OrderStatus.ORDER_STATUS_OPEN, limit: 1 })
    .on("data", (order: Order) => console.log(order.id))
    .on("error", (error) => console.error(error));
}
