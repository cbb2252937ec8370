import { createRouter, type Router } from "triple-es";
import { ShopServiceDef } from "../../gen/shop/v1/shop_triple.ts";
import { createShop } from "../../shop/shop.ts";

// Next loads this module once for pages and once for routes. Both must use the same shop, because it is in memory.
const shared = globalThis as { router?: Router };
shared.router ??= createRouter().add(ShopServiceDef, createShop());

export const router: Router = shared.router;
