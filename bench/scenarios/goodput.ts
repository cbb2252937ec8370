/**
 * Goodput of one server under overload: the calls that it answers within their deadlines of 200 ms, at 0.5 to 10 times the load
 * of its peak. triple-es with and without `shedLoad`, `@grpc/grpc-js` and grpc-go, in turn in one run.
 *
 *     npm run bench:goodput -- --seconds 4
 *     npm run bench:goodput -- --pairs 40     what `shedLoad` costs without overload: CPU time of calls whose handler does
 *                                             nothing, in alternating windows with and without it
 *
 * Handlers compute for 5 ms, or wait for one of ten slots and then for 20 ms. The peak is measured with as many calls at a time
 * as keep the server busy.
 */
import { copyFileSync } from "node:fs";
import { basename, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { createTransport } from "triple-es/node";
import { buildOnce, filesIn, step } from "../../test/interop/dubbo/build.ts";
import { startProgram } from "../../test/interop/program.ts";
import { goVersion } from "../../test/support/go.ts";
import { Child } from "../child.ts";
import { echoRequest } from "../messages/echo.ts";
import { createEchoServiceClient, type EchoServiceClient } from "../messages/gen/echo_triple.ts";

const { values } = parseArgs({ options: { seconds: { type: "string", default: "4" }, pairs: { type: "string" } } });
const SECONDS = Number(values.seconds);
const DEADLINE_MS = 200;
const CONNECTIONS = 8;
const ENTRANTS = ["triple-shed", "triple", "grpc-js", ...(goVersion() === undefined ? [] : ["grpc-go"])];
/** The kinds of work, and the calls at a time that keep a server busy with it. */
const WORK: Readonly<Record<string, number>> = { compute: 4, slots: 12 };
const LOADS = [0.5, 2, 5, 10, 0.5];

interface Running {
  readonly baseUrl: string;
  readonly stop: () => Promise<void>;
  /** Returns the CPU time of the process so far, in microseconds. */
  readonly cpu: () => Promise<number>;
}

async function start(entrant: string, work: string): Promise<Running> {
  if (entrant === "grpc-go") {
    const { port, stop } = await startProgram((port) => [goProgram(), String(port), work]);
    return { baseUrl: `http://127.0.0.1:${port}`, stop, cpu: async () => Number.NaN };
  }
  const server = await Child.start(new URL("goodput-server.ts", import.meta.url), undefined, `${entrant} ${work}`);
  const baseUrl = `http://127.0.0.1:${await server.ask<number>("port")}`;
  return { baseUrl, stop: () => server.stop(), cpu: () => server.cpuMicros() };
}

/** Returns the program of grpc-go. Builds it first, if needed. */
function goProgram(): string {
  const sources = filesIn(fileURLToPath(new URL("goodput-go", import.meta.url)));
  const folder = buildOnce("grpc-go-goodput", sources, (building) => {
    for (const source of sources) copyFileSync(source, join(building, basename(source)));
    step(building, "go", ["build", "-o", "goodput", "."]);
  });
  return join(folder, "goodput");
}

/** Returns the number of calls that a server answers in a second. */
async function peakOf(clients: readonly EchoServiceClient[], atATime: number): Promise<number> {
  let answered = 0;
  const end = performance.now() + SECONDS * 1_000;
  const callers = Array.from({ length: atATime }, async (_, index) => {
    while (performance.now() < end) {
      await clients[index % clients.length]?.echo(echoRequest);
      answered++;
    }
  });
  await Promise.all(callers);
  return answered / SECONDS;
}

/** Calls at a rate, whether calls are answered or not. Returns the answers in time in a second, and their 99th percentile. */
async function goodputOf(clients: readonly EchoServiceClient[], rate: number): Promise<{ good: number; p99: number }> {
  const times: number[] = [];
  const calls: Promise<unknown>[] = [];
  const start = performance.now();
  for (let sent = 0; ; await sleep(2)) {
    const elapsed = performance.now() - start;
    if (elapsed > SECONDS * 1_000) break;
    for (; sent < (elapsed * rate) / 1_000; sent++) {
      const client = clients[sent % clients.length] as EchoServiceClient;
      const began = performance.now();
      const answered = client.echo(echoRequest, { timeoutMs: DEADLINE_MS });
      calls.push(
        answered.then(
          () => times.push(performance.now() - began),
          () => {},
        ),
      );
    }
  }
  await Promise.all(calls);
  times.sort((a, b) => a - b);
  return { good: times.length / SECONDS, p99: times[Math.floor(times.length * 0.99)] ?? 0 };
}

async function showGoodput(): Promise<void> {
  console.log(`answers within ${DEADLINE_MS} ms, as a share of the peak, and their 99th percentile`);
  console.log(`| work | server | peak, calls/s | ${LOADS.map((load) => `${load} ×`).join(" | ")} |`);
  console.log(`|${"---|".repeat(LOADS.length + 3)}`);
  for (const [work, atATime] of Object.entries(WORK)) {
    for (const entrant of ENTRANTS) {
      const server = await start(entrant, work);
      const { baseUrl } = server;
      const transports = Array.from({ length: CONNECTIONS }, () => createTransport({ baseUrl }));
      const clients = transports.map((transport) => createEchoServiceClient(transport));
      // The first run compiles the code.
      await peakOf(clients, atATime);
      const peak = await peakOf(clients, atATime);
      const cells: string[] = [];
      for (const load of LOADS) {
        const { good, p99 } = await goodputOf(clients, load * peak);
        cells.push(`${(good / peak).toFixed(2)} (${p99.toFixed(0)} ms)`);
        await sleep(1_000);
      }
      console.log(`| ${[work, entrant, peak.toFixed(0), ...cells].join(" | ")} |`);
      await Promise.all(transports.map((transport) => transport.close()));
      await server.stop();
    }
  }
}

/** The calls of a window, one after the other on each of a few connections: the server is not overloaded. */
const WINDOW = 2_000;

/** Shows the CPU time of a call with `shedLoad`, as a share of that without, in the median of pairs of windows. */
async function showCost(pairs: number): Promise<void> {
  const sides = await Promise.all(
    ["triple-shed", "triple"].map(async (entrant) => {
      const server = await start(entrant, "nothing");
      const transport = createTransport({ baseUrl: server.baseUrl });
      return { server, transport, client: createEchoServiceClient(transport) };
    }),
  );
  const window = async ({ server, client }: (typeof sides)[number]): Promise<number> => {
    const before = await server.cpu();
    const call = async (): Promise<void> => {
      for (let left = WINDOW / 4; left > 0; left--) await client.echo(echoRequest, { timeoutMs: 10_000 });
    };
    await Promise.all(Array.from({ length: 4 }, call));
    return ((await server.cpu()) - before) / WINDOW;
  };
  const rows: (readonly [shed: number, plain: number])[] = [];
  // The first windows compile the code.
  for (let pair = -5; pair < pairs; pair++) {
    const times = [0, 0] as [number, number];
    // The order alternates.
    for (const side of pair % 2 === 0 ? ([0, 1] as const) : ([1, 0] as const)) {
      times[side] = await window(sides[side] as (typeof sides)[number]);
    }
    if (pair >= 0) rows.push(times);
  }
  const middle = (values: readonly number[]): number =>
    values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
  const [shed, plain] = [middle(rows.map(([time]) => time)), middle(rows.map(([, time]) => time))];
  const ratio = middle(rows.map(([with_, without]) => with_ / without));
  console.log(`CPU time of a call: ${shed.toFixed(1)} µs with shedLoad, ${plain.toFixed(1)} µs without`);
  console.log(`median of ${pairs} pairs: ${((ratio - 1) * 100).toFixed(2)} %`);
  for (const { server, transport } of sides) {
    await transport.close();
    await server.stop();
  }
}

if (values.pairs === undefined) await showGoodput();
else await showCost(Number(values.pairs));
