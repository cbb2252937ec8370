/**
 * Growth of a client with the number of its endpoints: connections, memory, and CPU time of a call. One server listens on all
 * loopback addresses, each of which is an endpoint of its own.
 *
 *     npm run bench:scale
 *
 * Needs a system where all of 127.0.0.0/8 are loopback addresses, such as Linux. Every row is a process of its own.
 */
import { fork } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { fixed } from "triple-es/discovery";
import { createServer, createTransport } from "triple-es/node";
import { onCpuNanoseconds } from "../cpu-time.ts";
import { echoRequest } from "../messages/echo.ts";
import { echoService } from "../messages/echo-service.ts";
import { createEchoServiceClient, EchoServiceDef } from "../messages/gen/echo_triple.ts";

/** The number of endpoints, and how many of them are used. */
const ROWS: readonly (readonly [endpoints: number, subset: number | undefined])[] = [
  [1, undefined],
  [10, undefined],
  [100, undefined],
  [1_000, undefined],
  [1_000, 20],
  [10_000, 20],
];
const CALLERS = 32;
const MEASURED_MS = 4_000;
const MIB = 2 ** 20;

const [port, count, subset] = process.argv.slice(2).map(Number);
if (port !== undefined && count !== undefined) await measure(port, count, subset);
else await printTable();

async function printTable(): Promise<void> {
  const server = createServer().add(EchoServiceDef, echoService);
  await server.listen({ port: 0, host: "0.0.0.0" });
  console.log(
    "| endpoints | connections | calls a second | CPU of a call | heap | resident |\n|---|---|---|---|---|---|",
  );
  for (const [endpoints, used] of ROWS) {
    const args = [server.address.port, endpoints, ...(used === undefined ? [] : [used])].map(String);
    const child = fork(fileURLToPath(import.meta.url), args, { execArgv: [...process.execArgv, "--expose-gc"] });
    await once(child, "exit");
  }
  await server.close({ graceMs: 0 });
}

/** Prints the row of one client. Memory is what the client grows by, after garbage collection. */
async function measure(serverPort: number, endpoints: number, used: number | undefined): Promise<void> {
  const addresses = Array.from(
    { length: endpoints },
    (_, index) => `127.${1 + (index >> 14)}.${(index >> 7) & 127}.${1 + (index & 127)}:${serverPort}`,
  );
  // The code is compiled before memory is measured.
  const warm = createTransport({ baseUrl: `http://127.0.0.1:${serverPort}` });
  await load(warm, 1_000);
  await warm.close();
  const before = await memory();
  const transport = createTransport({ resolver: fixed(addresses), subset: used });
  await createEchoServiceClient(transport).echo(echoRequest);
  const expected = Math.min(endpoints, used ?? endpoints);
  const ready = (): number => transport.endpoints().filter(({ state }) => state === "ready").length;
  while (ready() < expected) await sleep(10);
  const after = await memory();
  await load(transport, 1_000);
  const cpu = onCpuNanoseconds(process.pid) ?? Number.NaN;
  const calls = await load(transport, MEASURED_MS);
  const cpuMicros = ((onCpuNanoseconds(process.pid) ?? Number.NaN) - cpu) / 1_000;
  const cells = [
    used === undefined ? endpoints : `${endpoints}, \`subset: ${used}\``,
    ready(),
    Math.round(calls / (MEASURED_MS / 1_000)),
    `${(cpuMicros / calls).toFixed(0)} µs`,
    `${((after.heapUsed - before.heapUsed) / MIB).toFixed(1)} MiB`,
    `${((after.rss - before.rss) / MIB).toFixed(1)} MiB`,
  ];
  console.log(`| ${cells.join(" | ")} |`);
  process.exit();
}

/** Makes calls for a while, a fixed number at a time. Returns their number. */
async function load(transport: Parameters<typeof createEchoServiceClient>[0], durationMs: number): Promise<number> {
  const client = createEchoServiceClient(transport);
  const end = performance.now() + durationMs;
  let calls = 0;
  const callers = Array.from({ length: CALLERS }, async () => {
    for (; performance.now() < end; calls++) await client.echo(echoRequest);
  });
  await Promise.all(callers);
  return calls;
}

async function memory(): Promise<NodeJS.MemoryUsage> {
  for (let rounds = 0; rounds < 3; rounds++) {
    await sleep(50);
    globalThis.gc?.();
  }
  return process.memoryUsage();
}
