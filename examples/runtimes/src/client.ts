/** Calls the shop over HTTP RPC and gRPC: the same program runs in Bun, Deno and Node. */
import process from "node:process";
import { createTransport } from "triple-es/node";
import { createShopServiceClient } from "../../gen/shop/v1/shop_triple.ts";

const baseUrl = `http://localhost:${process.env["PORT"] ?? 50051}`;
console.log(`${navigator.userAgent} calls ${baseUrl}`);

const http = createTransport({ baseUrl, protocol: "http-rpc" });
const { products } = await createShopServiceClient(http).listProducts({});
console.log(`HTTP RPC: ${products.map(({ name }) => name).join(", ")}`);
await http.close();

const grpc = createTransport({ baseUrl });
const shop = createShopServiceClient(grpc);
const delivery = { case: "pickup" as const, value: "Main street" };
const { order: placed } = await shop.placeOrder({ customer: "Ann", items: [{ productId: 2n, quantity: 2 }], delivery });
console.log(`gRPC: order ${placed?.id} costs ${placed?.total?.units} ${placed?.total?.currencyCode}`);
await shop.placeOrder({ customer: "Bob", delivery }).catch((error) => console.log(`gRPC: ${error.message}`));
for await (const { order } of shop.watchOrders({ afterId: (placed?.id ?? 1n) - 1n })) {
  console.log(`gRPC: order ${order?.id} of ${order?.customer}`);
  break;
}
await grpc.close();
