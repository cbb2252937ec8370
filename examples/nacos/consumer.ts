/**
 * A consumer that finds the providers of GreetService in Nacos and calls them without a pause: `consumer.ts NACOS`. Each second it
 * prints the calls by provider; SIGTERM ends it with the sum.
 */

import { createTransport } from "triple-es/node";
import { nacos } from "triple-es-dubbo/nacos";
import { createGreetServiceClient } from "../gen/greet/v1/greet_triple.ts";

const [address = "127.0.0.1:8848"] = process.argv.slice(2);
const CALLERS = 10;

const registry = nacos({ servers: [address] });
const transport = createTransport({
  registry,
  onEndpoint: (event) => event.type === "resolved" && console.log(`${event.endpoints} providers`),
});
const client = createGreetServiceClient(transport);

let isStopped = false;
let calls = 0;
let failed = 0;
const byPort = new Map<string, number>();

async function callRepeatedly(): Promise<void> {
  while (!isStopped) {
    calls++;
    try {
      const { greeting } = await client.greet({ name: "Ada" }, { timeoutMs: 10_000 });
      const port = /\d+/.exec(greeting)?.[0] ?? "";
      byPort.set(port, (byPort.get(port) ?? 0) + 1);
    } catch (error) {
      failed++;
      console.error(error);
    }
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

const timer = setInterval(() => {
  console.log([...byPort].map(([port, count]) => `${port}: ${count}`).join(", "));
  byPort.clear();
}, 1_000);
process.once("SIGTERM", () => {
  isStopped = true;
});
await Promise.all(Array.from({ length: CALLERS }, callRepeatedly));
clearInterval(timer);
await transport.close();
await registry.close();
console.log(`${calls} calls, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;
