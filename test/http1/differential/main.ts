/**
 * `npm run differential:http1`: mutated requests and responses to the HTTP/1.1 engine and to other parsers. A message that the engine
 * accepts and another parser refuses or frames in another way is a finding, unless the difference is known.
 *
 *     npm run differential:http1 -- 10000 7               # 10,000 inputs of each role with the seed 7
 *     npm run differential:http1 -- 10000 7 llhttp go     # only these judges
 *     npm run differential:http1 -- 10000 7 path/to/node  # llhttp of another Node
 */
import fc from "fast-check";
import { unlessMissing } from "../../interop/peer.ts";
import { knownDifference } from "./differences.ts";
import { isSameInChunks, verdictOf } from "./engine.ts";
import { JUDGES, type Judge, startJudge } from "./judges.ts";
import { INPUTS, type Input, VARIANTS } from "./messages.ts";
import { shrink } from "./shrink.ts";
import { compare, type Verdict } from "./verdict.ts";

/** Inputs of a batch. Batch i of the seed s is batch 0 of the seed s + i. */
const BATCH = 500;
const PROGRESS_MS = 20_000;
/** Findings that are shrunk and printed. */
const MAX_PRINTED = 10;
/** Exit status of a judge that is not there. */
const CANNOT_RUN = 3;

const [total = 10_000, seed = Date.now() & 0x3fff_ffff] = process.argv.slice(2, 4).map(Number);
const names = process.argv.slice(4);

interface Finding {
  /** The judge and the kind of the difference. Findings with the same kind have probably the same cause. */
  readonly kind: string;
  readonly input: Input;
}

/** Counts of what is no finding, by its text. */
type Counts = Map<string, number>;

/** Returns the findings of inputs. */
async function judge(judges: readonly Judge[], inputs: readonly Input[], counts: Counts): Promise<Finding[]> {
  const findings: Finding[] = [];
  const answers = judges.map((one) => one.ask(inputs));
  const own = inputs.map(verdictOf);
  const theirs = await Promise.all(answers);
  for (const [i, input] of inputs.entries()) {
    const verdict = own[i] as Verdict;
    const add = (key: string): Counts => counts.set(key, (counts.get(key) ?? 0) + 1);
    if (!isSameInChunks(input, verdict)) findings.push({ kind: "the engine in other chunks", input });
    for (const [j, { name }] of judges.entries()) {
      const other = theirs[j]?.[i];
      const difference = other && compare(verdict, other);
      if (difference === undefined) continue;
      const known = knownDifference(name, difference, input);
      if (known !== undefined) add(`${name} ${known.what} (right: ${known.right}; ${known.why})`);
      else findings.push({ kind: `${name}: ${difference.kind}`, input });
    }
    const accepted = verdict.messages.filter(({ isWhole }) => isWhole).length;
    add(`${input.role}s: ${accepted} accepted`);
    const others = theirs.map((list) => list[i]).filter((one) => one !== undefined);
    if (
      verdict.isRefused &&
      others.length > 0 &&
      others.every(({ messages }) => messages.filter(({ isWhole }) => isWhole).length > accepted)
    ) {
      add(`${input.role}: only the engine refuses: ${verdict.reason}`);
    }
  }
  return findings;
}

async function report(judges: readonly Judge[], { kind, input }: Finding, batchSeed: number): Promise<void> {
  const small = await shrink(input, async (candidates) => {
    const found = new Set(
      (await judge(judges, candidates, new Map())).filter((one) => one.kind === kind).map((one) => one.input),
    );
    return candidates.find((candidate) => found.has(candidate));
  });
  console.log(`FINDING ${kind}, ${input.role}${input.isHead ? " to HEAD" : ""}: ${JSON.stringify(small.text)}`);
  console.log(`  engine: ${JSON.stringify(verdictOf(small))}`);
  for (const one of judges) console.log(`  ${one.name}: ${JSON.stringify((await one.ask([small]))[0])}`);
  console.log(`  npm run differential:http1 -- ${BATCH} ${batchSeed}${names.map((name) => ` ${name}`).join("")}`);
}

async function main(): Promise<number> {
  const skipped: string[] = [];
  const judges: Judge[] = [];
  for (const name of names.length > 0 ? names : Object.keys(JUDGES)) {
    const one = await unlessMissing(name, skipped, () => startJudge(name));
    if (one !== undefined) judges.push(one);
  }
  const counts: Counts = new Map();
  const printed = new Map<string, number>();
  let done = 0;
  let failed = 0;
  let time = Date.now();
  const run = async (inputs: readonly Input[], batchSeed: number): Promise<void> => {
    for (const finding of await judge(judges, inputs, counts)) {
      failed++;
      const count = (printed.get(finding.kind) ?? 0) + 1;
      printed.set(finding.kind, count);
      // The first of each kind says most.
      if (count <= 2 && printed.size <= MAX_PRINTED) await report(judges, finding, batchSeed);
    }
    done += inputs.length;
    if (Date.now() - time < PROGRESS_MS) return;
    time = Date.now();
    console.log(`${done} of ${VARIANTS.length + 2 * total} inputs, ${failed} findings`);
  };
  await run(
    VARIANTS.map(([, input]) => input),
    seed,
  );
  for (const role of ["request", "response"] as const) {
    for (let i = 0; i * BATCH < total; i++) {
      const numRuns = Math.min(BATCH, total - i * BATCH);
      await run(fc.sample(INPUTS[role], { numRuns, seed: seed + i }), seed + i);
    }
  }
  for (const one of judges) one.stop();
  console.log(`${done} inputs with the seed ${seed} to the engine, ${judges.map(({ name }) => name).join(", ")}`);
  for (const [key, count] of [...counts].sort()) console.log(`${String(count).padStart(8)}  ${key}`);
  for (const line of skipped) console.log(line);
  console.log(`${done - failed} passed, ${failed} failed, ${skipped.length} judges skipped`);
  return failed > 0 ? 1 : judges.length === 0 ? CANNOT_RUN : 0;
}

process.exitCode = await main();
