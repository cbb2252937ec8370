/**
 * The latency of a well-behaved client beside another one that sends costly bodies of 4 MiB, in turns in one run:
 *
 * - quiet: without these bodies
 * - control: beside the same bodies sent to another process of the same server, which shares the CPU of the called one
 * - attacked: beside the bodies, sent to the server that the client calls
 *
 * Bodies of messages in JSON and proto are also sent to a peer that decodes the same messages: a server on `node:http`, or
 * grpc-js.
 *
 *     npm run bench:attack -- neighbours [--only TEXT] [--seconds 3] [--concurrency 4] [--rounds 1]
 *
 * The servers have a CPU of their own. The attacker and the client share the other one. Prints medians of the rounds.
 */
import { spawnSync } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { createTransport } from "triple-es/node";
import { Child } from "../child.ts";
import { Latencies } from "../latencies.ts";
import { pinnedCpus } from "../machine.ts";
import { createCostlyServiceClient } from "../messages/gen/costly_triple.ts";
import type { Orders } from "./attacker.ts";
import { ATTACKS, type Attack, WORST } from "./bodies.ts";
import { HEADING, type Latency, median, row } from "./latency-table.ts";

/** Pause between two calls of the client, in milliseconds. */
const PAUSE_MS = 2;
const WARM_UP_CALLS = 200;

const { values } = parseArgs({
  options: {
    only: { type: "string" },
    seconds: { type: "string", default: "3" },
    concurrency: { type: "string", default: "4" },
    rounds: { type: "string", default: "1" },
  },
});

type Call = () => Promise<unknown>;

const cpus = pinnedCpus();
if (cpus !== undefined) spawnSync("taskset", ["-a", "-c", "-p", String(cpus.other), String(process.pid)]);

/** Two processes of a server, which are started when it is first attacked. */
class Target {
  readonly name: string;
  readonly #script: string;
  #ports: Promise<readonly [called: number, other: number]> | undefined;

  constructor(name: string, script: string) {
    this.name = name;
    this.#script = script;
  }

  /** The ports of the process that the client calls, and of the other one. */
  ports(): Promise<readonly [called: number, other: number]> {
    const start = (): Promise<number> =>
      Child.start(new URL(this.#script, import.meta.url), cpus?.subject).then((child) => child.ask<number>("port"));
    this.#ports ??= Promise.all([start(), start()]);
    return this.#ports;
  }
}

const own = new Target("triple-es", "server.ts");
const nodeHttp = new Target("node:http", "peers/node-http.ts");
const grpcJs = new Target("grpc-js", "peers/grpc-js.ts");

/** The peer that decodes the same messages, by the format of the attack. */
const PEERS: Readonly<Record<string, Target>> = {
  "JSON (A)": nodeHttp,
  "proto, generated codec (B)": grpcJs,
};

/** Returns a client's call to the port, with the protocol of the attack. */
function neighbour(port: number, { headers }: Attack): Call {
  const protocol = headers["te"] === undefined ? "http-rpc" : "grpc";
  const codec = protocol === "grpc" ? "proto" : "json";
  const transport = createTransport({ baseUrl: `http://127.0.0.1:${port}`, protocol, codec });
  const client = createCostlyServiceClient(transport);
  return () => client.take({ text: "x" });
}

/** Calls for some seconds. Returns the 99th percentile of the latency, in milliseconds. */
async function latency(call: Call): Promise<number> {
  const latencies = new Latencies();
  const end = performance.now() + 1_000 * Number(values.seconds);
  while (performance.now() < end) {
    const start = performance.now();
    await call();
    latencies.record(performance.now() - start);
    await sleep(PAUSE_MS);
  }
  return latencies.quantile(0.99);
}

interface Result extends Latency {
  readonly sent: number;
}

async function attackOnce(target: Target, attack: number): Promise<Result> {
  const [port, otherPort] = await target.ports();
  const call = neighbour(port, ATTACKS[attack] as Attack);
  await warmUp(call);
  const quiet = await latency(call);
  const beside = async (attacked: number): Promise<readonly [ms: number, sent: number]> => {
    const orders: Orders = { port: attacked, attack, concurrency: Number(values.concurrency) };
    await attacker.ask("start", orders);
    return [await latency(call), await attacker.ask<number>("stop")];
  };
  const [control] = await beside(otherPort);
  const [attacked, sent] = await beside(port);
  return { quiet, control, attacked, sent };
}

async function warmUp(call: Call): Promise<void> {
  for (let i = 0; i < WARM_UP_CALLS; i++) await call();
}

const attacker = await Child.start(new URL("attacker.ts", import.meta.url), cpus?.other);
console.log(`${"p99 of a client in ms".padEnd(64)}${HEADING}     sent`);
for (const [index, { format, name }] of ATTACKS.entries()) {
  const title = `${format}: ${name}`;
  if (values.only === undefined ? !WORST.includes(title) : !title.includes(values.only)) continue;
  const peer = PEERS[format];
  const targets = peer === undefined ? [own] : [own, peer];
  const results = new Map<Target, Result[]>(targets.map((target) => [target, []]));
  for (let round = 0; round < Number(values.rounds); round++) {
    for (const target of targets) results.get(target)?.push(await attackOnce(target, index));
  }
  for (const [target, rounds] of results) {
    const sent = median(rounds.map((round) => round.sent));
    console.log(title.padEnd(54) + target.name.padEnd(10) + row(rounds) + String(sent).padStart(9));
  }
}
process.exit();
