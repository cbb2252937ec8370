import type { Metadata } from "@grpc/grpc-js";
import { Controller, UseFilters, UseGuards } from "@nestjs/common";
import { GrpcMethod } from "@nestjs/microservices";
import { filter, map, type Observable } from "rxjs";
import type { ListProductsRequest, PlaceOrderRequest, WatchOrdersRequest } from "../../gen/shop/v1/shop_pb.ts";
import type {
  ListProductsResponseInit,
  PlaceOrderResponseInit,
  WatchOrdersResponseInit,
} from "../../gen/shop/v1/shop_triple.ts";
import { CustomerGuard, Customers } from "./customer.guard.ts";
import { Orders } from "./orders.ts";
import { RpcErrorFilter } from "./rpc-error.filter.ts";

/** The RPC methods, with a guard and a filter of Nest. */
@Controller()
@UseGuards(CustomerGuard)
@UseFilters(RpcErrorFilter)
export class ShopController {
  constructor(
    private readonly customers: Customers,
    private readonly orders: Orders,
  ) {}

  @GrpcMethod("ShopService")
  listProducts(_request: ListProductsRequest): ListProductsResponseInit {
    return { products: [{ id: 1n, name: "Teapot" }] };
  }

  @GrpcMethod("ShopService")
  placeOrder(request: PlaceOrderRequest, metadata: Metadata): PlaceOrderResponseInit {
    const customer = this.customers.nameOf(metadata) as string;
    return { order: this.orders.place({ ...request, customer }) };
  }

  @GrpcMethod("ShopService")
  watchOrders({ afterId }: WatchOrdersRequest): Observable<WatchOrdersResponseInit> {
    return this.orders.placed.pipe(
      filter(({ id }) => id > afterId),
      map((order) => ({ order })),
    );
  }
}
