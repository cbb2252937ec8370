/**
 * Goodput of one server under overload: the calls that it answers within their deadlines of 200 ms, at 0.5 to 10 times the load
 * of its peak. triple-es with and without `shedLoad`, and `@grpc/grpc-js`, in turn in one run.
 *
 *     npm run bench:goodput -- --seconds 4
 *
 * Handlers compute for 5 ms, or wait for one of ten slots and then for 20 ms. The peak is measured with as many calls at a time
 * as keep the server busy.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { createTransport } from "triple-es/node";
import { Child } from "../child.ts";
import { echoRequest } from "../messages/echo.ts";
import { createEchoServiceClient, type EchoServiceClient } from "../messages/gen/echo_triple.ts";

const { values } = parseArgs({ options: { seconds: { type: "string", default: "4" } } });
const SECONDS = Number(values.seconds);
const DEADLINE_MS = 200;
const CONNECTIONS = 8;
const ENTRANTS = ["triple-shed", "triple", "grpc-js"];
/** The kinds of work, and the calls at a time that keep a server busy with it. */
const WORK: Readonly<Record<string, number>> = { compute: 4, slots: 12 };
const LOADS = [0.5, 2, 5, 10, 0.5];

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

console.log(`answers within ${DEADLINE_MS} ms, as a share of the peak, and their 99th percentile`);
console.log(`| work | server | peak, calls/s | ${LOADS.map((load) => `${load} ×`).join(" | ")} |`);
console.log(`|${"---|".repeat(LOADS.length + 3)}`);
for (const [work, atATime] of Object.entries(WORK)) {
  for (const entrant of ENTRANTS) {
    const server = await Child.start(new URL("goodput-server.ts", import.meta.url), undefined, `${entrant} ${work}`);
    const baseUrl = `http://127.0.0.1:${await server.ask<number>("port")}`;
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
