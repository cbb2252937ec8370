import { Code, findDetails, RpcError } from "triple-es";
import { createTransport } from "triple-es/node";
import { OutOfStockSchema } from "./gen/shop/v1/shop_pb.js";
import { createShopServiceClient } from "./gen/shop/v1/shop_triple.js";
import { withToken } from "./interceptors.js";

// gRPC over HTTP/2; connects on the first call, and again after a failure.
const transport = createTransport({
  baseUrl: process.env["SERVER_URL"] ?? "http://localhost:8080",
  interceptors: [withToken("secret")],
});
// The timeout of each call; a call may have another.
const shop = createShopServiceClient(transport, { timeoutMs: 2_000 });

const { order } = await shop.placeOrder({ product: "tea", quantity: 2 }, { timeoutMs: 1_000 });
console.log(order?.id, order?.customer); // 1n Ann

try {
  await shop.placeOrder({ product: "tea", quantity: 20 });
} catch (error) {
  if (!(error instanceof RpcError) || error.code !== Code.FailedPrecondition) throw error;
  console.log(error.rawMessage); // only 8 of tea are left
  for (const { left } of findDetails(error, OutOfStockSchema)) console.log(left); // 8
}

for await (const { left } of shop.watchStock({ product: "tea" })) {
  console.log(left); // 8
  break; // cancels the call
}
await transport.close();
