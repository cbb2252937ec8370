/**
 * One bad server of twenty, over sockets: the p99 of calls while one server answers ten times more slowly, or fails 5 % of its
 * calls, beside that of a healthy fleet. The servers are in a process of their own.
 *
 *     npm run bench:slow -- --seconds 20
 */
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { Code, RpcError, type Transport } from "triple-es";
import { fixed, p2c, roundRobin } from "triple-es/discovery";
import { createServer, createTransport } from "triple-es/node";
import { answerParent, Child } from "../child.ts";
import { Latencies } from "../latencies.ts";
import { echoRequest } from "../messages/echo.ts";
import { echoService } from "../messages/echo-service.ts";
import { createEchoServiceClient, EchoServiceDef } from "../messages/gen/echo_triple.ts";

const SERVERS = 20;
const USUAL_MS = 10;
const FAILURES = 0.05;
/** The time in which clients learn about the fleet. */
const LEARNING_MS = 10_000;
/** The table has the medians of windows of this length, in milliseconds, because others may use the machine. */
const WINDOW_MS = 4_000;
/** Clients, their callers, and the mean pause of a caller in milliseconds. */
const LOADS = [
  [1, 40, 0],
  [200, 1, 200],
] as const;
const FLEETS = ["healthy", "slow", "failing"] as const;
type Fleet = (typeof FLEETS)[number];

/** Starts the servers, of which the first one may become bad. */
async function serve(): Promise<void> {
  let fleet: Fleet = "healthy";
  const start = async (isBad: boolean): Promise<string> => {
    const server = createServer().add(EchoServiceDef, {
      ...echoService,
      async echo(request) {
        if (isBad && fleet === "failing" && Math.random() < FAILURES) throw new RpcError(Code.Unavailable, "broken");
        await sleep(isBad && fleet === "slow" ? 10 * USUAL_MS : USUAL_MS);
        return request;
      },
    });
    await server.listen({ port: 0, host: "127.0.0.1" });
    return `127.0.0.1:${server.address.port}`;
  };
  const addresses = await Promise.all(Array.from({ length: SERVERS }, (_, index) => start(index === 0)));
  answerParent({
    become(next: Fleet) {
      fleet = next;
      return addresses;
    },
  });
}

const median = (values: readonly number[]): number => [...values].sort((a, b) => a - b)[values.length >> 1] as number;

/** Makes calls. Returns the latencies of those that began after {@link LEARNING_MS}, by the windows in which they began. */
async function measure(
  transports: readonly Transport[],
  [, callers, pauseMs]: (typeof LOADS)[number],
  count: number,
): Promise<readonly Latencies[]> {
  const windows = Array.from({ length: count }, () => new Latencies());
  const start = performance.now();
  const end = start + LEARNING_MS + count * WINDOW_MS;
  const calling = transports.flatMap((transport) => {
    const client = createEchoServiceClient(transport);
    return Array.from({ length: callers }, async () => {
      for (let began = start; began < end; ) {
        await sleep(2 * Math.random() * pauseMs);
        began = performance.now();
        await client.echo(echoRequest).catch(() => {});
        windows[Math.floor((began - start - LEARNING_MS) / WINDOW_MS)]?.record(performance.now() - began);
      }
    });
  });
  await Promise.all(calling);
  return windows;
}

async function main(): Promise<void> {
  const { values } = parseArgs({ options: { seconds: { type: "string", default: "20" } } });
  const count = Math.ceil((Number(values.seconds) * 1_000) / WINDOW_MS);
  const servers = await Child.start(new URL(import.meta.url), undefined, "serve");
  console.log("| clients | policy | fleet | calls/s | p50 | p99 | p99 / healthy |\n|---|---|---|---|---|---|---|");
  for (const load of LOADS) {
    for (const make of [p2c, roundRobin]) {
      const addresses = await servers.ask<readonly string[]>("become", "healthy");
      const options = { resolver: fixed(addresses), balancer: make() };
      const transports = Array.from({ length: load[0] }, () => createTransport(options));
      let healthy = 0;
      for (const fleet of FLEETS) {
        await servers.ask("become", fleet);
        const windows = await measure(transports, load, count);
        const quantile = (share: number): number => median(windows.map((one) => one.quantile(share)));
        const p99 = quantile(0.99);
        if (fleet === "healthy") healthy = p99;
        const times = [quantile(0.5), p99].map((ms) => `${ms.toFixed(1)} ms`);
        const rate = (median(windows.map((one) => one.count)) / WINDOW_MS) * 1_000;
        console.log(
          `| ${[load[0], make.name, fleet, rate.toFixed(0), ...times, (p99 / healthy).toFixed(2)].join(" | ")} |`,
        );
      }
      await Promise.all(transports.map((transport) => transport.close()));
    }
  }
  await servers.stop();
}

await (process.argv[2] === "serve" ? serve() : main());
