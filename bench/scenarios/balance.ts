/**
 * Measures the cost of choosing an endpoint: nanoseconds for a pick of each policy, milliseconds for creating its picker
 * and for applying a long list, and the cost of a balanced exchange compared with a plain one, in memory.
 */
import { Metadata } from "triple-es";
import {
  consistentHash,
  p2c,
  pickFirst,
  type ReadyEndpoint,
  type RoutedBalancer,
  roundRobin,
} from "triple-es/discovery";
import { rules } from "triple-es-dubbo/rules";
import { balance } from "../../runtime/src/discovery/balanced.ts";
import { resolveEjection } from "../../runtime/src/discovery/ejection-options.ts";
import { TargetDriver } from "../../runtime/src/discovery/target.ts";
import { emptyBody } from "../../runtime/src/http/body.ts";
import type { Exchange, HttpRequest } from "../../runtime/src/http/exchange.ts";
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
  ["consistent hash", consistentHash({ header: "x-user" }), true],
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
  exchange: plain,
  close: async () => {},
  destroy: () => {},
};
const listOf = (count: number) => endpoints(count, true).map(({ endpoint }) => endpoint);

function createTarget(count: number): TargetDriver {
  return new TargetDriver(
    async function* () {
      yield listOf(count);
    },
    () => connections,
    {
      name: "greet",
      balancer: p2c(),
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
