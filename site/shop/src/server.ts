import { addHealth } from "triple-es/health";
import { createServer } from "triple-es/node";
import { authorize } from "./authorize.js";
import { ShopServiceDef } from "./gen/shop/v1/shop_triple.js";
import { logged } from "./interceptors.js";
import { createShop } from "./shop.js";

const server = createServer({
  authorize,
  interceptors: [logged],
  // The origins of pages that another server serves, or "*" in place of the list.
  cors: { origins: ["http://localhost:5173"] },
});
server.add(ShopServiceDef, createShop());
// The service grpc.health.v1.Health, and for GET the paths /healthz and /readyz.
addHealth(server, { probes: true });
await server.listen({ port: Number(process.env["PORT"] ?? 8080) });
console.log(`listening on port ${server.address.port}`);
for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => server.close({ graceMs: 10_000 }));
