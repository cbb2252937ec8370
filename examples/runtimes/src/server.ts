/** Serves the shop over gRPC and HTTP RPC, with the module for Node: the same program runs in Bun, Deno and Node. */
import process from "node:process";
import { createServer } from "triple-es/node";
import { ShopServiceDef } from "../../gen/shop/v1/shop_triple.ts";
import { createShop } from "../../shop/shop.ts";

const server = createServer().add(ShopServiceDef, createShop());
await server.listen({ port: Number(process.env["PORT"] ?? 50051), host: "127.0.0.1" });
console.log(`${navigator.userAgent} serves the shop at http://localhost:${server.address.port}`);

process.once("SIGTERM", async () => {
  await server.close({ graceMs: 5_000 });
  console.log("the shop is closed");
  process.exit();
});
