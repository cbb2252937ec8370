/** Calls the shop over each protocol, and the HTTP controller. */
import { createTransport as createFetchTransport } from "triple-es/fetch";
import { createTransport } from "triple-es/node";
import { createShopServiceClient } from "../../gen/shop/v1/shop_triple.ts";

const http = `http://localhost:${process.env["PORT"] ?? 3000}`;
const baseUrl = `http://localhost:${process.env["RPC_PORT"] ?? 50051}`;
const grpc = createTransport({ baseUrl });
const order = { items: [{ productId: 1n, quantity: 1 }], delivery: { case: "pickup" as const, value: "Main street" } };

await createShopServiceClient(grpc)
  .listProducts({})
  .catch((error) => console.log(error.message));

const ann = createShopServiceClient(grpc, { headers: { authorization: "Bearer token-of-ann" } });
console.log(`over gRPC: order ${(await ann.placeOrder(order)).order?.id} of Ann`);

const headers = { authorization: "Bearer token-of-bob" };
const bob = createShopServiceClient(createFetchTransport({ baseUrl }), { headers });
console.log(`over HTTP RPC: order ${(await bob.placeOrder(order)).order?.id} of Bob`);
for await (const { order } of bob.watchOrders({})) {
  console.log(`over gRPC-Web: order ${order?.id} of ${order?.customer}`);
  if (order?.id === 2n) break;
}
console.log(`over HTTP: ${await (await fetch(`${http}/sales`)).text()}`);
await grpc.close();
