/** A customer with a token, and two services with certificates. */
import { createTransport } from "triple-es/node";
import { createShopServiceClient } from "../../gen/shop/v1/shop_triple.ts";
import { bearer, type Token } from "./bearer.ts";
import { certificateFiles } from "./certificate-files.ts";
import { PORTS } from "./configuration.ts";

const { caFile } = certificateFiles("warehouse");

/** Asks the identity provider for a token. A real program sends its credentials. */
async function fetchToken(user: string, scope: string, seconds: number): Promise<Token> {
  const query = new URLSearchParams({ user, scope, seconds: String(seconds) });
  const response = await fetch(`http://127.0.0.1:${PORTS.issuer}/token?${query}`);
  if (!response.ok) throw new Error(`the identity provider answers ${response.status}`);
  const { access_token, expires_in } = await response.json();
  return { value: access_token, expiresAt: Date.now() + expires_in * 1_000 };
}

const baseUrl = `https://localhost:${PORTS.customers}`;
const delivery = { case: "pickup", value: "Main street" } as const;
const order = { items: [{ productId: 1n, quantity: 1 }], delivery };

// A customer without a token, with a token that has expired, without a scope, and with a token that renews itself.
{
  const transport = createTransport({ baseUrl, tls: { caFile } });
  const shop = createShopServiceClient(transport);
  await shop.listProducts({}).catch((error) => console.log(error.message));

  const { value } = await fetchToken("ann", "orders", -60);
  const headers = { authorization: `Bearer ${value}` };
  await shop.listProducts({}, { headers }).catch((error) => console.log(error.message));
  await transport.close();
}
{
  const interceptors = [bearer(() => fetchToken("bob", "", 300))];
  const transport = createTransport({ baseUrl, tls: { caFile }, interceptors });
  await createShopServiceClient(transport)
    .placeOrder(order)
    .catch((error) => console.log(error.message));
  await transport.close();
}
{
  let tokens = 0;
  // The first token has expired when it arrives, as after a long pause.
  const renewed = bearer(() => fetchToken("ann", "orders", tokens++ === 0 ? -60 : 300));
  const transport = createTransport({ baseUrl, tls: { caFile }, interceptors: [renewed] });
  const answer = await createShopServiceClient(transport).placeOrder(order);
  console.log(`order ${answer.order?.id} of ${answer.order?.customer}, with token ${tokens}`);
  await transport.close();
}

// Services: the warehouse may watch orders, reporting may not, and the stranger's certificate has an unknown issuer.
for (const name of ["warehouse", "reporting", "stranger"]) {
  const transport = createTransport({ baseUrl: `https://localhost:${PORTS.services}`, tls: certificateFiles(name) });
  const shop = createShopServiceClient(transport);
  try {
    for await (const { order } of shop.watchOrders({})) {
      console.log(`${name}: order ${order?.id} of ${order?.customer}`);
      break;
    }
  } catch (error) {
    console.log(`${name}: ${error instanceof Error ? error.message : error}`);
  }
  await transport.close();
}
