/**
 * Measures the cost of choosing an endpoint: nanoseconds for a pick of each policy, milliseconds for creating its picker
 * and for applying a long list, and the cost of a balanced exchange compared with a plain one, in memory. Then the latency of calls
 * to unequal servers in memory, at 70 % of their capacity.
 */
import { create } from "@bufbuild/protobuf";
import { Metadata } from "triple-es";
import {
  consistentHash,
  p2c,
  pickFirst,
  type ReadyEndpoint,
  type RoutedBalancer,
  roundRobin,
  weightedRoundRobin,
} from "triple-es/discovery";
import { rules } from "triple-es-dubbo/rules";
import { balance } from "../../runtime/src/discovery/balanced.ts";
import { resolveEjection } from "../../runtime/src/discovery/ejection-options.ts";
import { TargetDriver } from "../../runtime/src/discovery/target.ts";
import { OrcaLoadReportCodec } from "../../runtime/src/gen/xds/data/orca/v3/orca_load_report_codec.ts";
import { OrcaLoadReportSchema } from "../../runtime/src/gen/xds/data/orca/v3/orca_load_report_pb.ts";
import { emptyBody } from "../../runtime/src/http/body.ts";
import type { Exchange, HttpRequest } from "../../runtime/src/http/exchange.ts";
import { observedBy } from "../../test/discovery/observed.ts";
import { mainThreadNanoseconds } from "../cpu-time.ts";

const PICKS = 1_000_000;
const EXCHANGES = 300_000;
const ROUNDS = 5;

const request: HttpRequest = {
  method: "POST",
  path: "/greet.v1.GreetService/Greet",
  version: "2",
  headers: new Metadata({ "x-user": "ann" }),
  body: emptyBody,
  signal: undefined,
};

/** Requests of many users: with one alone, the processor would predict each branch of a policy that uses the key. */
const requests = Array.from({ length: 1_024 }, (_, index) => ({
  ...request,
  headers: new Metadata({ "x-user": `user-${index}` }),
}));

const endpoints = (count: number, isEven: boolean): ReadyEndpoint[] =>
  Array.from({ length: count }, (_, index) => ({
    endpoint: { address: `10.${index >> 16}.${(index >> 8) & 255}.${index & 255}:50051` },
    weight: isEven ? 100 : 50 + (index % 4) * 50,
    active: index % 7,
  }));

/** The policy p2c under a rule of the application that provides the service. */
function ruled(kind: string, text: string): RoutedBalancer {
  const own = rules({ application: "web", texts: { [`shop.${kind}`]: text } });
  const service = own.of({ service: "greet.v1.GreetService" }, "10.0.0.1");
  service.provide("shop");
  return service.route(p2c());
}

const TAGS = `configVersion: v3.0\ntags: [{ name: gray, addresses: ["10.0.0.200-255"] }]`;
const METHODS = `configVersion: v3.0\nconditions: ["method=Greet & attachments[x-user]=user-* => host=10.0.0.*"]`;
const CANARY = `configVersion: v3.1\nconditions: [{ to: [{ match: "host=10.0.0.*", weight: 90 }, { match: "host=10.0.0.1" }] }]`;

const POLICIES: readonly (readonly [string, RoutedBalancer, boolean])[] = [
  ["p2c, even", p2c(), true],
  ["p2c, by weight", p2c(), false],
  ["round robin, even", roundRobin(), true],
  ["round robin, by weight", roundRobin(), false],
  ["pick first", pickFirst(), true],
  ["consistent hash", consistentHash("x-user"), true],
  ["p2c, static tags", ruled("tag-router", ""), true],
  ["p2c, tag rule", ruled("tag-router", TAGS), true],
  ["p2c, condition rule", ruled("condition-router", METHODS), true],
  ["p2c, destinations by weight", ruled("condition-router", CANARY), true],
];

/** Returns the shortest of several rounds, in milliseconds. */
function measure(work: () => void): number {
  let least = Number.POSITIVE_INFINITY;
  for (let round = 0; round < ROUNDS; round++) {
    const start = performance.now();
    work();
    least = Math.min(least, performance.now() - start);
  }
  return least;
}

console.log("| policy | pick at 10 | pick at 100 | pick at 1,000 | picker of 1,000 |\n|---|---|---|---|---|");
for (const [name, balancer, isEven] of POLICIES) {
  const picks = [10, 100, 1_000].map((count) => {
    const picker = balancer(endpoints(count, isEven), []);
    return (
      (measure(() => {
        for (let i = 0; i < PICKS; i++) picker(requests[i & 1_023] as HttpRequest);
      }) *
        1e6) /
      PICKS
    );
  });
  const ready = endpoints(1_000, isEven);
  const picker = measure(() => balancer(ready, []));
  console.log(`| ${name} | ${picks.map((ns) => `${ns.toFixed(0)} ns`).join(" | ")} | ${picker.toFixed(2)} ms |`);
}

const plain: Exchange = async () => ({
  status: 200,
  headers: new Metadata(),
  body: emptyBody,
  trailers: new Metadata(),
});
const connections = {
  active: 0,
  backoffMs: 0,
  connect: () => new Promise<void>((resolve) => void setImmediate(resolve)),
  check: async () => true,
  observed: observedBy(plain),
  close: async () => {},
  destroy: () => {},
};
const listOf = (count: number) => endpoints(count, true).map(({ endpoint }) => endpoint);

