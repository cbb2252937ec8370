/** The guide for coding assistants: a project with its files and nothing else is generated, compiled, tested, served and called. */
import { execFile, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, it, onTestFinished } from "vitest";
import { assistantGuide } from "../site/llms.ts";
import { blocksOf, expectedOutput, readDocument } from "./support/documents.ts";
import { linkPackages } from "./support/linked-packages.ts";
import { environment, startProgram } from "./support/program.ts";

const run = promisify(execFile);
const hasCurl = spawnSync("curl", ["--version"]).status === 0;
if (!hasCurl) console.warn("skipped: the commands of llms.txt; curl is missing");
const guide = assistantGuide(readDocument);
const blocks = blocksOf("llms.txt", guide);
const files = new Map(blocks.flatMap(({ path, text }) => (path === undefined ? [] : [[path, text]])));
const commands = blocks.filter(({ language }) => language === "sh").map(({ text }) => text.trim().split("\n"));
const lines = commands.at(-1) ?? [];
const start = lines.indexOf("# In the first terminal:");

/** A module that has type errors if the guide's rules name something that does not exist. */
const rules = [
  'import type { CallOptions, HandlerContext } from "triple-es";',
  ...Array.from(
    guide.matchAll(/`(\w+)[^`]*`\s+(?:from|of)\s+`([@a-z/-]+)`/g),
    ([, name, from]) => `export { ${name} } from "${from}";`,
  ),
  ...Array.from(
    guide.matchAll(/`(\{ [\w, ]+ \}: \w+)`/g),
    ([, value], index) => `export const f${index} = (${value}) => {};`,
  ),
];

let folder: string;
let env: NodeJS.ProcessEnv;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "triple-es-llms-"));
  env = environment(await linkPackages(folder));
  writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
  for (const [path, text] of files) {
    mkdirSync(join(folder, dirname(path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
  writeFileSync(join(folder, "src/rules.ts"), rules.join("\n"));
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Runs a command in the project, and returns what it prints. npx would look for the packages itself. */
async function shell(line: string, more: NodeJS.ProcessEnv = {}): Promise<string> {
  const options = { cwd: folder, env: { ...env, ...more } };
  const { stdout } = await run("sh", ["-c", line.replace(/^npx /, "")], options).catch(({ stdout, stderr }) => {
    throw new Error(`${line} failed:\n${stdout}${stderr}`);
  });
  return stdout.trim();
}

it("installs packages of this repository and its dependencies", () => {
  const { dependencies, devDependencies } = JSON.parse(readDocument("package.json"));
  const known = ["triple-es", "protoc-gen-triple-es", ...Object.keys({ ...dependencies, ...devDependencies })];
  const installed = commands
    .flat()
    .flatMap((line) => /^npm install (?:--save-dev )?(.+)$/.exec(line)?.[1]?.split(" ") ?? []);
  expect(installed).toContain("triple-es");
  expect(installed.filter((name) => !known.includes(name))).toEqual([]);
});

it("leads to a project without type errors whose tests pass", async () => {
  let output = "";
  for (const line of lines.slice(0, start)) output = await shell(line);
  expect(rules).toHaveLength(8);
  expect(output).toMatch(/^# pass 5\n# fail 0$/m);
});

it.skipIf(!hasCurl)("leads to an image whose server answers as described and stops gracefully", async () => {
  const steps = Array.from(files.get("Dockerfile")?.matchAll(/^RUN (.+)$/gm) ?? [], ([, step = ""]) => step);
  for (const step of steps.filter((step) => step !== "npm ci")) await shell(step);
  const server = startProgram(folder, ["node", "dist/server.mjs"], { ...env, PORT: "0" });
  onTestFinished(async () => void (await server.stop()));
  const [, port] = await server.line(/listening on port (\d+)/);
  const client = await shell("tsx src/client.ts", { SERVER_URL: `http://localhost:${port}` });
  expect(client.split("\n")).toEqual(expectedOutput(files.get("src/client.ts") ?? ""));

  const curls = lines
    .slice(start)
    .join("\n")
    .replaceAll("8080", String(port))
    .split(/^(?=curl )/m)
    .slice(1)
    .map((curl) => curl.trimEnd().replace("curl ", "curl --silent ").split("\n"));
  expect(curls).toHaveLength(3);
  for (const [line = "", ...answer] of curls) {
    expect(await shell(line)).toBe(answer.map((text) => text.slice(2)).join("\n"));
  }

  const [watching = ""] = curls[1] ?? [];
  const watch = startProgram(folder, ["sh", "-c", watching.replace("500", "60000")], env);
  onTestFinished(async () => void (await watch.stop()));
  await watch.line(/"left":8/);
  await server.stop();
  await watch.line(/"code":"unavailable"/);
});
