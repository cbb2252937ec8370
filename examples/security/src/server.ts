/**
 * A shop with two ports: customers send a token, services have a client certificate. SIGTERM closes both.
 */
import { createRemoteJWKSet } from "jose";
import { Code, RpcError } from "triple-es";
import { createServer } from "triple-es/node";
import { ShopServiceDef, type ShopServiceHandler } from "../../gen/shop/v1/shop_triple.ts";
import { createShop } from "../../shop/shop.ts";
import { authenticate, currentUser, requireScope } from "./authentication.ts";
import { allowOnly } from "./authorization.ts";
import { certificateFiles } from "./certificate-files.ts";
import { PORTS } from "./configuration.ts";
import { startIssuer } from "./issuer.ts";

const shop = createShop();
const issuer = await startIssuer(PORTS.issuer);
const keys = createRemoteJWKSet(new URL("/jwks.json", issuer));
const tls = certificateFiles("server");

/** The shop for customers: orders need the scope `orders`, and are placed under the customer's own name. */
const forCustomers: ShopServiceHandler = {
  ...shop,
  placeOrder(request, context) {
    const user = context.values.get(currentUser);
    requireScope(user, "orders");
    return shop.placeOrder({ ...request, customer: user.id }, context);
  },
  watchOrders() {
    throw new RpcError(Code.PermissionDenied, "only services may watch the orders of all customers");
  },
};

const customers = createServer({ tls, interceptors: [authenticate(keys)] });
customers.add(ShopServiceDef, forCustomers);

const services = createServer({
  // Clients without a certificate of our authority are refused during the handshake.
  tls: { ...tls, requestCert: true },
  onTlsError: (error) => console.log(`refused a client: ${error.message}`),
  interceptors: [
    allowOnly({
      ListProducts: ["spiffe://shop.example/warehouse", "spiffe://shop.example/reporting"],
      WatchOrders: ["spiffe://shop.example/warehouse"],
    }),
  ],
});
services.add(ShopServiceDef, shop);

process.once("SIGTERM", () => Promise.all([customers.close({ graceMs: 5_000 }), services.close({ graceMs: 5_000 })]));

await customers.listen({ port: PORTS.customers, host: "127.0.0.1" });
await services.listen({ port: PORTS.services, host: "127.0.0.1" });
console.log(`customers: https://localhost:${customers.address.port}`);
console.log(`services: https://localhost:${services.address.port}`);
console.log(`tokens: ${issuer}/token`);
