/**
 * The latency of a well-behaved client beside an attack with frames of HTTP/2, in turns in one run:
 *
 * - quiet: without an attack
 * - control: beside the same attack on another process, which shares the CPU of the attacked one
 * - attacked: beside the attack on the process that the client calls, or on the client itself
 *
 *     npm run bench:attack -- http2 [--only TEXT] [--rounds 5] [--seconds 1] [--connections 2]
 *
 * The attacked processes have a CPU of their own, and share no CPU with the attacker. The operating system divides the
 * CPUs in the control too, so that attacked / control is the part of the slowdown that a process could avoid. Prints
 * medians of the rounds.
 */
import { parseArgs } from "node:util";
import { Child } from "../child.ts";
import { pinnedCpus } from "../machine.ts";
import type { Orders } from "./http2-attacker.ts";
import { CLIENT_ATTACKS, type Http2Attack, SERVER_ATTACKS } from "./http2-attacks.ts";
import { HEADING, type Latency, row } from "./latency-table.ts";

const { values } = parseArgs({
  options: {
    only: { type: "string", default: "" },
    rounds: { type: "string", default: "5" },
    seconds: { type: "string", default: "1" },
    connections: { type: "string", default: "2" },
  },
});
const [rounds, seconds] = [Number(values.rounds), Number(values.seconds)];
const cpus = pinnedCpus();

const start = (script: string, cpu: number | undefined): Promise<Child> =>
  Child.start(new URL(script, import.meta.url), cpu);
const attacker = await start("http2-attacker.ts", cpus?.other);

function p99(times: readonly number[]): number {
  const sorted = times.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length * 0.99)] ?? Number.NaN;
}

/** The processes of one table. */
interface Cast {
  /** The well-behaved client. */
  readonly client: Child;
  /** Directs an attack at the process that is measured, or at another one. Returns a function that ends its part of it. */
  attack(isMeasured: boolean, attack: number): Promise<() => Promise<unknown>>;
}

async function againstServers(): Promise<Cast> {
  const [server, other] = [await start("server.ts", cpus?.subject), await start("server.ts", cpus?.subject)];
  const [port, otherPort] = [await server.ask<number>("port"), await other.ask<number>("port")];
  const client = await start("http2-client.ts", cpus?.other);
  await client.ask("start", { port, attacker: port });
  return {
    client,
    async attack(isMeasured, attack) {
      await order(attack, isMeasured ? port : otherPort);
      return async () => {};
    },
  };
}

async function againstClients(): Promise<Cast> {
  const server = await start("server.ts", cpus?.other);
  const ports = { port: await server.ask<number>("port"), attacker: await attacker.ask<number>("port") };
  const [client, other] = [
    await start("http2-client.ts", cpus?.subject),
    await start("http2-client.ts", cpus?.subject),
  ];
  for (const one of [client, other]) await one.ask("start", ports);
  return {
    client,
    async attack(isMeasured, attack) {
      await order(attack, undefined);
      const exposed = isMeasured ? client : other;
      await exposed.ask("expose", true);
      return () => exposed.ask("expose", false);
    },
  };
}

async function order(attack: number, port: number | undefined): Promise<void> {
  await attacker.ask("start", { attack, port, connections: Number(values.connections) } satisfies Orders);
}

async function run(role: string, { client, attack }: Cast, attacks: readonly Http2Attack[]): Promise<void> {
  console.log(`\n${`attacked: a ${role}`.padEnd(34)}${HEADING}  connections`);
  const measure = async (): Promise<number> => p99(await client.ask<number[]>("measure", seconds));
  await measure();
  for (const [index, { name }] of attacks.entries()) {
    if (!name.includes(values.only)) continue;
    const latencies: Latency[] = [];
    let connections = 0;
    const beside = async (isMeasured: boolean): Promise<number> => {
      const end = await attack(isMeasured, index);
      const latency = await measure();
      await end();
      const opened = await attacker.ask<number>("stop");
      if (isMeasured) connections += opened;
      return latency;
    };
    for (let round = 0; round < rounds; round++) {
      latencies.push({ quiet: await measure(), control: await beside(false), attacked: await beside(true) });
    }
    console.log(name.padEnd(34) + row(latencies) + String(connections).padStart(13));
  }
}

await run("server", await againstServers(), SERVER_ATTACKS);
await run("client", await againstClients(), CLIENT_ATTACKS);
process.exit();
