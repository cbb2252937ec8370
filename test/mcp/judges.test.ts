/**
 * The conformance suite and the inspector of the Model Context Protocol judge the tools of a server. They have a separate
 * lock file, test/mcp/judges; if it is not installed, the tests are skipped with a message.
 */
import { execFile } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { addMcp } from "triple-es/mcp";
import { addOpenApi } from "triple-es/openapi";
import { describe, expect, it, onTestFinished } from "vitest";
import { ROOT } from "../support/documents.ts";
import { freePort } from "../support/port.ts";
import { startServer } from "../support/server.ts";

const run = promisify(execFile);
const MODULES = join(ROOT, "test/mcp/judges/node_modules/@modelcontextprotocol");
const hasJudges = existsSync(MODULES);
if (!hasJudges) console.warn("skipped: judges of MCP; CONTRIBUTING.md says how to install them");

const GREET = "greet.v1.GreetService.Greet";
const GREET_EACH = "greet.v1.GreetService.GreetEach";

/** Serves two tools with comments, also to pages of the server's own origin. Returns the URL. */
async function startTools(): Promise<string> {
  const port = await freePort();
  const origin = `http://127.0.0.1:${port}`;
  const { server } = await startServer({}, { cors: { origins: [origin] } }, port);
  const post = { summary: "Greets", description: "Greets." };
  const paths = { "/greet.v1.GreetService/Greet": { post }, "/greet.v1.GreetService/GreetEach": { post } };
  addOpenApi(server, { documents: [{ paths, components: { schemas: {} } }] });
  addMcp(server, [GREET, GREET_EACH]);
  return `${origin}/mcp`;
}

/** The suite imports `globSync` of Node 22, which its scenarios for servers do not call. */
const HOOK = `export const resolve = (name, context, next) =>
  name === "fs" && context.parentURL.includes("/@modelcontextprotocol/conformance/")
    ? { url: "data:text/javascript,export * from 'node:fs'; export const globSync = undefined;", shortCircuit: true }
    : next(name, context);`;
const REGISTER = `import { register } from "node:module"; register(${JSON.stringify(moduleOf(HOOK))});`;

function moduleOf(text: string): string {
  return `data:text/javascript,${encodeURIComponent(text)}`;
}

/** Runs a scenario, and returns the names of the checks that do not succeed. */
async function judge(scenario: string, revision: string): Promise<string[]> {
  const suite = join(MODULES, "conformance/dist/index.js");
  const options = ["--url", await startTools(), "--scenario", scenario, "--spec-version", revision, "--verbose"];
  const args = ["--import", moduleOf(REGISTER), suite, "server", ...options];
  const { stdout } = await run(process.execPath, args).catch((error) => error);
  const checks: { id: string; status: string }[] = JSON.parse(/^\[$.*?^\]$/ms.exec(stdout)?.[0] ?? stdout);
  expect(checks.some(({ status }) => status === "SUCCESS")).toBe(true);
  return checks.flatMap(({ id, status }) => (status === "FAILURE" || status === "WARNING" ? [id] : []));
}

describe.skipIf(!hasJudges)("the conformance suite", () => {
  it.each([
    ["tools-list", "2025-11-25"],
    ["tools-list", "2026-07-28"],
    ["dns-rebinding-protection", "2026-07-28"],
    ["http-header-validation", "2026-07-28"],
    ["server-sse-multiple-streams", "2026-07-28"],
  ])("passes %s of the revision %s", async (scenario, revision) => {
    expect(await judge(scenario, revision)).toEqual([]);
  });

  it("misses only tools with its own names", async () => {
    expect(await judge("server-stateless", "2026-07-28")).toEqual([
      "sep-2575-server-rejects-undeclared-capability",
      "sep-2575-missing-capability-http-400",
      "sep-2575-http-server-no-independent-requests-on-stream",
      "sep-2575-server-no-log-without-loglevel",
    ]);
  });
});

it.skipIf(!hasJudges).each(["legacy", "modern"])("the inspector lists and calls tools: %s", async (protocolEra) => {
  const home = mkdtempSync(join(tmpdir(), "inspector-"));
  onTestFinished(() => rmSync(home, { recursive: true }));
  const config = join(home, "mcp.json");
  const tools = { type: "streamable-http", url: await startTools(), protocolEra };
  writeFileSync(config, JSON.stringify({ mcpServers: { tools } }));
  const inspect = async (...args: string[]) => {
    const program = join(MODULES, "inspector/clients/launcher/build/index.js");
    const all = [program, "--cli", "--config", config, "--server", "tools", "--format", "json", ...args];
    const env = { ...process.env, HOME: home, MCP_INSPECTOR_SECRET_STORE: "memory" };
    return JSON.parse((await run(process.execPath, all, { env })).stdout).result;
  };
  const listed = await inspect("--method", "tools/list", "--strict");
  expect(listed.tools.map(({ name }: { name: string }) => name)).toEqual([GREET, GREET_EACH]);
  const called = await inspect("--method", "tools/call", "--tool-name", GREET, "--tool-arg", "name=Ada");
  expect(called.structuredContent).toEqual({ greeting: "Hello, Ada!" });
});
