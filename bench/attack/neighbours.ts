/**
 * The latency of a well-behaved client while another one attacks the same server with costly bodies of 4 MiB, beside its
 * latency on the quiet server, in one run.
 *
 *     npm run bench:attack -- neighbours [--only TEXT] [--seconds 3] [--concurrency 4]
 *
 * Run it on a machine with nothing else to do: server, attacker and client are three processes.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { createTransport } from "triple-es/node";
import { Child } from "../child.ts";
import { createCostlyServiceClient } from "../gen/costly_triple.ts";
import type { Orders } from "./attacker.ts";
import { ATTACKS } from "./bodies.ts";

/** The most costly bodies by format, as `decode` prints them. */
const WORST = [
  "proto, generated codec (B): map of texts",
  "proto, protobuf-es (A): packed 64-bit integers",
  "JSON (A): struct of many keys",
  "JSON (B): messages, a quarter",
  "form: struct as JSON",
  "multipart: struct as JSON",
  "XML: text of lines",
  "Java: JSON (A): map of integers",
  "Java: Hessian 2: objects",
  "Java: MessagePack: map of texts",
  "inflated zeros: br",
];
/** Pause between two calls of the client, in milliseconds. */
const PAUSE_MS = 2;

const { values } = parseArgs({
  options: {
    only: { type: "string" },
    seconds: { type: "string", default: "3" },
    concurrency: { type: "string", default: "4" },
  },
});

const server = await Child.start(new URL("server.ts", import.meta.url));
const attacker = await Child.start(new URL("attacker.ts", import.meta.url));
const port = await server.ask<number>("port");
const client = createCostlyServiceClient(createTransport({ baseUrl: `http://127.0.0.1:${port}` }));

/** Calls for some seconds. Returns the 99th percentile of the latency, in milliseconds. */
async function latency(): Promise<number> {
  const times: number[] = [];
  const end = performance.now() + 1_000 * Number(values.seconds);
  while (performance.now() < end) {
    const start = performance.now();
    await client.take({ text: "x" });
    times.push(performance.now() - start);
    await sleep(PAUSE_MS);
  }
  times.sort((a, b) => a - b);
  return times[Math.floor(times.length * 0.99)] ?? Number.NaN;
}

await latency();
console.log("p99 of a client in ms: quiet, under attack, ratio; attacks sent");
for (const [index, { format, name }] of ATTACKS.entries()) {
  const title = `${format}: ${name}`;
  if (values.only === undefined ? !WORST.includes(title) : !title.includes(values.only)) continue;
  const quiet = await latency();
  await attacker.ask("start", { port, attack: index, concurrency: Number(values.concurrency) } satisfies Orders);
  const busy = await latency();
  const sent = await attacker.ask<number>("stop");
  const columns = [quiet.toFixed(2), busy.toFixed(2), (busy / quiet).toFixed(1), String(sent)];
  console.log(title.padEnd(54) + columns.map((column) => column.padStart(9)).join(""));
}
process.exit();
