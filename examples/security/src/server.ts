/**
 * A shop with two ports: customers send a token, services have a client certificate. SIGHUP reloads the certificate of the
 * server, SIGTERM closes it.
 */
import { createRemoteJWKSet } from "jose";
import { Code, RpcError } from "triple-es";
import { createServer } from "triple-es/node";
import { ShopServiceDef, type ShopServiceHandler } from "../../gen/shop/v1/shop_triple.ts";
import { createShop } from "../../shop/shop.ts";
import { authenticate, currentUser, requireScope } from "./authentication.ts";
import { allowOnly } from "./authorization.ts";
import { ReloadedCertificate } from "./certificate-files.ts";
import { PORTS } from "./configuration.ts";
import { startIssuer } from "./issuer.ts";

const shop = createShop();
const issuer = await startIssuer(PORTS.issuer);
const keys = createRemoteJWKSet(new URL("/jwks.json", issuer));
const certificate = new ReloadedCertificate("server");

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

const customers = createServer({ tls: certificate.options(), interceptors: [authenticate(keys)] });
customers.add(ShopServiceDef, forCustomers);

const services = createServer({
  // Clients without a certificate of our authority are refused during the handshake.
  tls: { ...certificate.options(), requestCert: true, rejectUnauthorized: true },
  onTlsError: (error) => console.log(`refused a client: ${error.message}`),
  interceptors: [
    allowOnly({
      ListProducts: ["spiffe://shop.example/warehouse", "spiffe://shop.example/reporting"],
      WatchOrders: ["spiffe://shop.example/warehouse"],
    }),
  ],
});
services.add(ShopServiceDef, shop);

process.on("SIGHUP", () => {
  try {
    certificate.reload();
    console.log("the certificate is reloaded");
  } catch (error) {
    console.error("the certificate cannot be reloaded", error);
  }
});
process.once("SIGTERM", () => Promise.all([customers.close({ graceMs: 5_000 }), services.close({ graceMs: 5_000 })]));

await customers.listen({ port: PORTS.customers, host: "127.0.0.1" });
await services.listen({ port: PORTS.services, host: "127.0.0.1" });
console.log(`customers: https://localhost:${customers.address.port}`);
console.log(`services: https://localhost:${services.address.port}`);
console.log(`tokens: ${issuer}/token`);
console.log(`kill -HUP ${process.pid} reloads the certificate`);
