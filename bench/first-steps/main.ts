/**
 * `npm run bench:first`: from an empty folder to a service with a unary method that refuses an empty name, a server stream, a
 * client, a page and tests, by the first steps of triple-es and of its peers. Each folder of `entrants` has the commands, and the
 * files that somebody writes after the comment among them. All packages come from a registry of this machine, which a first
 * round fills; the second round, with an empty cache of npm, is printed. Chromium opens the page.
 *
 * `npm ci` in the root does not install the peers, so that the type checker and knip cannot resolve the imports of `entrants`.
 */
import { execFile } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { startRegistry } from "../../test/release/registry.ts";
import { launchBrowser } from "../../test/support/chromium.ts";
import { ROOT } from "../../test/support/documents.ts";
import { freePort } from "../../test/support/port.ts";
import { environment, type Program, startProgram } from "../../test/support/program.ts";

/** Not a synchronous call: a part of the registry runs in this process. */
const run = promisify(execFile);
const ENTRANTS = fileURLToPath(new URL("./entrants", import.meta.url));
/** The texts that the clients and the page print. */
const ANSWERS = ["Hello, Ada!", "Hello, Bob!", "Hello, Eve!"];

const folder = mkdtempSync(join(tmpdir(), "triple-es-first-"));
const registry = await startRegistry();
const browser = await launchBrowser();
try {
  await run("node", ["scripts/release.js", "--to", registry.url], { cwd: ROOT });
  for (const round of [1, 2]) {
    for (const name of readdirSync(ENTRANTS)) {
      const figures = await follow(name, join(folder, `${name}-${round}`));
      if (round === 2) console.log(name.padEnd(12), ...figures);
    }
  }
} finally {
  await browser.close();
  await registry.stop();
  rmSync(folder, { recursive: true, force: true });
}

/** Runs the commands of an entrant in a new folder, and returns its figures. */
async function follow(name: string, project: string): Promise<string[]> {
  const files = join(ENTRANTS, name);
  const commands = readFileSync(join(files, "commands.sh"), "utf8").trim().split("\n");
  const port = await freePort();
  const env = environment({
    PORT: String(port),
    SERVER_URL: `http://localhost:${port}`,
    npm_config_registry: registry.url,
    npm_config_cache: `${project}-cache`,
    npm_config_userconfig: join(folder, "npmrc"),
    npm_config_yes: "true",
    npm_config_audit: "false",
  });
  mkdirSync(project);
  const servers: Program[] = [];
  let lines: readonly string[] = [];
  let cpuSeconds = 0;
  const startedAt = performance.now();
  for (const command of commands) {
    if (command.startsWith("#")) {
      lines = listNewLines(files, project);
      cpSync(files, project, { recursive: true });
    } else if (command.endsWith(" &")) {
      const server = startProgram(project, ["sh", "-c", command.slice(0, -2)], env);
      servers.push(server);
      await server.line(/listening/);
    } else {
      // The shell prints the CPU time of its children last.
      const { stdout } = await run("sh", ["-c", `${command} && times`], { cwd: project, env });
      if (command.includes("src/client.ts") || command.includes("client Ada")) check(name, "client", stdout);
      cpuSeconds += readCpuSeconds(stdout);
    }
  }
  const seconds = (performance.now() - startedAt) / 1000;
  check(name, "page", await usePage(`http://localhost:${port}`));
  for (const server of servers) await server.stop();
  return [
    `${commands.length - 1} commands`,
    `${lines.length} lines`,
    `${await countMegabytes(join(project, "node_modules"))} MB`,
    `${seconds.toFixed(0)} s, ${cpuSeconds.toFixed(1)} s of CPU`,
  ];
}

/** Returns the lines of an entrant that are not blank, and that its project does not have in the same file. */
function listNewLines(files: string, project: string): readonly string[] {
  const linesOf = (path: string) => (existsSync(path) ? readFileSync(path, "utf8").split("\n") : []);
  return readdirSync(files, { recursive: true, encoding: "utf8" })
    .filter((file) => file !== "commands.sh" && statSync(join(files, file)).isFile())
    .flatMap((file) => {
      const known = new Set(linesOf(join(project, file)));
      return linesOf(join(files, file)).filter((line) => line.trim() !== "" && !known.has(line));
    });
}

/** Reads the user and system time of the children in the output of `times`, such as `0m1.25s 0m0.5s`. */
function readCpuSeconds(stdout: string): number {
  const times = stdout.trim().split("\n").at(-1)?.split(" ") ?? [];
  return times
    .map((time) => time.slice(0, -1).split("m").map(Number))
    .reduce((sum, [m = 0, s = 0]) => sum + 60 * m + s, 0);
}

/** Opens the page, sends its form, and returns the text when the last answer is there. */
async function usePage(url: string): Promise<string> {
  const page = await browser.newPage();
  await page.goto(url);
  await page.fill("input", "Ada");
  await page.click("button");
  await page.getByText(ANSWERS.at(-1) as string).waitFor();
  const text = await page.innerText("output");
  await page.close();
  return text;
}

function check(name: string, side: string, text: string): void {
  for (const answer of ANSWERS)
    if (!text.includes(answer)) throw new Error(`${name}: the ${side} has printed:\n${text}`);
}

async function countMegabytes(path: string): Promise<number> {
  const { stdout } = await run("du", ["-sk", path]);
  return Math.round((Number.parseInt(stdout, 10) * 1024) / 1e6);
}
