/** The project of docs/project.md: its protos, its generated package and the bundle of its server. */
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, it, onTestFinished } from "vitest";
import { compiled } from "../support/compiled.ts";
import { ROOT } from "../support/documents.ts";

const run = promisify(execFile);
const PROTO = "proto/hello/v1/hello.proto";

let project: string;
let env: NodeJS.ProcessEnv;

const buf = (...args: string[]) => run("buf", args, { cwd: project, env });

beforeAll(async () => {
  project = mkdtempSync(join(tmpdir(), "triple-es-monorepo-"));
  cpSync(`${ROOT}examples/monorepo`, project, { recursive: true });
  const modules = join(project, "node_modules");
  const commands = join(modules, ".bin");
  mkdirSync(commands, { recursive: true });
  mkdirSync(join(modules, "@acme"));
  symlinkSync(join(project, "packages/api"), join(modules, "@acme/api"));
  symlinkSync(`${ROOT}runtime`, join(modules, "triple-es"));
  symlinkSync(`${ROOT}node_modules/@bufbuild`, join(modules, "@bufbuild"));
  for (const name of ["buf", "protoc-gen-es", "esbuild"]) {
    symlinkSync(`${ROOT}node_modules/.bin/${name}`, join(commands, name));
  }
  const plugin = `#!/bin/sh\nexec "${process.execPath}" "${compiled("src/main.ts")}" "$@"\n`;
  writeFileSync(join(commands, "protoc-gen-triple-es"), plugin, { mode: 0o755 });
  env = { ...process.env, PATH: `${commands}${delimiter}${process.env["PATH"]}` };
  await buf("generate");
});

afterAll(() => rmSync(project, { recursive: true, force: true }));

it("passes buf lint, and buf breaking reports a field that is gone", async () => {
  await buf("lint");
  const before = join(project, "before");
  cpSync(join(project, "proto"), before, { recursive: true });
  await buf("breaking", "--against", "before");
  const file = join(project, PROTO);
  const text = readFileSync(file, "utf8");
  onTestFinished(() => writeFileSync(file, text));
  writeFileSync(file, text.replace("  string name = 1;\n", ""));
  await expect(buf("breaking", "--against", "before")).rejects.toMatchObject({
    stdout: expect.stringContaining("was deleted"),
  });
});

it("bundles a server that imports the package of generated code, and the bundle answers", async () => {
  const { scripts } = JSON.parse(readFileSync(join(project, "package.json"), "utf8"));
  await run("sh", ["-c", `${scripts.bundle} --conditions=triple-source --log-level=warning`], { cwd: project, env });
  const server = spawn(process.execPath, ["dist/server.mjs"], { cwd: project, env: { ...env, PORT: "0" } });
  onTestFinished(() => void server.kill());
  const [port] = await once(server.stdout, "data");
  const response = await fetch(`http://127.0.0.1:${Number(port)}/hello.v1.HelloService/SayHello`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: '{"name":"Ada"}',
  });
  expect(await response.json()).toEqual({ greeting: "Hello, Ada!" });
  server.kill("SIGTERM");
  expect(await once(server, "exit")).toEqual([0, null]);
});
