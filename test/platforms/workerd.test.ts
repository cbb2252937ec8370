/**
 * The handler in workerd, the runtime of Cloudflare Workers. It tells a handler that its client has left when the
 * stream's next message is sent, and a unary call never, so that the calls that wait for this are replaced here. The
 * package is that of examples/workers.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { build } from "esbuild";
import { createTransport } from "triple-es/fetch";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createGreetServiceClient } from "../../examples/gen/greet/v1/greet_triple.ts";
import { ROOT } from "../support/documents.ts";
import { isExampleInstalled } from "../support/examples.ts";
import { pause } from "../support/pause.ts";
import { type Calls, type CodecName, calls, EXPECTED } from "./calls.ts";

const WORKERD = join(ROOT, "examples/workers/node_modules/workerd/bin/workerd");
const WAIT_FOR_CANCELLATION: readonly (keyof Calls)[] = ["abort", "leave"];
const names = (Object.keys(EXPECTED) as (keyof Calls)[]).filter((name) => !WAIT_FOR_CANCELLATION.includes(name));

const CONFIG = `
using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [(name = "main", worker = .main)],
  sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "main")],
);
const main :Workerd.Worker = (
  modules = [(name = "worker", esModule = embed "worker.js")],
  compatibilityDate = "2026-10-01",
  bindings = [(name = "CALLEE", durableObjectNamespace = "Callee")],
  durableObjectNamespaces = [(className = "Callee", uniqueKey = "callee")],
  durableObjectStorage = (inMemory = void),
);
`;

describe.skipIf(!isExampleInstalled("workers"))("the handler in workerd", () => {
  let folder: string;
  let server: ChildProcess;
  let baseUrl: string;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "triple-es-workerd-"));
    writeFileSync(join(folder, "workerd.capnp"), CONFIG);
    await build({
      entryPoints: [join(ROOT, "test/platforms/worker.ts")],
      outfile: join(folder, "worker.js"),
      bundle: true,
      format: "esm",
      conditions: ["triple-source", "workerd"],
      logLevel: "warning",
    });
    const args = [WORKERD, "serve", join(folder, "workerd.capnp"), "--control-fd=1"];
    server = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"], detached: true });
    if (server.stdout === null) throw new Error("workerd has no output");
    const [line] = await once(createInterface({ input: server.stdout }), "line");
    baseUrl = `http://127.0.0.1:${JSON.parse(line).port}/rpc`;
  });

  afterAll(async () => {
    if (server?.pid !== undefined && server.exitCode === null) {
      // SIGTERM would wait for requests that their clients have left.
      process.kill(-server.pid, "SIGKILL");
      await once(server, "exit");
    }
    rmSync(folder, { recursive: true, force: true });
  });

  describe.each<CodecName>(["json", "proto"])("in %s", (codec) => {
    it.each(names)("answers the call: %s", async (name) => {
      expect(await calls[name](baseUrl, codec)).toEqual(EXPECTED[name]);
    });
  });

  it("waits for a slow reader, and ends the handler of a stream when its reader leaves", async () => {
    const greeter = createGreetServiceClient(createTransport({ baseUrl }));
    const readState = async (): Promise<string> => (await greeter.greet({ name: "Flood" })).greeting;
    for await (const { greeting } of greeter.greetEach({ names: ["Flood"] }, { timeoutMs: 50_000 })) {
      expect(greeting).toHaveLength(16 * 1024);
      // The buffers on the way are full when the number of messages no longer changes.
      let before = "";
      for (let now = await readState(); now !== before; now = await readState()) {
        before = now;
        await pause(300);
      }
      expect(before).toMatch(/^runs \d+$/);
      break;
    }
    await expect.poll(readState, { timeout: 50_000 }).toMatch(/^ended/);
  });

  it("decodes more bytes than a turn of the event loop may, in requests whose callbacks it drops", async () => {
    const greeter = createGreetServiceClient(createTransport({ baseUrl: baseUrl.replace("/rpc", "/direct") }));
    const name = "a".repeat(60_000);
    for (let i = 0; i < 10; i++) expect((await greeter.greet({ name })).greeting).toContain(name);
  });

  it.each<[string, number, RequestInit]>([
    ["JSON", 200, { headers: { "content-type": "application/json" }, body: '[{"name":"Ada"}]' }],
    ["a form", 200, { headers: { "tri-protocol-version": "1.0.0" }, body: new URLSearchParams({ name: "Ada" }) }],
    ["XML", 200, { headers: { "content-type": "application/xml" }, body: "<request><name>Ada</name></request>" }],
    ["YAML", 415, { headers: { "content-type": "application/yaml" }, body: "name: Ada" }],
    ["a body that cannot be decoded", 400, { headers: { "content-type": "application/json" }, body: "[{" }],
  ])("answers %s with %d", async (_, status, init) => {
    const response = await fetch(`${baseUrl}/greet.v1.GreetService/Greet`, { method: "POST", ...init });
    expect(response.status).toBe(status);
    expect(await response.text()).toContain(status === 200 ? "Hello, Ada!" : '"message":');
  });
});
