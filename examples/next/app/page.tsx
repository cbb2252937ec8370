import { createInMemoryTransport } from "triple-es";
import { createShopServiceClient } from "../../gen/shop/v1/shop_triple.ts";
import { router } from "./router.ts";
import { Shop } from "./shop.tsx";

/** The products change with each order, so the page is rendered for each request. */
export const dynamic = "force-dynamic";

const shop = createShopServiceClient(createInMemoryTransport(router));

/** A server component calls the service in its own process, without a network. */
export default async function Page() {
  const { products } = await shop.listProducts({});
  // React passes properties from the server to the browser, including `bigint`. Messages are passed field by field.
  return (
    <>
      <h1>Shop</h1>
      <Shop products={products.map(({ id, name, stock }) => ({ id, name, stock }))} />
    </>
  );
}
