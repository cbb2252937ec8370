/**
 * Goodput while one of three providers is overloaded: the calls that succeed in their deadline, compared with those of
 * the other two alone. Ours and `@grpc/grpc-js` with `round_robin`, in turn in one run.
 *
 *     npm run bench:overload -- --seconds 4
 *
 * Each provider executes 8 calls at a time, 100 ms each, and queues the rest. Other clients keep three times as many
 * calls open at one of them.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { Client, credentials } from "@grpc/grpc-js";
import { fixed, roundRobin } from "triple-es/discovery";
import { type BalancedTransportOptions, createServer, createTransport } from "triple-es/node";
import { echoPath, echoProto, echoRequest } from "../messages/echo.ts";
import { echoService } from "../messages/echo-service.ts";
import { createEchoServiceClient, EchoServiceDef } from "../messages/gen/echo_triple.ts";

const { values } = parseArgs({ options: { seconds: { type: "string", default: "4" } } });
const measuredMs = Number(values.seconds) * 1_000;
const SLOTS = 8;
const CALL_MS = 100;
const CALLERS = 4 * SLOTS;
const OVERLOAD = 3 * SLOTS;
const DEADLINE_MS = 1_000;
const ROUNDS = 3;

/** Starts a provider with a limited capacity. Returns its address. */
async function startProvider(): Promise<string> {
  let free = SLOTS;
  const waiting: (() => void)[] = [];
  const server = createServer().add(EchoServiceDef, {
    ...echoService,
    async echo(request) {
      if (free > 0) free--;
      else await new Promise<void>((resolve) => waiting.push(resolve));
      await sleep(CALL_MS);
      const next = waiting.shift();
      if (next === undefined) free++;
      else next();
      return request;
    },
  });
  await server.listen({ port: 0, host: "127.0.0.1" });
  return `127.0.0.1:${server.address.port}`;
}

interface Entrant {
  readonly call: () => Promise<unknown>;
  readonly close: () => unknown;
}

function triple(addresses: readonly string[], options: Partial<BalancedTransportOptions> = {}): Entrant {
  const transport = createTransport({ resolver: fixed(addresses), ...options });
  const client = createEchoServiceClient(transport);
  return { call: () => client.echo(echoRequest, { timeoutMs: DEADLINE_MS }), close: () => transport.close() };
}

function grpcJs(addresses: readonly string[]): Entrant {
  const config = { loadBalancingConfig: [{ round_robin: {} }] };
  const options = { "grpc.service_config": JSON.stringify(config), "grpc.enable_retries": 1 };
  const client = new Client(`ipv4:${addresses.join(",")}`, credentials.createInsecure(), options);
  const asIs = (bytes: Buffer): Buffer => bytes;
  const call = (): Promise<unknown> =>
    new Promise((resolve, reject) => {
      const deadline = { deadline: Date.now() + DEADLINE_MS };
      client.makeUnaryRequest(echoPath, asIs, asIs, Buffer.from(echoProto), deadline, (error, response) =>
        error === null ? resolve(response) : reject(error),
      );
    });
  return { call, close: () => client.close() };
}

/** Calls for a while. Returns the number of successes and failures in a second. */
async function measure({ call }: Entrant): Promise<{ good: number; failed: number }> {
  let [good, failed, isCounting, isStopped] = [0, 0, false, false];
  const callers = Array.from({ length: CALLERS }, async () => {
    while (!isStopped) {
      const isGood = await call().then(
        () => true,
        () => false,
      );
      if (isCounting && isGood) good++;
      else if (isCounting) failed++;
    }
  });
  await sleep(1_000);
  isCounting = true;
  const start = performance.now();
  await sleep(measuredMs);
  isCounting = false;
  const seconds = (performance.now() - start) / 1_000;
  isStopped = true;
  await Promise.all(callers);
  return { good: good / seconds, failed: failed / seconds };
}

const [overloaded = "", ...others] = await Promise.all([startProvider(), startProvider(), startProvider()]);
const all = [overloaded, ...others];
const pressure = createTransport({ baseUrl: `http://${overloaded}` });
const pressing = createEchoServiceClient(pressure);
let isOver = false;
const pressed = Array.from({ length: OVERLOAD }, async () => {
  while (!isOver) await pressing.echo(echoRequest);
});

console.log(`calls a second of ${CALLERS} callers with a deadline of ${DEADLINE_MS} ms`);
console.log("| client | the other two | all three, one overloaded | failed | ratio |\n|---|---|---|---|---|");
const makers: Readonly<Record<string, (addresses: readonly string[]) => Entrant>> = {
  "triple-es, p2c": (addresses) => triple(addresses),
  "triple-es, round robin": (addresses) => triple(addresses, { balancer: roundRobin() }),
  "grpc-js, round_robin": grpcJs,
};
/** Successes with the other two, successes with all three, and failures with all three, added up. */
const sums = new Map(Object.keys(makers).map((name) => [name, { alone: 0, mixed: 0, failed: 0 }]));
// The first round compiles the code. Rounds are interleaved, because the load of the machine varies.
for (let round = 0; round <= ROUNDS; round++) {
  for (const [name, make] of Object.entries(makers)) {
    for (const addresses of [others, all]) {
      const entrant = make(addresses);
      const { good, failed } = await measure(entrant);
      await entrant.close();
      const sum = sums.get(name);
      if (round === 0 || sum === undefined) continue;
      if (addresses === others) sum.alone += good / ROUNDS;
      else {
        sum.mixed += good / ROUNDS;
        sum.failed += failed / ROUNDS;
      }
    }
  }
}
for (const [name, { alone, mixed, failed }] of sums) {
  const cells = [name, alone.toFixed(0), mixed.toFixed(0), failed.toFixed(0), (mixed / alone).toFixed(2)];
  console.log(`| ${cells.join(" | ")} |`);
}
isOver = true;
await Promise.all(pressed);
process.exit();
