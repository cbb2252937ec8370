/**
 * A provider of GreetService that registers in Nacos: `provider.ts NACOS`. It prints its address when it is registered. SIGTERM
 * removes it from Nacos, waits until consumers know, finishes running calls and ends.
 */

import { createServer, type Server } from "triple-es/node";
import { register } from "triple-es-dubbo";
import { nacos } from "triple-es-dubbo/nacos";
import { greetService } from "../demo/service.ts";
import { GreetServiceDef } from "../gen/greet/v1/greet_triple.ts";

const [address = "127.0.0.1:8848"] = process.argv.slice(2);

const server: Server = createServer().add(GreetServiceDef, {
  ...greetService,
  greet: ({ name }) => ({ greeting: `Hello, ${name}, from port ${server.address.port}!` }),
});
// On a real network, leave the host out: then the server listens on all addresses and registers that of its machine.
await server.listen({ port: 0, host: "127.0.0.1" });

const registry = nacos({ servers: [address] });
// Without warm-up, a new provider gets its whole share of calls at once.
const registration = register(server, registry, { application: "greet-example", warmUp: false });

process.once("SIGTERM", async () => {
  await server.close({ graceMs: 10_000 });
  await registry.close();
});
await registration.ready;
console.log(`registered ${server.address.address}:${server.address.port}`);
