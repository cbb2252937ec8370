/**
 * The latency of a well-behaved client beside an attack with frames of HTTP/2, and without it, in turns in one run. In the
 * first table another client attacks the same server; in the second one another server attacks the process of the client.
 *
 *     npm run bench:attack -- http2 [--only TEXT] [--rounds 5] [--seconds 1] [--connections 2]
 *
 * Run it on a machine with nothing else to do. The attacker takes a CPU of its own as long as it is not slowed down.
 */
import { parseArgs } from "node:util";
import { Child } from "../child.ts";
import type { Orders } from "./http2-attacker.ts";
import { CLIENT_ATTACKS, type Http2Attack, SERVER_ATTACKS } from "./http2-attacks.ts";

const { values } = parseArgs({
  options: {
    only: { type: "string", default: "" },
    rounds: { type: "string", default: "5" },
    seconds: { type: "string", default: "1" },
    connections: { type: "string", default: "2" },
  },
});
const [rounds, seconds] = [Number(values.rounds), Number(values.seconds)];

const [server, attacker, client] = await Promise.all([
  Child.start(new URL("server.ts", import.meta.url)),
  Child.start(new URL("http2-attacker.ts", import.meta.url)),
  Child.start(new URL("http2-client.ts", import.meta.url)),
]);
const port = await server.ask<number>("port");
await client.ask("start", { port, attacker: await attacker.ask<number>("port") });
await client.ask("measure", 2);

function p99(times: readonly number[]): number {
  const sorted = times.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length * 0.99)] ?? Number.NaN;
}

async function run(role: "server" | "client", attacks: readonly Http2Attack[]): Promise<void> {
  console.log(`\n${`attacked: a ${role}`.padEnd(34)}  p99 quiet  attacked     ratio  connections`);
  for (const [attack, { name }] of attacks.entries()) {
    if (!name.includes(values.only)) continue;
    const quiet: number[] = [];
    const busy: number[] = [];
    let connections = 0;
    for (let round = 0; round < rounds; round++) {
      quiet.push(...(await client.ask<number[]>("measure", seconds)));
      const orders: Orders = {
        attack,
        connections: Number(values.connections),
        port: role === "server" ? port : undefined,
      };
      await attacker.ask("start", orders);
      if (role === "client") await client.ask("expose", true);
      busy.push(...(await client.ask<number[]>("measure", seconds)));
      if (role === "client") await client.ask("expose", false);
      connections += await attacker.ask<number>("stop");
    }
    const columns = [
      p99(quiet).toFixed(2),
      p99(busy).toFixed(2),
      (p99(busy) / p99(quiet)).toFixed(2),
      String(connections),
    ];
    console.log(name.padEnd(34) + columns.map((column) => column.padStart(11)).join(""));
  }
}

await run("server", SERVER_ATTACKS);
await run("client", CLIENT_ATTACKS);
process.exit();
