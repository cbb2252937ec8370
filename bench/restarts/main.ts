/**
 * Rolling restarts under load: three providers in etcd are replaced again and again while a consumer makes 1,000 calls a second.
 * Every call has an id, and providers report which ids they have executed: no call may be lost, and none executed twice.
 *
 *     npm run bench:restarts -- --restarts 100 --rate 1000
 *
 * A restart replaces one provider. Prints the 99th percentile of the latency before the restarts and during them.
 */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { etcd } from "triple-es/etcd";
import { createTransport } from "triple-es/node";
import { startEtcd } from "../../test/support/registries/etcd.ts";
import { createEchoServiceClient } from "../gen/echo_triple.ts";

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

const registryServer = await startEtcd();
const executed = new Map<string, number>();

const children = new Set<ChildProcess>();
process.once("exit", () => {
  for (const child of children) child.kill("SIGKILL");
});

async function startProvider(): Promise<ChildProcess> {
  const child = fork(fileURLToPath(new URL("provider.ts", import.meta.url)), [registryServer.address]);
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
let latencies: number[] = [];

async function callOnce(): Promise<void> {
  const id = String(made++);
  const start = performance.now();
  try {
    await client.echo({ id }, { timeoutMs: 10_000 });
    latencies.push(performance.now() - start);
  } catch (error) {
    lost.push(error);
  }
}

/** Makes the calls that are due, whether or not earlier ones have ended. */
const start = performance.now();
const timer = setInterval(() => {
  const due = Math.floor(((performance.now() - start) / 1_000) * rate) - made;
  for (let calls = 0; calls < due; calls++) {
    const call = callOnce().finally(() => running.delete(call));
    running.add(call);
  }
}, TICK_MS);

const percentile = (share: number): number => {
  latencies.sort((a, b) => a - b);
  return latencies[Math.floor(latencies.length * share)] ?? Number.NaN;
};
/** The percentiles of the calls since the last report. */
function report(phase: string): number {
  const p99 = percentile(0.99);
  console.log(`${phase}: ${latencies.length} calls, p50 ${percentile(0.5).toFixed(2)} ms, p99 ${p99.toFixed(2)} ms`);
  latencies = [];
  return p99;
}

// The first seconds compile the code.
await sleep(5_000);
latencies = [];
await sleep(quietSeconds * 1_000);
const quiet = report("quiet");
for (let count = 0; count < restarts; count++) {
  const replacement = await startProvider();
  const old = providers.splice(count % PROVIDERS, 1, replacement)[0];
  if (old !== undefined) await endProvider(old);
  if ((count + 1) % 20 === 0) console.log(`${count + 1} restarts, ${made} calls, ${lost.length} lost`);
}
const restarting = report("during restarts");
clearInterval(timer);
await Promise.all(running);
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
