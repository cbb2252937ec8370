// The program that the test runs after the migration.
import type { AddressInfo } from "node:net";
import { main } from "./eliza/client.js";
import { serve } from "./eliza/server.js";
import { run } from "./shop/spec.js";

const server = await serve(0);
await main(`http://127.0.0.1:${(server.address() as AddressInfo).port}`).catch((error: unknown) => console.log(String(error)));
console.log(await run());
server.close();
setTimeout(() => process.exit(0), 100);
