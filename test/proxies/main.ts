/**
 * `npm run proxies`: calls through nginx and HAProxy, which get another configuration in the middle. Both ends count:
 * every call ends, is answered with its own answer, and runs once. A call may fail only if the proxy lost it, as it
 * does with grpc-js at both ends. HAProxy also refuses large requests early: the client must report each refusal.
 *
 *     npm run proxies -- 10000
 */
import { unlessMissing } from "../interop/peer.ts";
import { uploadToHaproxy } from "./early.ts";
import { clients, servers } from "./ends.ts";
import { findProxy, type ProxyKind } from "./proxy.ts";

/** Calls before and after the change of the configuration, at least. */
const [CALLS = 10_000] = process.argv.slice(2).map(Number);
const IN_FLIGHT = 50;
/** Time limit for the change of the configuration to have an effect on calls. */
const RELOAD_MS = 60_000;
/** Exit status of a judge that is not there. */
const CANNOT_RUN = 3;

type End = keyof typeof clients;

interface Outcome {
  readonly calls: number;
  /** Calls that were answered, by the configuration of the proxy. */
  readonly answered: ReadonlyMap<string | undefined, number>;
  /** Errors of calls that failed, with their numbers. */
  readonly failures: ReadonlyMap<string, number>;
  /** Calls that were answered without a run of the handler, and runs beyond the first of a call. */
  readonly notRun: number;
  readonly runTwice: number;
  /** Calls that failed, and of these the ones whose handler ran. */
  readonly failed: number;
  readonly failedAfterRun: number;
}

async function run(kind: ProxyKind, client: End, server: End): Promise<Outcome> {
  const serving = await servers[server]();
  const proxy = await kind.start(serving.port);
  const calling = clients[client](proxy.port);
  const answered = new Map<string | undefined, number>();
  const failures = new Map<string, number>();
  const failedNames: string[] = [];
  const answeredNames: string[] = [];
  let calls = 0;
  let ended = 0;
  let reloadedAt = 0;
  const isOver = (): boolean => {
    const after = answered.get("2") ?? 0;
    const isLate = reloadedAt > 0 && performance.now() - reloadedAt > RELOAD_MS;
    return calls >= CALLS && (after >= CALLS / 4 || isLate);
  };
  const work = async (): Promise<void> => {
    while (!isOver()) {
      const name = `call ${++calls}`;
      try {
        const configuration = await calling.call(name);
        answered.set(configuration, (answered.get(configuration) ?? 0) + 1);
        answeredNames.push(name);
      } catch (error) {
        const text = error instanceof Error ? error.message : String(error);
        failures.set(text, (failures.get(text) ?? 0) + 1);
        failedNames.push(name);
      }
      if (++ended !== Math.floor(CALLS / 2)) continue;
      proxy.reload();
      reloadedAt = performance.now();
    }
  };
  await Promise.all(Array.from({ length: IN_FLIGHT }, work));
  await calling.close();
  await proxy.stop();
  await serving.stop();
  const { runs } = serving;
  return {
    calls,
    answered,
    failures,
    notRun: answeredNames.filter((name) => !runs.has(name)).length,
    runTwice: [...runs.values()].filter((times) => times > 1).length,
    failed: failedNames.length,
    failedAfterRun: failedNames.filter((name) => runs.has(name)).length,
  };
}

/** The faults of an outcome, which must be none. `lost`: calls that the proxy loses with grpc-js at both ends. */
function faultsOf(outcome: Outcome, lost: number): string[] {
  const { calls, answered, notRun, runTwice, failed } = outcome;
  const all = [...answered.values()].reduce((sum, count) => sum + count, 0) + failed;
  const faults: string[] = [];
  if (all !== calls) faults.push(`${calls - all} calls have not ended`);
  if (notRun > 0) faults.push(`${notRun} calls did not reach the handler`);
  if (runTwice > 0) faults.push(`${runTwice} calls ran more than once`);
  if (!answered.has("1") || !answered.has("2")) faults.push("the configuration did not change during the calls");
  if (failed > lost) faults.push(`${failed} calls failed, and ${lost} with grpc-js at both ends`);
  return faults;
}

async function main(): Promise<number> {
  const skipped: string[] = [];
  let failed = 0;
  let passed = 0;
  for (const name of ["nginx", "haproxy"] as const) {
    const kind = await unlessMissing(name, skipped, () => findProxy(name));
    if (kind === undefined) continue;
    let lost = 0;
    for (const [client, server] of PAIRS) {
      const start = performance.now();
      const outcome = await run(kind, client, server);
      const isPeer = client === "grpc-js" && server === "grpc-js";
      if (isPeer) lost = outcome.failed;
      const faults = isPeer ? [] : faultsOf(outcome, lost);
      const { calls, answered, failures, failedAfterRun } = outcome;
      const seconds = ((performance.now() - start) / 1000).toFixed(1);
      const counts = `${answered.get("1") ?? 0} + ${answered.get("2") ?? 0} of ${calls} calls answered, ${outcome.failed} failed (${failedAfterRun} after their run), ${outcome.runTwice} ran twice`;
      console.log(`${client} -> ${kind.name} -> ${server}: ${counts} (${seconds} s)`);
      for (const [text, count] of failures) console.log(`  ${count} x ${text}`);
      for (const fault of faults) console.log(`  FAILED: ${fault}`);
      if (faults.length > 0) failed++;
      else passed++;
    }
    if (name === "haproxy") {
      for (const { title, uploads, refused, others } of await uploadToHaproxy()) {
        console.log(`triple -> ${kind.name}, ${title}: ${refused} of ${uploads} early refusals reported`);
        for (const [text, count] of others) console.log(`  FAILED: ${count} x ${text}`);
        if (others.size > 0 || refused !== uploads) failed++;
        else passed++;
      }
    }
  }
  for (const line of skipped) console.log(line);
  console.log(`${passed} passed, ${failed} failed, ${skipped.length} proxies skipped`);
  return failed > 0 ? 1 : passed === 0 ? CANNOT_RUN : 0;
}

/** The first pair tells what the proxy loses by itself. */
const PAIRS: readonly (readonly [client: End, server: End])[] = [
  ["grpc-js", "grpc-js"],
  ["triple", "triple"],
  ["grpc-js", "triple"],
  ["triple", "grpc-js"],
];

process.exitCode = await main();
