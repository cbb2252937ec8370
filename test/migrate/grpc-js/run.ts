// The program that the test runs after the migration.
import { main } from "./eliza/client";
import { createElizaServer, start } from "./eliza/server";
import { move } from "./parcel/client";
import { createParcelServer } from "./parcel/server";
import { connect } from "./shop/client";
import { describeOrder, other, sample } from "./shop/orders";

const server = createElizaServer();
const port = await start(server, "127.0.0.1");
await main(`127.0.0.1:${port}`);
const shop = connect(`127.0.0.1:${port}`);
console.log((await shop.place([sample, other])).ids);
console.log(describeOrder(await shop.find("1")), await shop.list(5));
await shop.find("3").catch((error) => console.log(error.code));
server.forceShutdown();
const parcels = createParcelServer();
await move(`127.0.0.1:${await start(parcels, "127.0.0.1")}`);
parcels.forceShutdown();
setTimeout(() => process.exit(0), 100);
