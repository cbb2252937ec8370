/**
 * The client and the handler on `fetch`, in all pairs of JavaScript runtimes that support it. Bun and Deno are
 * packages of the example `runtimes`, see CONTRIBUTING.md.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { createServer as createRpcServer, type Server } from "triple-es/node";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { GreetServiceDef } from "../../examples/gen/greet/v1/greet_triple.ts";
import { ROOT } from "../support/documents.ts";
import { isInstalled, makeCalls, PLATFORMS, type Platform, platformEnvironment } from "../support/platforms.ts";
import { createCallee } from "./callee.ts";
import { EXPECTED_IN_BOTH } from "./calls.ts";

/** Platforms whose servers use `Request` and `Response`. */
const FETCH_SERVERS: readonly Platform[] = ["Bun", "Deno"];

let cache: string;
const servers: ChildProcess[] = [];
let nodeServer: Server;
/** Servers by the name of the platform. */
const baseUrls = new Map<Platform, string>();

beforeAll(async () => {
  cache = mkdtempSync(join(tmpdir(), "triple-es-platforms-"));
  nodeServer = createRpcServer({ maxMessageBytes: 100_000 }).add(GreetServiceDef, createCallee());
  await nodeServer.listen({ port: 0, host: "127.0.0.1" });
  baseUrls.set("Node", `http://127.0.0.1:${nodeServer.address.port}`);
  await Promise.all(FETCH_SERVERS.filter(isInstalled).map(startServer));
});

afterAll(async () => {
  await nodeServer?.close({ graceMs: 0 });
  for (const server of servers) if (server.exitCode === null && server.kill()) await once(server, "exit");
  rmSync(cache, { recursive: true, force: true });
});

async function startServer(name: Platform): Promise<void> {
  const [command, ...args] = PLATFORMS[name];
  const server = spawn(command, [...args, "test/platforms/server.ts"], {
    cwd: ROOT,
    env: platformEnvironment(cache),
    stdio: ["pipe", "pipe", "inherit"],
  });
  servers.push(server);
  const [port] = await Promise.race([
    once(createInterface({ input: server.stdout }), "line"),
    once(server, "exit").then(([code]) => Promise.reject(new Error(`the server of ${name} has ended with ${code}`))),
  ]);
  baseUrls.set(name, `http://127.0.0.1:${port}/rpc`);
}

const ALL: readonly Platform[] = ["Node", ...FETCH_SERVERS];
const pairs = ALL.flatMap((client) => ALL.map((server) => ({ client, server })));
const foreign = pairs.filter(({ client, server }) => client !== "Node" || server !== "Node");

describe.each(foreign)("$client calling $server", ({ client, server }) => {
  it.skipIf(!isInstalled(client) || !isInstalled(server))(
    "receives messages, metadata and errors, and can cancel",
    async () => {
      expect(await makeCalls(client, baseUrls.get(server) ?? "", cache)).toEqual(EXPECTED_IN_BOTH);
    },
  );
});

const GREET = "greet.v1.GreetService/Greet";
const form = new FormData();
form.set("name", "Ada");

describe.each(FETCH_SERVERS)("the handler in %s", (name) => {
  const send = (init: RequestInit, path = GREET): Promise<Response> => fetch(`${baseUrls.get(name)}/${path}`, init);
  const json = { "content-type": "application/json" };
  const own = { "tri-protocol-version": "1.0.0" };

  it.skipIf(!isInstalled(name)).each<[string, RequestInit]>([
    ["JSON", { headers: json, body: '[{"name":"Ada"}]' }],
    ["a form", { headers: own, body: new URLSearchParams({ name: "Ada" }) }],
    ["multipart", { headers: own, body: form }],
    [
      "text",
      { headers: { ...own, "content-type": "text/plain;charset=utf-16" }, body: Buffer.from("\ufeffAda", "utf16le") },
    ],
  ])("takes %s", async (_what, init) => {
    const response = await send({ method: "POST", ...init });
    expect([response.status, await response.json()]).toEqual([200, { greeting: "Hello, Ada!" }]);
  });

  it.skipIf(!isInstalled(name))("takes XML", async () => {
    const headers = { "content-type": "application/xml" };
    const response = await send({ method: "POST", headers, body: "<request><name>Ada</name></request>" });
    expect(await response.text()).toContain("<greeting>Hello, Ada!</greeting>");
  });

  it.skipIf(!isInstalled(name)).each<[string, number, RequestInit, string?]>([
    ["another method", 405, { method: "GET" }],
    [
      "another content type",
      415,
      { method: "POST", headers: { "content-type": "application/yaml" }, body: "name: Ada" },
    ],
    ["a method that there is not", 404, { method: "POST", headers: json, body: "[{}]" }, "greet.v1.GreetService/Wave"],
    ["a body that cannot be decoded", 400, { method: "POST", headers: json, body: "[{" }],
    ["a body over the limit", 413, { method: "POST", headers: json, body: `[{"name":"${"a".repeat(200_000)}"}]` }],
    [
      "a form of another origin",
      403,
      { method: "POST", headers: { origin: "https://stranger.example" }, body: new URLSearchParams({ name: "Ada" }) },
    ],
  ])("refuses %s with %d, and continues", async (_what, status, init, path) => {
    const response = await send(init, path);
    expect([response.status, await response.json()]).toEqual([
      status,
      {
        status: expect.any(Number),
        message: expect.any(String),
        code: expect.any(String),
        ...(status === 405 && { code: "unimplemented" }),
      },
    ]);
    expect((await send({ method: "POST", headers: json, body: '[{"name":"Ada"}]' })).status).toBe(200);
  });

  it.skipIf(!isInstalled(name))("answers a preflight, with no body", async () => {
    const headers = { origin: "https://friend.example", "access-control-request-method": "POST" };
    const response = await send({ method: "OPTIONS", headers });
    expect([response.status, await response.text()]).toEqual([204, ""]);
    expect(response.headers.get("access-control-allow-origin")).toBe("https://friend.example");
  });
});
