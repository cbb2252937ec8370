/**
 * Goodput of one server under overload: the calls that it answers within their deadlines of 200 ms, at 0.5 to 10 times the load
 * of its peak. triple-es with and without `shedLoad`, `@grpc/grpc-js` and grpc-go, in turn in one run.
 *
 *     npm run bench:goodput -- --seconds 4
 *     npm run bench:goodput -- --rounds 300   the CPU time that `shedLoad` costs calls whose handler does nothing
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
import { pinnedCpus } from "../machine.ts";
import { echoRequest } from "../messages/echo.ts";
import { createEchoServiceClient, type EchoServiceClient } from "../messages/gen/echo_triple.ts";

const { values } = parseArgs({ options: { seconds: { type: "string", default: "4" }, rounds: { type: "string" } } });
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
}

async function start(entrant: string, work: string): Promise<Running> {
  if (entrant === "grpc-go") {
    const { port, stop } = await startProgram((port) => [goProgram(), String(port), work]);
    return { baseUrl: `http://127.0.0.1:${port}`, stop };
  }
  const server = await Child.start(new URL("goodput-server.ts", import.meta.url), undefined, `${entrant} ${work}`);
  const baseUrl = `http://127.0.0.1:${(await server.ask<number[]>("ports"))[0]}`;
  return { baseUrl, stop: () => server.stop() };
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

/** The calls of a window, and the numbers of calls at a time: the server is not overloaded. */
const WINDOW = 1_024;
const AT_A_TIME = [4, 32];

/**
 * Shows the CPU time of a call with `shedLoad`, as a share of that without, in the median of rounds. The servers share a process,
 * because the same program differs by some percent from process to process. The control is a second server without it.
 */
async function showCost(rounds: number): Promise<void> {
  const server = await Child.start(
    new URL("goodput-server.ts", import.meta.url),
    pinnedCpus()?.subject,
    "triple-cost nothing",
  );
  const urls = (await server.ask<number[]>("ports")).map((port) => `http://127.0.0.1:${port}`);
  let transports: ReturnType<typeof createTransport>[] = [];
  let clients: EchoServiceClient[] = [];
  const window = async (client: EchoServiceClient, atATime: number): Promise<number> => {
    const before = await server.cpuMicros();
    const call = async (): Promise<void> => {
      for (let left = WINDOW / atATime; left > 0; left--) await client.echo(echoRequest, { timeoutMs: 10_000 });
    };
    await Promise.all(Array.from({ length: atATime }, call));
    return ((await server.cpuMicros()) - before) / WINDOW;
  };
  const middle = (values: readonly number[]): number =>
    values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
  console.log("| calls at a time | CPU time of a call | with shedLoad | control |\n|---|---|---|---|");
  for (const atATime of AT_A_TIME) {
    const times: number[][] = [];
    // The first rounds compile the code.
    for (let round = -40; round < rounds; round++) {
      // The cost of a call also differs from connection to connection.
      if (round % 20 === 0) {
        await Promise.all(transports.map((transport) => transport.close()));
        transports = urls.map((baseUrl) => createTransport({ baseUrl }));
        clients = transports.map((transport) => createEchoServiceClient(transport));
        for (const client of clients) await window(client, atATime);
      }
      const row: number[] = [];
      for (const index of [0, 1, 2].sort(() => Math.random() - 0.5)) {
        row[index] = await window(clients[index] as EchoServiceClient, atATime);
      }
      if (round >= 0) times.push(row);
    }
    const [plain = [], ...others] = [0, 1, 2].map((index) => times.map((row) => row[index] as number));
    const shares = others.map((own) => middle(own.map((time, round) => time / (plain[round] as number) - 1)));
    const cells = [...shares.map((share) => `${share < 0 ? "" : "+"}${(share * 100).toFixed(2)} %`)];
    console.log(`| ${[atATime, `${middle(plain).toFixed(2)} µs`, ...cells].join(" | ")} |`);
  }
  await Promise.all(transports.map((transport) => transport.close()));
  await server.stop();
}

if (values.rounds === undefined) await showGoodput();
else await showCost(Number(values.rounds));
