/** One port for the page, its calls, `curl` and gRPC: `npm start` builds the page and starts this server. */
import sirv from "sirv";
import { createServer } from "triple-es/node";
import { ShopServiceDef } from "../gen/shop/v1/shop_triple.ts";
import { createShop } from "../shop/shop.ts";

// Requests that are not calls are answered with the files of the page.
const server = createServer({ fallback: sirv("dist") }).add(ShopServiceDef, createShop());
await server.listen({ port: Number(process.env["PORT"] ?? 8080) });
console.log(`the shop is open at http://localhost:${server.address.port}`);
for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => server.close({ graceMs: 2_000 }));
