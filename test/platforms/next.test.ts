/** The handler as a route of a Next app, which is built and served. CONTRIBUTING.md describes how to install Next. */
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";
import { build } from "esbuild";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ROOT } from "../support/documents.ts";
import { makeCalls, type Platform } from "../support/platforms.ts";
import { freePort } from "../support/server.ts";
import { EXPECTED_IN_BOTH } from "./calls.ts";

const run = promisify(execFile);
const APP = join(ROOT, "test/platforms/next");
const NEXT = join(APP, "node_modules/next/dist/bin/next");
const hasNext = existsSync(NEXT);
if (!hasNext) console.warn("skipped: Next; CONTRIBUTING.md says how to install it");

describe.skipIf(!hasNext)("a route of Next", () => {
  let server: ChildProcess;
  let cache: string;
  let baseUrl: string;

  beforeAll(async () => {
    cache = mkdtempSync(join(tmpdir(), "triple-es-next-"));
    await bundleRoute();
    const env = { ...process.env, NODE_ENV: "production", NEXT_TELEMETRY_DISABLED: "1" } as const;
    await run(process.execPath, [NEXT, "build"], { cwd: APP, env });
    const port = await freePort();
    const start = [NEXT, "start", "--port", String(port), "--hostname", "127.0.0.1"];
    server = spawn(process.execPath, start, { cwd: APP, env, stdio: ["ignore", "pipe", "inherit"] });
    if (server.stdout === null) throw new Error("Next has no output");
    for await (const line of createInterface({ input: server.stdout })) if (line.includes("Ready")) break;
    baseUrl = `http://127.0.0.1:${port}/rpc`;
  }, 120_000);

  afterAll(async () => {
    if (server?.exitCode === null && server.kill()) await once(server, "exit");
    rmSync(cache, { recursive: true, force: true });
  });

  it.each<Platform>(["Node"])("answers the calls of a client on %s", async (platform) => {
    expect(await makeCalls(platform, baseUrl, cache)).toEqual(EXPECTED_IN_BOTH);
  });

  it("answers a preflight", async () => {
    const headers = { origin: "https://friend.example", "access-control-request-method": "POST" };
    const response = await fetch(`${baseUrl}/greet.v1.GreetService/Greet`, { method: "OPTIONS", headers });
    expect([response.status, response.headers.get("access-control-allow-origin")]).toEqual([
      204,
      "https://friend.example",
    ]);
  });
});

/** Next resolves neither the sources nor their condition, so they are bundled into one file. */
async function bundleRoute(): Promise<void> {
  await build({
    entryPoints: [join(ROOT, "test/platforms/next-route.ts")],
    outfile: join(APP, "app/rpc/[...method]/route.js"),
    bundle: true,
    format: "esm",
    platform: "node",
    conditions: ["triple-source"],
    logLevel: "warning",
  });
}
