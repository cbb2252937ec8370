import { Injectable } from "@nestjs/common";
import type { HandlerContext } from "triple-es";
import type { ListProductsRequest, PlaceOrderRequest, WatchOrdersRequest } from "../../gen/shop/v1/shop_pb.ts";
import type {
  ListProductsResponseInit,
  PlaceOrderResponseInit,
  ShopServiceHandler,
  WatchOrdersResponseInit,
} from "../../gen/shop/v1/shop_triple.ts";
import { createShop } from "../../shop/shop.ts";
import { currentCustomer } from "./authentication.ts";
import { Sales } from "./sales.ts";

/** The generated interface of the service, implemented by a provider. Nest injects what its constructor takes. */
@Injectable()
export class ShopService implements ShopServiceHandler {
  readonly #shop: ShopServiceHandler = createShop();

  constructor(private readonly sales: Sales) {}

  listProducts(
    request: ListProductsRequest,
    context: HandlerContext,
  ): ListProductsResponseInit | Promise<ListProductsResponseInit> {
    return this.#shop.listProducts(request, context);
  }

  async placeOrder(request: PlaceOrderRequest, context: HandlerContext): Promise<PlaceOrderResponseInit> {
    const customer = context.values.get(currentCustomer);
    const response = await this.#shop.placeOrder({ ...request, customer }, context);
    this.sales.add();
    return response;
  }

  watchOrders(request: WatchOrdersRequest, context: HandlerContext): AsyncIterable<WatchOrdersResponseInit> {
    return this.#shop.watchOrders(request, context);
  }
}
