/**
 * Rolling restarts under load: three providers in etcd are replaced again and again while a consumer makes 1,000 calls
 * a second. Every call has an id, and providers report which ids they have executed: no call may be lost, and none
 * executed twice.
 *
 *     npm run bench:restarts -- --restarts 100 --rate 1000
 *
 * A restart replaces one provider. Prints the 99th percentile of the latency during restarts, and in quiet periods
 * before the first and after each twenty restarts, because the load of the machine varies. A machine that is too slow
 * for the rate makes fewer calls.
 */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { createTransport } from "triple-es/node";
import { etcd } from "triple-es-dubbo/etcd";
import { startEtcd } from "../../test/support/registries/etcd.ts";
import { createEchoServiceClient } from "../messages/gen/echo_triple.ts";

const { values } = parseArgs({
  options: {
    restarts: { type: "string", default: "100" },
    rate: { type: "string", default: "1000" },
    quiet: { type: "string", default: "20" },
  },
});
const [restarts, rate, quietSeconds] = [Number(values.restarts), Number(values.rate), Number(values.quiet)];
const TICK_MS = 10;
const PROVIDERS = 3;
/** The number of restarts between two quiet periods. */
const SERIES = 20;
/** The most calls that run at a time. More are a queue in this process, whose length says nothing about restarts. */
const MAX_RUNNING = 1_000;
const DEADLINE_MS = 60_000;

const registryServer = await startEtcd();
const executed = new Map<string, number>();

const children = new Set<ChildProcess>();
process.once("exit", () => {
  for (const child of children) child.kill("SIGKILL");
});

async function startProvider(): Promise<ChildProcess> {
  const child = fork(fileURLToPath(new URL("restarts-provider.ts", import.meta.url)), [registryServer.address]);
  children.add(child);
  child.once("exit", () => children.delete(child));
  await once(child, "message");
  return child;
}

async function endProvider(child: ChildProcess): Promise<void> {
  child.send("end");
  const [ids] = (await once(child, "message")) as [string[]];
  for (const id of ids) executed.set(id, (executed.get(id) ?? 0) + 1);
}

const providers = await Promise.all(Array.from({ length: PROVIDERS }, startProvider));
const registry = etcd({ servers: [registryServer.address] });
const transport = createTransport({ registry });
const client = createEchoServiceClient(transport);
await client.echo({ id: "first" });
while (transport.endpoints().filter(({ state }) => state === "ready").length < PROVIDERS) await sleep(10);

let made = 0;
const lost: unknown[] = [];
const running = new Set<Promise<void>>();
/** Latencies of the calls that began in each phase. */
const phases = { warmUp: [] as number[], quiet: [] as number[], restarts: [] as number[] };
let phase: keyof typeof phases = "warmUp";
let skipped = 0;

async function callOnce(): Promise<void> {
  const id = String(made++);
  const latencies = phases[phase];
  const start = performance.now();
  try {
    await client.echo({ id }, { timeoutMs: DEADLINE_MS });
    latencies.push(performance.now() - start);
  } catch (error) {
    lost.push(error);
  }
}

/** Makes the calls that are due, whether or not earlier ones have ended. */
const start = performance.now();
const timer = setInterval(() => {
  const due = Math.floor(((performance.now() - start) / 1_000) * rate) - made - skipped;
  for (let calls = 0; calls < due; calls++) {
    if (running.size >= MAX_RUNNING) {
      skipped++;
      continue;
    }
    const call = callOnce().finally(() => running.delete(call));
    running.add(call);
  }
}, TICK_MS);

/** Returns the 99th percentile of the calls of a phase, and prints it. */
function report(name: keyof typeof phases): number {
  const latencies = phases[name].sort((a, b) => a - b);
  const [p50, p99] = [0.5, 0.99].map((share) => latencies[Math.floor(latencies.length * share)] ?? Number.NaN);
  console.log(`${name}: ${latencies.length} calls, p50 ${p50?.toFixed(2)} ms, p99 ${p99?.toFixed(2)} ms`);
  return p99 ?? Number.NaN;
}

// The first seconds compile the code.
await sleep(5_000);
phase = "quiet";
await sleep(quietSeconds * 1_000);
for (let count = 0; count < restarts; count++) {
  phase = "restarts";
  const replacement = await startProvider();
  const old = providers.splice(count % PROVIDERS, 1, replacement)[0];
  if (old !== undefined) await endProvider(old);
  if ((count + 1) % SERIES !== 0) continue;
  console.log(`${count + 1} restarts, ${made} calls, ${lost.length} lost, ${skipped} not made`);
  // Calls of the last restart have ended.
  await sleep(500);
  phase = "quiet";
  await sleep(quietSeconds * 250);
}
phase = "warmUp";
clearInterval(timer);
await Promise.all(running);
const [quiet, restarting] = [report("quiet"), report("restarts")];
await Promise.all(providers.map(endProvider));
executed.delete("first");
const twice = [...executed.values()].filter((times) => times > 1).length;
const never = made - executed.size;
console.log(`${restarts} restarts of ${PROVIDERS} providers under ${Math.round(rate)} calls a second, ${made} calls:`);
console.log(
  `${lost.length} lost, ${twice} executed twice, ${never} not executed; p99 ${(restarting / quiet).toFixed(2)} times quiet`,
);
for (const error of lost.slice(0, 3)) console.log(error);
await transport.close();
await registry.close();
await registryServer.close();
process.exitCode = lost.length + twice + never === 0 ? 0 : 1;
