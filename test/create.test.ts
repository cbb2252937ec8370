/** The program of `npm create triple-es`, with each answer; test/release installs what it creates. */
import { execFile } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { parse } from "yaml";
import { compiled } from "./support/compiled.ts";
import { linkPackages } from "./support/linked-packages.ts";
import { freePort } from "./support/port.ts";
import { startProgram } from "./support/program.ts";

const run = promisify(execFile);

let folder: string;
let env: NodeJS.ProcessEnv;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "triple-es-create-"));
  env = await linkPackages(folder);
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

const create = async (...args: string[]): Promise<string> =>
  (await run(process.execPath, [compiled("create/src/main.ts"), ...args], { cwd: folder, env })).stdout;

/** Runs a script of a project as npm does. */
async function npmRun(name: string, script: string): Promise<string> {
  const { scripts } = readManifest(name);
  const options = { cwd: join(folder, name), env };
  const { stdout } = await run("sh", ["-c", scripts[script]], options).catch(({ stdout, stderr }) => {
    throw new Error(`npm run ${script} failed:\n${stdout}${stderr}`);
  });
  return stdout;
}

const readManifest = (name: string) => JSON.parse(readFileSync(join(folder, name, "package.json"), "utf8"));

/** Paths of all files of a project, sorted. */
const filesOf = (name: string): string[] =>
  readdirSync(join(folder, name), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(join(folder, name).length + 1))
    .sort();

/** Pages depend on the contract, registries do not: each of them is chosen once. */
const COMBINATIONS = {
  proto: [
    { page: "--page", registry: "none" },
    { page: "--page", registry: "etcd" },
    { page: "--no-page", registry: "nacos" },
  ],
  typescript: [
    { page: "--page", registry: "none" },
    { page: "--no-page", registry: "zookeeper" },
  ],
};

