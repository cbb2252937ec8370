// The program that the test runs after the migration.
import { list, place, show } from "./shop/calls";
import { connect, createPatientClient, createShopClient } from "./shop/clients";
import { describeEvent, events } from "./shop/events";
import { serve } from "./shop/server";

const { server, port } = await serve();
const channel = connect(`127.0.0.1:${port}`);
const client = createShopClient(channel);
console.log(await place(client, ["1", "2"]));
console.log(await show(client, "1"), await show(client, "3"));
console.log(await list(client));
await show(createPatientClient(channel), "1").catch((error) => console.log(error.code));
console.log([undefined, ...events("x"), ...events()].map(describeEvent).join(", "));
channel.close();
await server.shutdown();
