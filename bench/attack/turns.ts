/**
 * The turns of the event loop of a server under attack, in CPU time, which depends little on the other load of the machine:
 *
 * - the 99th percentile of the time that an event has to wait for the rest of a turn, if it arrives at any time
 * - the longest turn
 * - the share of the time in which the event loop was busy, in percent
 *
 *     npm run bench:attack -- turns [--only TEXT] [--seconds 2] [--rounds 3] [--connections 2] [--concurrency 4]
 *
 * The attacks are those of `http2` on servers and those of `neighbours`. Prints medians of the rounds, also of the
 * connections that the attacker opened or of the bodies that it sent.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { Child } from "../child.ts";
import { pinnedCpus } from "../machine.ts";
import type { Orders } from "./attacker.ts";
import { ATTACKS, WORST } from "./bodies.ts";
import type { Orders as Http2Orders } from "./http2-attacker.ts";
import { SERVER_ATTACKS } from "./http2-attacks.ts";
import { median } from "./latency-table.ts";
import type { Turns } from "./turn-times.ts";

const { values } = parseArgs({
  options: {
    only: { type: "string", default: "" },
    seconds: { type: "string", default: "2" },
    rounds: { type: "string", default: "3" },
    connections: { type: "string", default: "2" },
    concurrency: { type: "string", default: "4" },
  },
});

const cpus = pinnedCpus();
const start = (script: string, cpu?: number): Promise<Child> => Child.start(new URL(script, import.meta.url), cpu);
const [server, frames, bodies] = await Promise.all([
  start("server.ts", cpus?.subject),
  start("http2-attacker.ts", cpus?.other),
  start("attacker.ts", cpus?.other),
]);
const port = await server.ask<number>("port");

async function run(title: string, attacker: Child, orders: Orders | Http2Orders): Promise<void> {
  if (!title.includes(values.only)) return;
  const rounds: (Turns & { readonly amount: number })[] = [];
  for (let round = 0; round < Number(values.rounds); round++) {
    await attacker.ask("start", orders);
    await server.ask("beginTurns");
    await sleep(1_000 * Number(values.seconds));
    const turns = await server.ask<Turns>("endTurns");
    rounds.push({ ...turns, amount: await attacker.ask<number>("stop") });
  }
  const column = (of: (one: (typeof rounds)[number]) => number, digits: number): string =>
    median(rounds.map(of)).toFixed(digits).padStart(11);
  console.log(
    title.padEnd(54) +
      column(({ wait }) => wait, 2) +
      column(({ longest }) => longest, 1) +
      column(({ busy }) => 100 * busy, 0) +
      column(({ amount }) => amount, 0).padStart(13),
  );
}

const heading = (amount: string): string =>
  `${"turns in ms".padEnd(54)}   wait p99    longest     busy %${amount.padStart(13)}`;
console.log(heading("connections"));
for (const [attack, { name }] of SERVER_ATTACKS.entries()) {
  await run(name, frames, { attack, port, connections: Number(values.connections) });
}
console.log(`\n${heading("bodies")}`);
for (const [attack, { format, name }] of ATTACKS.entries()) {
  const title = `${format}: ${name}`;
  if (!WORST.includes(title)) continue;
  await run(title, bodies, { attack, port, concurrency: Number(values.concurrency) });
}
process.exit();
