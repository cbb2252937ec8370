/**
 * A provider in etcd that counts what it executes: `provider.ts ETCD`. A message of its parent ends it, with the ids in
 * the answer.
 */

import { createServer } from "triple-es/node";
import { register } from "triple-es-dubbo";
import { etcd } from "triple-es-dubbo/etcd";
import { echoService } from "../messages/echo-service.ts";
import { EchoServiceDef } from "../messages/gen/echo_triple.ts";

const [address = ""] = process.argv.slice(2);
const executed: string[] = [];

const server = createServer().add(EchoServiceDef, {
  ...echoService,
  echo(request) {
    executed.push(request.id);
    return request;
  },
});
await server.listen({ port: 0, host: "127.0.0.1" });
const registry = etcd({ servers: [address] });
await register(server, registry, { application: "restarts", warmUp: false }).ready;
process.send?.("ready");
process.once("message", async () => {
  await server.close({ graceMs: 10_000 });
  await registry.close();
  process.send?.(executed, () => process.disconnect());
});
