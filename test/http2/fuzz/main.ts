/**
 * Runs the property tests of the HTTP/2 engine (fuzz, model, chunking, HPACK) many times, in shards that each have a seed of
 * their own, and prints the seed of every shard:
 *
 *     npm run fuzz                 # 1,000,000 runs of each property in 50 shards
 *     npm run fuzz -- 10000 1 7    # 10,000 runs in one shard whose seed is 7
 *
 * A failed shard is repeated with `HTTP2_SEED=seed HTTP2_RUNS=runs npx vitest run test/http2`.
 */
import { spawnSync } from "node:child_process";
import { join } from "node:path";

const ROOT = join(import.meta.dirname, "../../..");
const FILES = ["fuzz", "model", "chunking", "hpack"].map((name) => `test/http2/${name}.test.ts`);
/** Time limit for a shard, which only a hang exceeds. */
const TIMEOUT_MS = 2 * 60 * 60_000;

const [total = 1_000_000, shards = 50, firstSeed = Date.now() & 0x3fff_ffff] = process.argv.slice(2).map(Number);
const runs = Math.ceil(total / shards);
const vitest = join(ROOT, "node_modules/vitest/vitest.mjs");
let failed = 0;
for (let shard = 0; shard < shards; shard++) {
  const seed = firstSeed + shard;
  const start = performance.now();
  const env = { ...process.env, HTTP2_RUNS: String(runs), HTTP2_SEED: String(seed) };
  const child = spawnSync(process.execPath, [vitest, "run", ...FILES], {
    ...{ cwd: ROOT, env, encoding: "utf8", timeout: TIMEOUT_MS },
  });
  const seconds = ((performance.now() - start) / 1000).toFixed(0);
  const verdict = child.status === 0 ? "ok" : "FAILED";
  console.log(
    `shard ${shard + 1} of ${shards}, seed ${seed}, ${runs} runs of each property: ${verdict} (${seconds} s)`,
  );
  if (child.status === 0) continue;
  failed++;
  console.log(child.stdout + child.stderr);
}
console.log(`${shards - failed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;
