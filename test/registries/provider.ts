/**
 * A provider in a process of its own, which can be killed and stopped: `provider.ts KIND ADDRESS APPLICATION`. It prints its
 * port when it is registered, and answers with its port.
 */
import type { Registry } from "triple-es/discovery";
import { createServer } from "triple-es/node";
import { register } from "triple-es-dubbo";
import { etcd } from "triple-es-dubbo/etcd";
import { nacos } from "triple-es-dubbo/nacos";
import { zookeeper } from "triple-es-dubbo/zookeeper";
import { GreetServiceDef, type GreetServiceHandler } from "../../examples/gen/greet/v1/greet_triple.ts";

const [kind, address = "", application = ""] = process.argv.slice(2);

const servers = [address];
const connect: Readonly<Record<string, () => Registry>> = {
  etcd: () => etcd({ servers, ttlMs: 1_000 }),
  // Its entries stay for a minute after it has stopped to renew them.
  "etcd-slow": () => etcd({ servers, ttlMs: 60_000 }),
  nacos: () => nacos({ servers }),
  zookeeper: () => zookeeper({ servers, sessionTimeoutMs: 1_000 }),
};
const registry = connect[kind ?? ""]?.();
if (registry === undefined) throw new Error(`there is no registry ${kind}`);

const unused = (): never => {
  throw new Error("only greet is called");
};
const handler: GreetServiceHandler = {
  greet: () => ({ greeting: String(server.address.port) }),
  greetEach: unused,
  greetTogether: unused,
  greetOnArrival: unused,
};
const server = createServer().add(GreetServiceDef, handler);
await server.listen({ port: 0, host: "127.0.0.1" });
const registration = register(server, registry, { application, warmUp: false });
await registration.ready;
console.log(`READY ${server.address.port}`);
process.once("SIGTERM", async () => {
  await server.close({ graceMs: 5_000 });
  await registry.close();
});