describe.each(["proto", "typescript"] as const)("a project of %s", (contract) => {
  const projects = COMBINATIONS[contract].map((answers) => ({ ...answers, name: `${contract}-${answers.registry}` }));

  beforeAll(async () => {
    for (const { page, registry, name } of projects) {
      await create(name, "--contract", contract, page, "--registry", registry);
    }
    const [first, ...others] = projects.map(({ name }) => name);
    await npmRun(first as string, "generate");
    // The generated code does not depend on the other answers.
    for (const name of others)
      cpSync(join(folder, first as string, "src/gen"), join(folder, name, "src/gen"), { recursive: true });
  });

  it.each(projects)("has no type errors and no tags: $page $registry", async ({ name, registry }) => {
    await npmRun(name, "types");
    for (const file of filesOf(name).filter((path) => !path.startsWith("src/gen/"))) {
      const text = readFileSync(join(folder, name, file), "utf8");
      expect(text, file).not.toMatch(
        / (?:\/\/|#|<!--) (?:no )?(?:proto|typescript|page|registry|pnpm|yarn|bun)(?: -->)?$/m,
      );
      if (file.endsWith("yaml") || file.endsWith("yml")) expect(parse(text)).toBeTypeOf("object");
    }
    expect(filesOf(name).includes("compose.yaml")).toBe(registry !== "none");
  });

  it("passes its test and a further one, and reads further contracts, without a change of its scripts", async () => {
    const project = join(folder, `${contract}-more`);
    cpSync(join(folder, (projects[0] as { name: string }).name), project, { recursive: true });
    writeFileSync(
      join(project, "test/other.test.ts"),
      'import { test } from "node:test";\ntest("passes", () => {});\n',
    );
    expect(await npmRun(`${contract}-more`, "test")).toMatch(/^# pass 3\n# fail 0\n/m);
    const [from, to] = contract === "proto" ? ["proto/hello", "proto/other"] : ["contract/hello", "contract/other"];
    const file = contract === "proto" ? "v1/hello.proto" : "v1/hello.ts";
    mkdirSync(join(project, to, "v1"), { recursive: true });
    const text = readFileSync(join(project, from, file), "utf8");
    writeFileSync(join(project, to, file), text.replaceAll("hello.v1", "other.v1"));
    await npmRun(`${contract}-more`, "generate");
    if (contract === "proto") {
      // The names of copied protos are those of their authors.
      mkdirSync(join(project, "proto/google/rpc"), { recursive: true });
      writeFileSync(join(project, "proto/google/rpc/retry.proto"), 'syntax = "proto3";\npackage google.rpc;\n');
      await npmRun("proto-more", "lint");
    }
    expect(filesOf(`${contract}-more`).filter((path) => path.startsWith("src/gen/other/v1/hello"))).not.toEqual([]);
  });

  it.each(projects)("starts from the folder of a build alone: $page $registry", async ({ name, page, registry }) => {
    await run("npm", ["run", "build"], { cwd: join(folder, name), env });
    const deployed = mkdtempSync(join(tmpdir(), "triple-es-deployed-"));
    onTestFinished(() => rmSync(deployed, { recursive: true }));
    cpSync(join(folder, name, "dist"), join(deployed, "dist"), { recursive: true });
    const server = startProgram(deployed, [process.execPath, "dist/server.js"], { PORT: "0", REGISTRY: "127.0.0.1:1" });
    onTestFinished(async () => void (await server.stop()));
    const [, url] = await server.line(/listening at (\S+)/);
    if (registry !== "none") await server.line(/\[unavailable\].* 127\.0\.0\.1:1/);
    if (page === "--no-page") return;
    const script = await (await fetch(`${url}/main.js`)).text();
    const [, map] = /sourceMappingURL=(.*)/.exec(script) ?? [];
    expect(map).toBe("main.js.map");
    expect(await (await fetch(`${url}/${map}`)).json()).toMatchObject({ version: 3 });
  });

  it("serves a changed page without a further command", async () => {
    const { name } = projects[0] as { name: string };
    const port = String(await freePort());
    const { dev } = readManifest(name).scripts;
    const server = startProgram(join(folder, name), ["sh", "-c", dev], { ...env, PORT: port });
    onTestFinished(async () => void (await server.stop()));
    await server.line(/listening/);
    let hasRestarted = false;
    void server.line(/Restarting/).then(() => {
      hasRestarted = true;
    });
    const file = join(folder, name, "page/index.html");
    const text = readFileSync(file, "utf8").replace("<title>Hello", "<title>Changed");
    // A change before the watcher has started has no effect.
    const change = () => hasRestarted || writeFileSync(file, text);
    await expect.poll(change, { timeout: 60_000, interval: 1_000 }).toBe(true);
    const read = () =>
      fetch(`http://localhost:${port}`).then(
        (response) => response.text(),
        () => "",
      );
    await expect.poll(read, { timeout: 60_000, interval: 100 }).toContain("<title>Changed");
  });
});

it("the workflow refuses breaking changes of protos to the base of a pull request, unless that has no protos", async () => {
  await create("origin", "--yes");
  const origin = join(folder, "origin");
  const clone = join(folder, "clone");
  const git = (cwd: string, ...args: string[]) =>
    run("git", ["-c", "user.name=Ada", "-c", "user.email=ada@example.com", ...args], { cwd });
  await git(origin, "init", "--quiet", "--initial-branch", "trunk");
  await git(origin, "commit", "--quiet", "--allow-empty", "--message", "Begin");
  await git(folder, "clone", "--quiet", origin, clone);
  const { jobs } = parse(readFileSync(join(origin, ".github/workflows/ci.yml"), "utf8"));
  const command = jobs.test.steps.find(({ run = "" }) => run.includes("buf breaking")).run;
  const check = () =>
    run("bash", ["-e", "-c", command.replace("npx buf", "buf")], {
      cwd: clone,
      env: { ...env, GITHUB_BASE_REF: "trunk" },
    });
  await check();
  await git(origin, "add", "--all");
  await git(origin, "commit", "--quiet", "--message", "Add the service");
  await git(clone, "pull", "--quiet");
  await check();
  const proto = join(clone, "proto/hello/v1/hello.proto");
  writeFileSync(proto, readFileSync(proto, "utf8").replace("string name", "int32 name"));
  await expect(check()).rejects.toMatchObject({ code: 100 });
});

describe("the program", () => {
  const failure = (...args: string[]): Promise<string> =>
    create(...args).then(
      () => "no error",
      ({ code, stderr }) => `${code} ${stderr}`,
    );

  it("takes the defaults with --yes, and prints the next commands", async () => {
    const output = await create("defaults", "--yes");
    expect(output).toContain("proto, no page, no registry");
    expect(output).toMatch(/\n {2}cd defaults\n {2}npm install\n {2}npm run dev\n/);
    expect(output).toContain("\n  npm run build && npm start ");
    expect(readManifest("defaults").name).toBe("defaults");
    expect(filesOf("defaults")).toEqual(
      [".github/workflows/ci.yml", ".gitignore", "README.md", "buf.gen.yaml", "buf.yaml", "package.json"].concat(
        ["proto/hello/v1/hello.proto", "src/client.ts", "src/hello.ts", "src/server.ts", "test/hello.test.ts"],
        ["tsconfig.json"],
      ),
    );
  });

  it.each([
    ["pnpm/12.21.0 npm/? node/v20.20.2", "pnpm", ["pnpm-workspace.yaml"]],
    ["pnpm/9.15.9 npm/? node/v20.20.2", "pnpm", []],
    ["yarn/1.22.22 npm/? node/v20.20.2", "yarn", [".yarnrc", ".yarnrc.yml"]],
    ["bun/1.4.5 npm/? node/v24.3.0", "bun", []],
  ])("writes the commands of the package manager that starts it: %s", async (agent, manager, settings) => {
    const name = agent.slice(0, agent.indexOf(" ")).replaceAll(/\W/g, "-");
    const options = { cwd: folder, env: { ...env, npm_config_user_agent: agent } };
    const args = [compiled("create/src/main.ts"), name, "--page", "--yes"];
    const { stdout } = await run(process.execPath, args, options);
    expect(stdout).toMatch(new RegExp(`\n {2}${manager} install\n {2}${manager} run dev\n`));
    const npm = await create(`${name}-npm`, "--page", "--yes").then(() => filesOf(`${name}-npm`));
    expect(filesOf(name).filter((file) => !npm.includes(file))).toEqual(settings);
    for (const file of filesOf(name)) {
      expect(readFileSync(join(folder, name, file), "utf8"), file).not.toMatch(/\bnp[mx]\b| # (no )?(pnpm|yarn|bun)$/m);
    }
    expect(readManifest(name).packageManager).toBe(agent.split(" ")[0]?.replace("/", "@"));
    const { jobs } = parse(readFileSync(join(folder, name, ".github/workflows/ci.yml"), "utf8"));
    const commands: string[] = jobs.test.steps.map(({ run }: { run?: string }) => run ?? "");
    expect(commands).toContain(`${manager} install --frozen-lockfile`);
    expect(commands).toContain(manager === "bun" ? "bun run test" : `${manager} test`);
  });

  it("fills an empty folder and one that has only a repository", async () => {
    mkdirSync(join(folder, "My Shop/.git"), { recursive: true });
    await create("My Shop", "--yes");
    expect(readManifest("My Shop").name).toBe("my-shop");
  });

  it("refuses a folder with files and changes nothing", async () => {
    mkdirSync(join(folder, "used"));
    writeFileSync(join(folder, "used/notes.txt"), "");
    expect(await failure("used", "--yes")).toMatch(
      /^1 create-triple-es: the folder \S+used is not empty: it has notes.txt/,
    );
    expect(filesOf("used")).toEqual(["notes.txt"]);
    expect(await failure("", "--yes")).toMatch(/^1 create-triple-es: the folder \S+ is not empty/);
    expect(await failure("used/notes.txt", "--yes")).toMatch(/^1 create-triple-es: .*notes.txt/);
  });

  it.skipIf(process.platform !== "linux")("reports a folder that cannot be created", async () => {
    expect(await failure("/proc/new", "--yes")).toMatch(/^1 create-triple-es: ENOENT: .*'\/proc\/new'/);
  });

  it.each([
    [["one", "two"], "one folder is expected, not one and two"],
    [["new", "--registry", "consul"], "--registry is one of none, etcd, nacos, zookeeper, not consul"],
    [["new", "--contract", "java", "--yes"], "--contract is one of proto, typescript, not java"],
    [["new", "--pages"], "Unknown option '--pages'"],
    [["new", "--page"], "there is no terminal to ask in: add --contract, --registry, or --yes for the defaults"],
  ])("explains a mistake: %s", async (args, message) => {
    expect(await failure(...args)).toContain(`1 create-triple-es: ${message}`);
    expect(existsSync(join(folder, "new"))).toBe(false);
  });

  it("reads the flags after a -- that other package managers than npm pass on", async () => {
    const flags = ["--contract", "typescript", "--no-page", "--registry", "none"];
    expect(await create("passed-on", "--", ...flags)).toContain("typescript, no page, no registry");
  });

  it("prints its flags", async () => {
    expect(await create("--help")).toContain("--contract proto|typescript");
  });

  // The command of util-linux runs a program in a terminal.
  it.skipIf(process.platform !== "linux")("asks what the flags leave open", async () => {
    const command = `'${process.execPath}' '${compiled("create/src/main.ts")}' asked --page`;
    const child = run("script", ["--quiet", "--return", "--command", command, "/dev/null"], { cwd: folder, env });
    let shown = "";
    const replies = [
      [/in TypeScript\? \(\[proto\] \/ typescript\)/, "java"],
      [/in TypeScript\?[^?]*in TypeScript\?/, "t"],
      [/Register servers in a registry\?/, ""],
    ] as [RegExp, string][];
    child.child.stdout?.on("data", (text) => {
      shown += text;
      const [pattern, reply] = replies[0] ?? [];
      if (!pattern?.test(shown)) return;
      replies.shift();
      child.child.stdin?.write(`${reply}\n`);
    });
    expect((await child).stdout).toContain("typescript, a page, no registry");
    expect(filesOf("asked")).toContain("contract/hello/v1/hello.ts");
  });

  it.skipIf(process.platform !== "linux")("takes answers that are pasted at once, and ends at Ctrl+D", async () => {
    const ask = (name: string, input: string) => {
      const command = `'${process.execPath}' '${compiled("create/src/main.ts")}' ${name}`;
      const child = run("script", ["--quiet", "--return", "--command", command, "/dev/null"], { cwd: folder, env });
      // Its first output follows the change of the terminal's mode.
      child.child.stdout?.once("data", () => child.child.stdin?.write(input));
      return child;
    };
    expect((await ask("pasted", "typescript\nyes\netcd\n")).stdout).toContain("typescript, a page, etcd");
    await expect(ask("ended", "typescript\n\u0004")).rejects.toMatchObject({ code: 130 });
    expect(existsSync(join(folder, "ended"))).toBe(false);
  });
});
