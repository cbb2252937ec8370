/** Serves the shop. Start it several times: all servers share the database, and watchers of one see the orders of all. */
import { addHealth } from "triple-es/health";
import { createServer } from "triple-es/node";
import { ShopServiceDef } from "../../gen/shop/v1/shop_triple.ts";
import { DATABASE_URL, PORT } from "./configuration.ts";
import { Database } from "./database.ts";
import { OrderFeed } from "./order-feed.ts";
import { createShop } from "./shop.ts";

const database = new Database(DATABASE_URL);
const feed = new OrderFeed(DATABASE_URL);
await feed.open();

const server = createServer().add(ShopServiceDef, createShop(database, feed));
addHealth(server, { probes: true });
await server.listen({ port: PORT, host: "127.0.0.1" });
console.log(`the shop is open at http://localhost:${server.address.port}`);

process.once("SIGTERM", async () => {
  // Watchers end at once, running transactions within five seconds; the database is closed after the last one.
  await server.close({ graceMs: 5_000 });
  await feed.close();
  await database.close();
  console.log("the shop is closed");
});
