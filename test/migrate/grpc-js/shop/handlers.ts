import * as grpc from "@grpc/grpc-js";
import { Offer, Order, PlaceOrdersResponse, type ShopServiceServer } from "../gen/shop/v1/shop";
import { withReason } from "./errors";
import * as store from "./store";

async function lookUp(id: string): Promise<Order | undefined> {
  return store.find(id);
}

export const shop: ShopServiceServer = {
  async getOrder(call, callback) {
    try {
      const token = call.metadata.get("authorization")[0];
      if (token === undefined) {
        return callback({ code: grpc.status.UNAUTHENTICATED, message: "no token", metadata: withReason("token") });
      }
      const { id } = call.request;
      const order = await lookUp(id);
      if (!order) {
        callback({ code: grpc.status.NOT_FOUND, message: `no order ${id}` });
        return;
      }
      const header = new grpc.Metadata();
      header.set("x-shop", "1");
      call.sendMetadata(header);
      callback(null, order);
    } catch (error) {
      callback(error as grpc.ServiceError);
    }
  },

  async watchOrders(call) {
    let sent = 0;
    for (const order of store.withStatus(call.request.status)) {
      if (call.cancelled || sent++ === call.request.limit) break;
      call.write(order);
    }
    call.end();
  },

  placeOrders: (call, callback) => {
    const ids: string[] = [];
    call.on("data", (order: Order) => {
      ids.push(store.open(order).id);
    });
    call.on("end", () => {
      callback(null, PlaceOrdersResponse.fromPartial({ count: ids.length, ids }));
    });
  },

  negotiate: async (call: grpc.ServerDuplexStream<Offer, Offer>) => {
    for await (const offer of call) {
      call.write({ price: offer.price - 1 });
    }
    call.end();
  },
};
