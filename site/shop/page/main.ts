import { createTransport } from "triple-es/proto";
import { createShopServiceClient } from "../src/gen/shop/v1/shop_triple.js";
import { withToken } from "../src/interceptors.js";

// Unary calls and server streaming by `fetch`.
const transport = createTransport({ baseUrl: "http://localhost:8080", interceptors: [withToken("secret")] });
const shop = createShopServiceClient(transport);
for await (const { left } of shop.watchStock({ product: "tea" })) document.body.textContent = `${left} packets of tea`;
