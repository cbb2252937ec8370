/**
 * Checks the documents: every block of code is generated, type-checked, run or compared, every link has a target, and
 * tables that describe sources agree with them.
 */
import { type ChildProcess, execFile, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { promisify } from "node:util";
import { build } from "esbuild";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { hasJudges, judgePath } from "./openapi/installed.ts";
import { hasOpenssl, sharedCertificates } from "./support/certificate.ts";
import { compiled } from "./support/compiled.ts";
import { type Block, expectedOutput, ROOT, readBlocks, readDocument } from "./support/documents.ts";
import { isInstalled, PLATFORMS, platformEnvironment } from "./support/platforms.ts";
import { freePort, listening } from "./support/port.ts";
import { TSC, TSC_ENVIRONMENT, TSC_FLAGS } from "./support/tsc.ts";

const run = promisify(execFile);
/** Next to the guide's `tsconfig.json`, which test/packages.test.ts compiles with. */
const STRICT = "tsconfig.strict.json";
const OUR_PACKAGES = ["triple-es", "triple-es-dubbo", "triple-es-nest", "protoc-gen-triple-es"];

const inDocs = existsSync(`${ROOT}docs`) ? readdirSync(`${ROOT}docs`).filter((name) => name.endsWith(".md")) : [];
const DOCUMENTS = [
  "README.md",
  "runtime/README.md",
  "dubbo/README.md",
  "nest/README.md",
  "CONTRIBUTING.md",
  "CHANGELOG.md",
  "SECURITY.md",
  "bench/README.md",
  ...inDocs.map((name) => `docs/${name}`),
];
const blocks = DOCUMENTS.flatMap(readBlocks);
const code = blocks.filter(({ language, from }) => language === "ts" && from === undefined);
const isServer = ({ path = "" }: Block): boolean => path.endsWith("server.ts");
const PORT = /(?:localhost|port): ?(500[0-9]{2}|808[0-9])\b/g;
const titled = (block: Block): string => `${block.document}:${block.line} ${block.path ?? ""}`.trim();

/** Commands that test/packages.test.ts runs. */
const RUN_ELSEWHERE = [
  "npm pack --workspaces --include-workspace-root",
  "npm init -y",
  "npm pkg set type=module",
  "npx buf generate",
  "npx tsc",
  "npx tsx src/server.ts",
  "npx tsx src/client.ts",
  "npx tsx src/hello-server.ts",
  "npx tsx src/hello-client.ts",
  "node dist/greet-server.js",
  "node dist/greet-client.js",
];

/** The folder of a user who follows the documents, with the packages of this repository. */
let project: string;
/** The free port that replaces each port of the documents. */
const ports = new Map<string, number>();
const servers: ChildProcess[] = [];
let environment: NodeJS.ProcessEnv;

beforeAll(async () => {
  project = mkdtempSync(join(tmpdir(), "triple-es-docs-"));
  for (const [, port = ""] of blocks.flatMap(({ text }) => [...text.matchAll(PORT)])) {
    if (!ports.has(port)) ports.set(port, await freePort());
  }
  linkPackages();
  for (const protos of ["proto/greet", "proto/google/api"]) {
    cpSync(`${ROOT}${protos}`, join(project, protos), { recursive: true });
  }
  if (hasOpenssl) writeCertificates(join(project, "certs"));
  for (const block of blocks) writeBlock(block);
  await run("buf", ["generate"], { cwd: project, env: environment });
  for (const command of [/^npx (triple-es interface .*)$/m, /^npx (triple-es contract .*)$/m]) {
    const [line = ""] = blocks.flatMap(({ text }) => command.exec(text)?.[1] ?? []);
    const { code, stderr } = await runCommand(line);
    if (code !== undefined) throw new Error(`${line} failed:\n${stderr}`);
  }
  await compile(code.filter(({ platform }) => platform === undefined).map((block) => fileOf(block) as string));
  for (const { path, text } of code.filter(isServer)) await startServer(path as string, text);
});

/** Compiles programs, which takes less time for all of them than each would take to start from sources. */
async function compile(files: readonly string[]): Promise<void> {
  await build({
    absWorkingDir: project,
    entryPoints: [...files],
    outbase: ".",
    outdir: "compiled",
    bundle: true,
    splitting: true,
    format: "esm",
    platform: "node",
    conditions: ["triple-source"],
    external: ["@bufbuild/*", "@opentelemetry/*", "connect", "express", "fastify", "hono", "swagger-ui-dist", "yaml"],
    logLevel: "error",
  });
}

/** The compiled form of a program of the documents. */
const outputOf = (file: string): string => join("compiled", file.replace(/\.ts$/, ".js"));

/** The text that the runner prints before the output of each program. */
const NEXT = "\u0000";
/**
 * Imports each program when nothing is left to do for the one before, which is when a process of its own would end. Programs
 * then share a process, whose modules cost more time than most programs. As alone, an error ends it with 1, and a program
 * that waits for nothing with 13.
 */
const RUNNER = `
const files = process.argv.slice(1);
let waiting = false;
process.on("beforeExit", () => {
  if (waiting || process.exitCode) process.exit(process.exitCode || 13);
  const file = files.shift();
  if (file === undefined) return;
  console.log(${JSON.stringify(NEXT)});
  waiting = true;
  import(file).then(() => (waiting = false));
});
`;
const runs = new Map<string, Promise<{ stdout: string; code?: number }>>();

/** Runs the programs of a document in the order of their blocks, once, and returns the output of one of them. */
async function outputOfNode({ document }: Block, file: string, programs: readonly string[]): Promise<string> {
  const running =
    runs.get(document) ??
    run(
      process.execPath,
      ["--input-type=module", "--eval", RUNNER, ...programs.map((program) => join(project, outputOf(program)))],
      { cwd: project, env: platformEnvironment(join(project, "cache")) },
    ).catch((error) => error);
  runs.set(document, running);
  const result = await running;
  const outputs = result.stdout.split(`${NEXT}\n`).slice(1);
  const index = programs.indexOf(file);
  // The last program that has printed something is the one that failed.
  if (result.code !== undefined && index >= outputs.length - 1) throw result;
  return outputs[index] as string;
}

async function outputOfPlatform(platform: "Bun" | "Deno", file: string): Promise<string> {
  const [command, ...args] = [...PLATFORMS[platform], file];
  return (await run(command, args, { cwd: project, env: platformEnvironment(join(project, "cache")) })).stdout;
}

const commandRuns = new Map<string, Promise<{ code?: number; stdout: string; stderr: string }>>();

/** Runs a command of the documents in the project, once. */
function runCommand(line: string) {
  const running =
    commandRuns.get(line) ?? run("sh", ["-c", line], { cwd: project, env: environment }).catch((error) => error);
  commandRuns.set(line, running);
  return running;
}

afterAll(async () => {
  for (const server of servers) if (server.exitCode === null && server.kill()) await once(server, "exit");
  rmSync(project, { recursive: true, force: true });
});

/** Writes the certificates that documents read, as ca.crt, server.crt, server.key, client.crt and client.key. */
function writeCertificates(folder: string): void {
  const { ca, server, client } = sharedCertificates();
  mkdirSync(folder);
  writeFileSync(join(folder, "ca.crt"), ca);
  for (const [name, { cert, key }] of Object.entries({ server, client })) {
    writeFileSync(join(folder, `${name}.crt`), cert);
    writeFileSync(join(folder, `${name}.key`), key);
  }
}

function linkPackages(): void {
  const modules = join(project, "node_modules");
  const commands = join(modules, ".bin");
  mkdirSync(commands, { recursive: true });
  symlinkSync(`${ROOT}runtime`, join(modules, "triple-es"));
  symlinkSync(`${ROOT}dubbo`, join(modules, "triple-es-dubbo"));
  if (hasJudges) symlinkSync(dirname(judgePath("swagger-ui-dist/package.json")), join(modules, "swagger-ui-dist"));
  for (const name of [
    "@bufbuild",
    "@opentelemetry",
    "@tanstack",
    "@types",
    "connect",
    "express",
    "fastify",
    "hono",
    "yaml",
  ])
    symlinkSync(`${ROOT}node_modules/${name}`, join(modules, name));
  for (const name of ["buf", "protoc-gen-es"]) symlinkSync(`${ROOT}node_modules/.bin/${name}`, join(commands, name));
  for (const [name, source] of [
    ["protoc-gen-triple-es", "main.ts"],
    ["triple-es", "triple-es.ts"],
  ] as const) {
    const start = `#!/bin/sh\nexec "${process.execPath}" "${compiled(`src/${source}`)}" "$@"\n`;
    writeFileSync(join(commands, name), start, { mode: 0o755 });
  }
  // Deno uses packages in node_modules only if package.json names them.
  const dependencies = { "triple-es": "*", "@bufbuild/protobuf": "*" };
  writeFileSync(join(project, "package.json"), JSON.stringify({ type: "module", dependencies }));
  const { compilerOptions } = JSON.parse(readFileSync(`${ROOT}tsconfig.base.json`, "utf8"));
  const options = { ...compilerOptions, noEmit: true, customConditions: ["triple-source"] };
  writeFileSync(join(project, STRICT), JSON.stringify({ compilerOptions: options, include: ["src"] }));
  mkdirSync(join(project, "src"));
  writeFileSync(join(project, "src/platforms.d.ts"), PLATFORM_TYPES);
  environment = { ...process.env, PATH: `${commands}${delimiter}${process.env["PATH"]}`, no_proxy: "*" };
}

/** Declarations for the parts of Bun and Deno that the documents use. Users have the complete types. */
const PLATFORM_TYPES = `
type Handler = (request: Request) => Promise<Response>;
declare const Bun: { serve(options: { port: number; fetch: Handler }): { port: number; stop(): Promise<void> } };
declare const Deno: {
  serve(options: { port: number }, handler: Handler): { addr: { port: number }; shutdown(): Promise<void> };
};
`;

/** Writes a block of code to a file of the project: under its own name, or appended to the code that it continues. */
function writeBlock(block: Block): void {
  const path = fileOf(block);
  if (path === undefined) return;
  mkdirSync(join(project, dirname(path)), { recursive: true });
  const before = block.after === undefined ? "" : (blocks.find((one) => one.path === block.after)?.text ?? "");
  writeFileSync(join(project, path), withPort(before + block.text));
}

function fileOf(block: Block): string | undefined {
  if (block.path !== undefined) return block.path;
  if (!code.includes(block)) return undefined;
  return `src/${block.document.replaceAll(/\W/g, "-")}-line-${block.line}.ts`;
}

function withPort(text: string): string {
  return text.replaceAll(PORT, (found, port) => found.replace(port, String(ports.get(port))));
}

/** Starts a server that runs until the end of the tests. Returns when it listens on the port in its code. */
async function startServer(path: string, text: string): Promise<void> {
  const server = spawn(process.execPath, [outputOf(path)], { cwd: project, stdio: "inherit" });
  servers.push(server);
  const port = ports.get(/port: ([0-9]+)/.exec(text)?.[1] ?? "");
  if (port === undefined) throw new Error(`${path} names no port`);
  await listening(server, port);
}

describe("code", () => {
  it("type-checks against the packages, with every strict flag", async () => {
    const options = { cwd: project, env: TSC_ENVIRONMENT };
    const checked = await run(TSC, ["-p", STRICT, ...TSC_FLAGS], options).catch((error) => error);
    expect(checked.stdout).toBe("");
  });

  const runnable = code.filter(
    (block) =>
      !isServer(block) &&
      (block.platform === undefined || isInstalled(block.platform)) &&
      (hasOpenssl || !block.text.includes("certs/")) &&
      (hasJudges || !block.text.includes("console: true")),
  );
  const skipped = code.filter((block) => !isServer(block) && !runnable.includes(block));
  const ofNode = (name: string): string[] =>
    runnable
      .filter(({ document, platform }) => document === name && platform === undefined)
      .map((block) => fileOf(block) as string);

  it.each(runnable.map((block) => [titled(block), block] as const))(
    "%s runs and prints what it says",
    async (_, block) => {
      const file = fileOf(block) as string;
      const stdout =
        block.platform === undefined
          ? await outputOfNode(block, file, ofNode(block.document))
          : await outputOfPlatform(block.platform, file);
      const before = blocks.find(({ path }) => path === block.after && path !== undefined);
      const expected = [...expectedOutput(before?.text ?? ""), ...expectedOutput(block.text)];
      expect(stdout.split("\n").slice(0, -1)).toEqual(expected);
    },
  );

  it.skip.each(skipped.map((block) => [titled(block), block.platform] as const))("%s runs in %s", () => {});
});

describe("excerpts", () => {
  const excerpts = blocks.filter(({ from }) => from !== undefined);
  it.each(excerpts.map((block) => [titled(block), block] as const))("%s is in its file", (_, { from, text }) => {
    const file = readFileSync(`${ROOT}${from}`, "utf8");
    let position = 0;
    for (const part of text.split(/^ *\/\/ …\n/m)) {
      const found = file.indexOf(part, position);
      expect(found, `not in ${from}, or not in this order:\n${part}`).toBeGreaterThanOrEqual(0);
      position = found + part.length;
    }
  });
});

describe("generation", () => {
  it("uses the buf.gen.yaml of docs/generator.md and writes messages and services", () => {
    const files = readdirSync(join(project, "src/gen/greet/v1")).sort();
    expect(files).toEqual(["greet_codec.ts", "greet_pb.ts", "greet_triple.ts"]);
  });
});

describe("commands", () => {
  const manifest = JSON.parse(readFileSync(`${ROOT}package.json`, "utf8"));
  const commands = blocks
    .filter(({ language }) => language === "sh")
    .flatMap((block) =>
      joinContinued(block.text)
        .split("\n")
        .map((line, index, lines) => ({ block, line, answer: answerBelow(lines, index) })),
    )
    .filter(({ line }) => line !== "" && !line.startsWith("#"))
    .map(({ block, line, answer }) => [`${block.document}: ${line.replace(/ +# .*$/, "")}`, line, answer] as const);

  const withoutCurl = commands.filter(([, line]) => !isCurl(line) && !isProtoc(line));
  it.each(withoutCurl)("%s can be run", async (_, commented, answer) => {
    const line = commented.replace(/ +# .*$/, "");
    const [program, verb, ...rest] = line.split(" ");
    if (line === "npm ci") expect(existsSync(`${ROOT}package-lock.json`)).toBe(true);
    else if (line === "npm test") expect(manifest.scripts).toHaveProperty("test");
    else if (program === "npm" && verb === "run") expect(manifest.scripts).toHaveProperty([rest[0] ?? ""]);
    else if (program === "npm" && verb === "install") expect(known(rest)).toEqual(rest);
    else if (program === "npm" && verb === "--prefix")
      expect(existsSync(`${ROOT}${rest[0]}/package-lock.json`)).toBe(true);
    else if (program === "npx" && verb === "triple-es") {
      const { code, stdout, stderr } = await runCommand(line.replace("npx ", ""));
      if (answer === "") expect(code, stderr).toBe(undefined);
      else expect((stdout + stderr).trimEnd()).toBe(answer);
    } else if (program === "npx" && verb === "vitest") expect(existsSync(`${ROOT}${rest.at(-1)}`)).toBe(true);
    else expect(RUN_ELSEWHERE).toContain(line);
  });

  const hasProtoc = spawnSync("protoc", ["--version"]).status === 0;
  const protocs = commands.filter(([, line]) => isProtoc(line));
  it.skipIf(!hasProtoc).each(protocs)("%s writes what buf does", async (_, line) => {
    const gen = join(project, "src/gen/greet/v1");
    const readAll = () => readdirSync(gen).map((name) => [name, readFileSync(join(gen, name), "utf8")] as const);
    const ofBuf = readAll();
    rmSync(gen, { recursive: true });
    // Runs without the PATH of the other commands, because the line sets its own PATH.
    await run("sh", ["-c", line], { cwd: project });
    expect(readAll()).toEqual(ofBuf);
  });

  const hasCurl = spawnSync("curl", ["--version"]).status === 0;
  const curls = commands.filter(([, line]) => isCurl(line));
  it.skipIf(!hasCurl).each(curls)("%s gets the answer below it", async (_, line, answer) => {
    const command = withPort(line).replace("curl ", "curl --silent --show-error ");
    const { stdout } = await run("sh", ["-c", command], { env: environment });
    expect(stdout.replaceAll("\r", "").trimEnd()).toBe(answer);
  });

  /** Matches `curl`, possibly after a command that writes the body. */
  function isCurl(line: string): boolean {
    return /^(?:printf .*\| )?curl /.test(line);
  }

  /** Matches `protoc`, possibly after variables. */
  function isProtoc(line: string): boolean {
    return /^(?:\w+=\S+ )*protoc /.test(line);
  }

  /** Joins lines that end in a backslash with the next line. */
  function joinContinued(text: string): string {
    return text.replaceAll(/ *\\\n */g, " ");
  }

  /** Returns the comments on the following lines. */
  function answerBelow(lines: readonly string[], index: number): string {
    const below = lines.slice(index + 1);
    const end = below.findIndex((line) => !line.startsWith("#"));
    return below
      .slice(0, end)
      .map((line) => line.slice(2))
      .join("\n");
  }

  /**
   * Returns the packages that test/packages.test.ts can install: those of this repository, and others in the versions of
   * the tests.
   */
  function known(names: readonly string[]): string[] {
    const tested = { ...manifest.dependencies, ...manifest.devDependencies };
    return names.filter((name) => name === "--save-dev" || OUR_PACKAGES.includes(name) || name in tested);
  }
});

describe("documents", () => {
  it("have no block that nothing here verifies", () => {
    const verified = blocks.filter(
      ({ language, from, path }) =>
        from !== undefined ||
        language === "ts" ||
        language === "sh" ||
        (language === "proto" && path?.startsWith("proto/") === true) ||
        (language === "yaml" && path === "buf.gen.yaml") ||
        (language === "jsonc" && path === "tsconfig.json"),
    );
    expect(blocks.filter((block) => !verified.includes(block)).map(titled)).toEqual([]);
  });

  it.each(DOCUMENTS)("%s links to files that exist", (document) => {
    const links = Array.from(readDocument(document).matchAll(/\]\(([^)#]+)[^)]*\)/g), ([, link = ""]) => link);
    const broken = links
      .filter((link) => !link.startsWith("https://"))
      .filter((link) => !existsSync(join(ROOT, dirname(document), link)));
    expect(broken).toEqual([]);
  });

  it.each(DOCUMENTS)("%s links to headings that exist", (document) => {
    const links = Array.from(
      readDocument(document).matchAll(/\]\(([^):#]*)#([^)]+)\)/g),
      ([, file = "", heading = ""]) => ({
        target: file === "" ? document : join(dirname(document), file),
        heading,
      }),
    );
    const broken = links.filter(({ target, heading }) => !headingsOf(target).includes(heading));
    expect(broken).toEqual([]);
  });

  /** The anchors of the headings of a document, as GitHub derives them. */
  function headingsOf(document: string): string[] {
    return Array.from(readDocument(document).matchAll(/^#+ (.+)$/gm), ([, title = ""]) =>
      title
        .toLowerCase()
        .replaceAll(/[^\w -]/g, "")
        .replaceAll(" ", "-"),
    );
  }

  it.each(["runtime", "dubbo", "nest"])(
    "in the workspace %s have no relative links, because a package page has no other files",
    (workspace) => {
      const links = Array.from(
        readDocument(`${workspace}/README.md`).matchAll(/\]\(([^)]+)\)/g),
        ([, link = ""]) => link,
      );
      expect(links.filter((link) => !/^https:|^#/.test(link))).toEqual([]);
    },
  );

  it.each([
    ["runtime", "triple-es"],
    ["dubbo", "triple-es-dubbo"],
  ])("in the workspace %s name every entry point that users import", (workspace, name) => {
    const { exports } = JSON.parse(readFileSync(`${ROOT}${workspace}/package.json`, "utf8"));
    const internal = [".", "./codec", "./wkt", "./internal", "./internal/node", "./package.json"];
    const entryPoints = Object.keys(exports).filter((key) => !internal.includes(key));
    const readme = readDocument(`${workspace}/README.md`);
    expect(entryPoints.length).toBeGreaterThan(5);
    expect(entryPoints.filter((key) => !readme.includes(`\`${name}${key.slice(1)}\``))).toEqual([]);
  });

  it.each(DOCUMENTS)("%s has a separator below the first row of each table", (document) => {
    const lines = readDocument(document)
      .replaceAll(/^```.*?^```$/gms, "")
      .split("\n");
    const isRow = (index: number): boolean => lines[index]?.startsWith("|") === true;
    const heads = [...lines.keys()].filter((index) => isRow(index) && !isRow(index - 1));
    const isSeparated = (index: number): boolean => /^\| ?---/.test(lines[index + 1] ?? "");
    expect(heads.filter((index) => !isSeparated(index)).map((index) => lines[index])).toEqual([]);
  });

  it("mention every script of package.json that is meant to be called", () => {
    const { scripts } = JSON.parse(readFileSync(`${ROOT}package.json`, "utf8"));
    const contributing = readDocument("CONTRIBUTING.md");
    const called = Object.keys(scripts).filter((name) => !/^pre|^version$|^test$|:/.test(name));
    expect(called.filter((name) => !contributing.includes(`npm run ${name}`))).toEqual([]);
  });

  it("name an existing test for every attack, and only existing options", () => {
    const rows = readDocument("SECURITY.md")
      .split("\n")
      .map((line) => line.split("|").map((cell) => cell.trim()))
      // A row has five cells; the other tables have fewer.
      .filter((cells) => cells.length === 7 && !/^(attack|-+)$/.test(cells[1] ?? ""));
    const attacks = rows.map(([, attack = "", , option = "", , test = ""]) => ({
      attack,
      option,
      test: /`(test\/[^`]+)`/.exec(test)?.[1],
    }));
    expect(attacks.length).toBeGreaterThan(30);
    expect(attacks.filter(({ test }) => test === undefined || !existsSync(`${ROOT}${test}`))).toEqual([]);
    const sources = ["runtime/src", "dubbo/src"]
      .flatMap((folder) =>
        readdirSync(`${ROOT}${folder}`, { recursive: true, encoding: "utf8" }).map(
          (name) => `${ROOT}${folder}/${name}`,
        ),
      )
      .filter((name) => name.endsWith(".ts"))
      .map((name) => readFileSync(name, "utf8"))
      .join("\n");
    const options = attacks.flatMap(({ option }) =>
      Array.from(option.matchAll(/`(?:limits\.)?(\w+)`/g), ([, o = ""]) => o),
    );
    expect(options.length).toBeGreaterThan(20);
    const declared = (name: string): boolean => new RegExp(`readonly ${name}\\?:`).test(sources);
    expect(options.filter((name) => name !== "UV_THREADPOOL_SIZE" && !declared(name))).toEqual([]);
  });

  it("name an existing test for every clause of the specification", () => {
    const page = readDocument("docs/specification.md");
    const clauses = page.slice(0, page.indexOf("## Not stated")).match(/^\| (?!clause|---).*$/gm) ?? [];
    const reference = /\]\(\.\.\/(test\/[^)]+)\) "([^"]+)"/g;
    expect(clauses.length).toBeGreaterThan(40);
    expect(clauses.filter((row) => !row.includes("](../test/"))).toEqual([]);
    const missing = Array.from(page.matchAll(reference), ([, file = "", name = ""]) => ({ file, name })).filter(
      ({ file, name }) => !readDocument(file).includes(`"${name}"`),
    );
    expect(missing).toEqual([]);
  });

  /** The path of a module from the root of the repository; `undefined` if there is none. */
  function sourceOf(module: string): string | undefined {
    return ["runtime/src/", "dubbo/src/", ""].map((folder) => folder + module).find((path) => existsSync(ROOT + path));
  }

  it("name modules in the glossary that exist", () => {
    const rows = readDocument("docs/glossary.md").matchAll(/^\|.*\| ([^|]*) \|$/gm);
    const modules = Array.from(rows).flatMap(([, cell = ""]) => Array.from(cell.matchAll(/`([^`]+)`/g), ([, m]) => m));
    expect(modules.length).toBeGreaterThan(20);
    expect(modules.filter((module = "") => sourceOf(module) === undefined)).toEqual([]);
  });

  it("name modules in the architecture that exist", () => {
    const modules = Array.from(
      readDocument("docs/architecture.md").matchAll(/`([\w-]+\/[\w/-]+\.ts)`/g),
      ([, m = ""]) => m,
    );
    expect(modules.length).toBeGreaterThan(50);
    expect(modules.filter((module) => sourceOf(module) === undefined)).toEqual([]);
  });

  it("lead from each term of the glossary to a module that contains it", () => {
    const rows = [...readDocument("docs/glossary.md").matchAll(/^\| ([^|]+) \|.*\| `([\w/-]+\.ts)` \|$/gm)];
    const plain = (text: string): string => text.toLowerCase().replaceAll(/[`-]/g, (sign) => (sign === "-" ? " " : ""));
    const missing = rows.flatMap(([, cell = "", module = ""]) => {
      const source = plain(readDocument(sourceOf(module) ?? module));
      return cell
        .split(", ")
        .filter((term) => !source.includes(plain(term)))
        .map((term) => `${module}: ${term}`);
    });
    expect(rows.length).toBeGreaterThan(25);
    expect(missing).toEqual([]);
  });
});