function createTarget(
  count: number,
  balancer: RoutedBalancer = p2c(),
  connect: (endpoint: { readonly address: string }) => typeof connections = () => connections,
): TargetDriver {
  return new TargetDriver(
    async function* () {
      yield listOf(count);
    },
    connect,
    {
      name: "greet",
      balancer,
      subset: undefined,
      keepUnlistedMs: 300_000,
      idleTimeoutMs: 900_000,
      warmUpMs: 0,
      ejection: resolveEjection(undefined),
    },
  );
}

const least = new Map<string, number>();
const balanced = balance(createTarget(1));
await balanced(request);
for (let round = 0; round < ROUNDS; round++) {
  for (const [name, exchange] of [["plain", plain] as const, ["balanced", balanced] as const]) {
    const start = performance.now();
    for (let i = 0; i < EXCHANGES; i++) await exchange(request);
    least.set(name, Math.min(least.get(name) ?? Number.POSITIVE_INFINITY, performance.now() - start));
  }
}
const added = ((least.get("balanced") as number) - (least.get("plain") as number)) / EXCHANGES;
console.log(`\nA balanced exchange costs ${(added * 1e6).toFixed(0)} ns more than a plain one.`);

const gc = (globalThis as { gc?: () => void }).gc;
gc?.();
const before = process.memoryUsage().heapUsed;
const target = createTarget(10_000);
let longest = 0;
let last = mainThreadNanoseconds() ?? Number.NaN;
const watch = setInterval(() => {
  const now = mainThreadNanoseconds() ?? Number.NaN;
  longest = Math.max(longest, (now - last) / 1e6);
  last = now;
}, 1);
const start = performance.now();
await balance(target)(request);
const first = performance.now() - start;
await new Promise((resolve) => setTimeout(resolve, 1_000));
clearInterval(watch);
gc?.();
const bytes = (process.memoryUsage().heapUsed - before) / 10_000;
console.log(
  `A list of 10,000: the first answer after ${first.toFixed(0)} ms, the longest task takes ${longest.toFixed(0)} ms of CPU time, ${bytes.toFixed(0)} bytes of heap each.`,
);
await target.close();

/** The calls that each of the unequal servers executes at a time, and their duration. */
const SLOTS = [16, 4, 4, 4];
const CALL_MS = 10;
const LOAD = 0.7;
const WARM_UP_MS = 2_000;
const MEASURED_MS = 4_000;
/** The interval over which a server measures its load. */
const SAMPLE_MS = 200;

/** A server that queues calls above its slots, and reports its load with each call. */
function startServer(slots: number): typeof connections & { calls: number } {
  const waiting: (() => void)[] = [];
  let [running, busyMs, ended, since, trailers] = [0, 0, 0, performance.now(), new Metadata()];
  const sample = (): void => {
    const elapsedMs = performance.now() - since;
    if (elapsedMs < SAMPLE_MS) return;
    const applicationUtilization = busyMs / elapsedMs / slots;
    const report = create(OrcaLoadReportSchema, { applicationUtilization, rpsFractional: (ended * 1_000) / elapsedMs });
    trailers = new Metadata({ "endpoint-load-metrics-bin": OrcaLoadReportCodec.encode(report) });
    [busyMs, ended, since] = [0, 0, performance.now()];
  };
  const exchange: Exchange = async () => {
    server.active++;
    server.calls++;
    if (running === slots) await new Promise<void>((resolve) => waiting.push(resolve));
    else running++;
    const begun = performance.now();
    await new Promise((resolve) => setTimeout(resolve, CALL_MS));
    busyMs += performance.now() - begun;
    ended++;
    sample();
    const next = waiting.shift();
    if (next === undefined) running--;
    else next();
    server.active--;
    return { status: 200, headers: new Metadata(), body: emptyBody, trailers };
  };
  const server = { ...connections, active: 0, calls: 0, observed: observedBy(exchange) };
  return server;
}

const capacity = (SLOTS.reduce((sum, slots) => sum + slots, 0) * 1_000) / CALL_MS;
console.log(
  `\nServers with ${SLOTS.join(", ")} slots of ${CALL_MS} ms, ${Math.round(capacity * LOAD)} calls a second:\n`,
);
console.log("| policy | median | 99 % | share of the largest, of 57 % |\n|---|---|---|---|");
const compared: readonly (readonly [string, () => RoutedBalancer])[] = [
  ["p2c", p2c],
  ["round robin", roundRobin],
  ["weighted round robin", () => weightedRoundRobin({ blackoutPeriodMs: 500, weightUpdatePeriodMs: 100 })],
];
for (const [name, make] of compared) {
  const servers: ReturnType<typeof startServer>[] = [];
  const unequal = createTarget(SLOTS.length, make(), () => {
    const server = startServer(SLOTS[servers.length] as number);
    servers.push(server);
    return server;
  });
  const call = balance(unequal);
  const latencies: number[] = [];
  const begun = performance.now();
  let made = 0;
  for (let time = 0; time < WARM_UP_MS + MEASURED_MS; time = performance.now() - begun) {
    if (time < WARM_UP_MS) for (const server of servers) server.calls = 0;
    for (; made < (time * capacity * LOAD) / 1_000; made++) {
      const sent = performance.now();
      void call(request).then(() => time >= WARM_UP_MS && latencies.push(performance.now() - sent));
    }
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  latencies.sort((a, b) => a - b);
  const [median, most] = [0.5, 0.99].map((share) => latencies[Math.floor(share * latencies.length)]?.toFixed(0));
  const share = (servers[0]?.calls ?? 0) / servers.reduce((sum, { calls }) => sum + calls, 0);
  console.log(`| ${name} | ${median} ms | ${most} ms | ${(share * 100).toFixed(0)} % |`);
  await unequal.close();
}
