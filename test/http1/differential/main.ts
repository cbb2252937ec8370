/**
 * Compares the HTTP/1.1 engine with llhttp on mutated dialogues.
 *
 *     node scripts/run.js test/http1/differential/main.ts 100000 7    # 100,000 dialogues with the seed 7
 */
import fc from "fast-check";
import { dialogues, isAsStrict } from "./llhttp.ts";

const [count = "10000", seed = `${Date.now() % 1_000_000}`] = process.argv.slice(2);
console.log(`${count} dialogues with the seed ${seed}`);
await fc.assert(
  fc.asyncProperty(dialogues, async (text) => {
    if (!(await isAsStrict(text))) throw new Error(`llhttp does not receive this: ${JSON.stringify(text)}`);
  }),
  { numRuns: Number(count), seed: Number(seed) },
);
console.log("no difference");
