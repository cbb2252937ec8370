import { create } from "@bufbuild/protobuf";
import { Injectable } from "@nestjs/common";
import { ReplaySubject } from "rxjs";
import { type Order, OrderSchema, type PlaceOrderRequest } from "../../gen/shop/v1/shop_pb.ts";
import { checkOrder } from "../../shop/shop.ts";

/** Keeps the orders. RPC methods and the HTTP controller share it. */
@Injectable()
export class Orders {
  /** All orders: those that were placed, then each new one. */
  readonly placed = new ReplaySubject<Order>();
  count = 0;

  /** Places an order. Throws an `RpcError` for an invalid one. */
  place(request: PlaceOrderRequest): Order {
    checkOrder(request);
    const { customer, items, delivery } = request;
    const order = create(OrderSchema, { id: BigInt(++this.count), customer, items, delivery });
    this.placed.next(order);
    return order;
  }
}
