import { EventEmitter, once } from "node:events";
import { create } from "@bufbuild/protobuf";
import { Code, createDetail, RpcError } from "triple-es";
import { user } from "./authorize.js";
import { type Order, OrderSchema, OrderStatus, OutOfStockSchema } from "./gen/shop/v1/shop_pb.js";
import type { ShopServiceHandler } from "./gen/shop/v1/shop_triple.js";

/** Creates a shop with ten packets of tea. */
export function createShop(): ShopServiceHandler {
  const stock = new Map([["tea", 10]]);
  const orders: Order[] = [];
  const changes = new EventEmitter().setMaxListeners(0);

  function leftOf(product: string): number {
    const left = stock.get(product);
    if (left === undefined) throw new RpcError(Code.NotFound, `there is no ${product}`);
    return left;
  }

  return {
    placeOrder({ product, quantity }, { values }) {
      if (quantity < 1) throw new RpcError(Code.InvalidArgument, "the quantity must be at least 1");
      const left = leftOf(product);
      if (left < quantity) {
        const details = [createDetail(OutOfStockSchema, { left })];
        throw new RpcError(Code.FailedPrecondition, `only ${left} of ${product} are left`, { details });
      }
      stock.set(product, left - quantity);
      changes.emit("change");
      const id = BigInt(orders.length + 1);
      const customer = values.get(user);
      // A message that is kept is made by `create`; one that is only returned may be a plain object.
      const order = create(OrderSchema, { id, customer, product, quantity, status: OrderStatus.PLACED });
      orders.push(order);
      return { order };
    },

    async *watchStock({ product }, { signal, draining }) {
      // `signal` fires when the caller has left or its deadline has passed, `draining` when the server begins to close.
      const ended = AbortSignal.any([signal, draining]);
      let sent: number | undefined;
      for (;;) {
        const left = leftOf(product);
        if (left !== sent) {
          sent = left;
          // Waits until the connection can send: a slow caller skips values, and nothing is buffered.
          yield { left };
        } else {
          await once(changes, "change", { signal: ended });
        }
      }
    },

    async uploadPicture(requests) {
      let bytes = 0;
      for await (const { chunk } of requests) bytes += chunk.length;
      return { bytes };
    },

    async *chat(requests, { values }) {
      for await (const { text } of requests) yield { text: `${values.get(user)}: ${text}` };
    },
  };
}
