/**
 * Calls over sockets to ten servers: how evenly each client spreads them and how closely by weight, and the CPU time of
 * a call through load balancing beside one through a plain transport to one server. Ours beside `@grpc/grpc-js` with
 * `round_robin` in one run. nice-grpc uses grpc-js, and so spreads calls as it does.
 *
 *     npm run bench:spread
 */
import { Client, credentials } from "@grpc/grpc-js";
import { type Endpoint, fixed, p2c, type Resolver, roundRobin } from "triple-es/discovery";
import { type BalancedTransportOptions, createServer, createTransport } from "triple-es/node";
import { mainThreadNanoseconds } from "../cpu-time.ts";
import { echoPath, echoProto, echoRequest } from "../messages/echo.ts";
import { echoService } from "../messages/echo-service.ts";
import { createEchoServiceClient, EchoServiceDef } from "../messages/gen/echo_triple.ts";

const SERVERS = 10;
const CALLS = 10_000;
const CALLERS = 50;
const ROUNDS = 25;
const WARM_UP = 4;

interface Entrant {
  readonly call: () => Promise<unknown>;
  readonly close: () => unknown;
}

const counts = new Map<string, number>();

/** Starts a server that counts its calls. Returns its address. */
async function startServer(): Promise<string> {
  const server = createServer().add(EchoServiceDef, {
    ...echoService,
    echo(request) {
      counts.set(address, (counts.get(address) ?? 0) + 1);
      return request;
    },
  });
  await server.listen({ port: 0, host: "127.0.0.1" });
  const address = `127.0.0.1:${server.address.port}`;
  return address;
}

function triple(addresses: readonly string[], options: Partial<BalancedTransportOptions> = {}): Entrant {
  const transport = createTransport({ resolver: fixed(addresses), ...options });
  const client = createEchoServiceClient(transport);
  return { call: () => client.echo(echoRequest), close: () => transport.close() };
}

function plain(address: string): Entrant {
  const transport = createTransport({ baseUrl: `http://${address}` });
  const client = createEchoServiceClient(transport);
  return { call: () => client.echo(echoRequest), close: () => transport.close() };
}

function grpcJs(addresses: readonly string[]): Entrant {
  const config = { loadBalancingConfig: [{ round_robin: {} }] };
  const options = { "grpc.service_config": JSON.stringify(config), "grpc.enable_retries": 1 };
  const client = new Client(`ipv4:${addresses.join(",")}`, credentials.createInsecure(), options);
  const asIs = (bytes: Buffer): Buffer => bytes;
  const message = Buffer.from(echoProto);
  const call = (): Promise<unknown> =>
    new Promise((resolve, reject) => {
      client.makeUnaryRequest(echoPath, asIs, asIs, message, (error, response) =>
        error === null ? resolve(response) : reject(error),
      );
    });
  return { call, close: () => client.close() };
}

/** Makes calls, a fixed number at a time. */
async function load({ call }: Entrant, total: number, atOnce: number = CALLERS): Promise<void> {
  let made = 0;
  const callers = Array.from({ length: atOnce }, async () => {
    while (made++ < total) await call();
  });
  await Promise.all(callers);
}

const addresses = await Promise.all(Array.from({ length: SERVERS }, startServer));
console.log(`${CALLS} calls to ${SERVERS} servers, ${CALLERS} at a time\n`);
console.log("| client | least | most | largest deviation from even |\n|---|---|---|---|");
const spreads: readonly (readonly [string, () => Entrant])[] = [
  ["triple-es, p2c", () => triple(addresses)],
  ["triple-es, round robin", () => triple(addresses, { balancer: roundRobin() })],
  ["grpc-js, round_robin", () => grpcJs(addresses)],
];
for (const [name, make] of spreads) {
  const entrant = make();
  // All connections are made before the calls that count.
  await load(entrant, CALLS);
  await new Promise((resolve) => setTimeout(resolve, 500));
  counts.clear();
  await load(entrant, CALLS);
  await entrant.close();
  const all = addresses.map((address) => counts.get(address) ?? 0);
  const [least, most, even] = [Math.min(...all), Math.max(...all), CALLS / SERVERS];
  const deviation = Math.max(most - even, even - least) / even;
  console.log(`| ${name} | ${least} | ${most} | ${(deviation * 100).toFixed(1)} % |`);
}

// Endpoints of two weights, and endpoints half way through their warm-up beside others: their share of the calls.
const weighted = (weightOf: (index: number) => Partial<Endpoint>): Resolver =>
  async function* () {
    yield addresses.map((address, index) => ({ address, ...weightOf(index) }));
  };
const isHeavy = (index: number): boolean => index % 2 === 0;
const WARM_UP_MS = 3_600_000;
const halfWarm = Date.now() - WARM_UP_MS / 2;
const mixes: readonly (readonly [string, number, Resolver])[] = [
  ["weights 300 and 100", 3 / 4, weighted((index) => ({ weight: isHeavy(index) ? 300 : 100 }))],
  ["warmed up, and half way", 2 / 3, weighted((index) => (isHeavy(index) ? {} : { since: halfWarm }))],
];
console.log(
  "\n| half of the endpoints each | policy | calls at a time | share of the heavier half | deviation |\n|---|---|---|---|---|",
);
for (const [mix, wanted, resolver] of mixes) {
  for (const balancer of [p2c(), roundRobin()]) {
    for (const atOnce of [1, CALLERS]) {
      const entrant = triple(addresses, { resolver, balancer, warmUpMs: WARM_UP_MS });
      await load(entrant, CALLS, atOnce);
      counts.clear();
      await load(entrant, CALLS, atOnce);
      await entrant.close();
      const all = addresses.map((address) => counts.get(address) ?? 0);
      const share = all.filter((_, index) => isHeavy(index)).reduce((sum, one) => sum + one, 0) / CALLS;
      const percent = (one: number): string => `${(one * 100).toFixed(1)} %`;
      const deviation = percent(Math.abs(share / wanted - 1));
      console.log(
        `| ${mix} | ${balancer.policy} | ${atOnce} | ${percent(share)} of ${percent(wanted)} | ${deviation} |`,
      );
    }
  }
}

// Client and server share the process, and the CPU time is that of both.
const [first = ""] = addresses;
const [one, balanced] = [plain(first), triple([first])];
console.log(
  "\n| calls to one server at a time | CPU of a call, plain | CPU of a call, balanced relative to it |\n|---|---|---|",
);
for (const atOnce of [1, CALLERS]) {
  const ratios: number[] = [];
  let least = Number.POSITIVE_INFINITY;
  for (let round = 0; round < ROUNDS; round++) {
    const spent = new Map<Entrant, number>();
    for (const entrant of round % 2 === 0 ? [one, balanced] : [balanced, one]) {
      const before = mainThreadNanoseconds() ?? Number.NaN;
      await load(entrant, CALLS, atOnce);
      spent.set(entrant, (mainThreadNanoseconds() ?? Number.NaN) - before);
    }
    const [a = Number.NaN, b = Number.NaN] = [spent.get(one), spent.get(balanced)];
    // The first rounds compile the code.
    if (round < WARM_UP) continue;
    ratios.push(b / a);
    least = Math.min(least, a / CALLS / 1_000);
  }
  ratios.sort((a, b) => a - b);
  const median = ratios[Math.floor(ratios.length / 2)] ?? Number.NaN;
  console.log(`| ${atOnce} | ${least.toFixed(1)} µs | ${median.toFixed(3)} |`);
}
await one.close();
await balanced.close();
process.exit();
