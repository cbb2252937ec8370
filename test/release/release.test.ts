/**
 * A rehearsal of the release: all packages are published to a registry on this machine, and installed from it with an empty
 * cache, by the commands of the README and by `npm create triple-es`.
 */
import { execFile } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { EXECUTABLE, launchBrowser } from "../support/chromium.ts";
import { expectedOutput, ROOT, readBlocks, readDocument } from "../support/documents.ts";
import { freePort } from "../support/port.ts";
import { environment, startProgram } from "../support/program.ts";
import { hasEtcd, startEtcd } from "../support/registries/etcd.ts";
import { hasVerdaccio, type Registry, startRegistry } from "./registry.ts";

const run = promisify(execFile);
const { version } = JSON.parse(readFileSync(`${ROOT}package.json`, "utf8"));
const PACKAGES = ["triple-es", "triple-es-dubbo", "triple-es-nest", "create-triple-es", "protoc-gen-triple-es"];

describe.skipIf(!hasVerdaccio)("a rehearsal of the release", () => {
  let folder: string;
  let registry: Registry;
  let env: NodeJS.ProcessEnv;

  const release = async (): Promise<string> => {
    const { stdout } = await run("node", ["scripts/release.js", "--to", registry.url], { cwd: ROOT });
    return stdout;
  };
  const shell = async (cwd: string, line: string): Promise<string> =>
    (await run("sh", ["-c", line], { cwd, env: environment(env) })).stdout.trim();

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "triple-es-release-"));
    registry = await startRegistry();
    env = {
      npm_config_registry: registry.url,
      npm_config_cache: join(folder, "cache"),
      npm_config_userconfig: join(folder, "npmrc"),
      npm_config_yes: "true",
      npm_config_audit: "false",
      npm_config_loglevel: "error",
    };
    const output = await release();
    for (const name of PACKAGES) expect(output).toContain(`published: ${name} ${version}\n`);
  });

  afterAll(async () => {
    await registry?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  /** Creates a project as users do, and returns its folder. */
  async function create(name: string, flags: string): Promise<string> {
    expect(await shell(folder, `npm create triple-es@latest ${name} -- ${flags}`)).toContain(`cd ${name}\n`);
    const project = join(folder, name);
    // A server that is built where it runs has no development dependencies.
    await shell(project, "NODE_ENV=production npm install && npm run build");
    await shell(project, "npm install");
    await shell(project, "npm test");
    return project;
  }

  /** Starts `npm start` of a project and returns its URL. It ends with the test. */
  async function start(project: string, more: NodeJS.ProcessEnv, line: RegExp): Promise<string> {
    const server = startProgram(project, ["npm", "start"], { ...env, PORT: "0", ...more });
    onTestFinished(async () => void (await server.stop()));
    const [url = ""] = await server.line(/http:\/\/localhost:\d+/);
    await server.line(line);
    return url;
  }

  it("publishes a version once", async () => {
    const output = await release();
    for (const name of PACKAGES) expect(output).toContain(`already published: ${name} ${version}\n`);
  });

  it("leads to an answer by the quick start of the README", async () => {
    const project = join(folder, "quick-start");
    mkdirSync(project);
    const port = await freePort();
    const blocks = quickStart();
    for (const { path, text } of blocks) {
      if (path === undefined) continue;
      mkdirSync(dirname(join(project, path)), { recursive: true });
      writeFileSync(join(project, path), text.replaceAll("8080", String(port)));
    }
    const lines = blocks.filter(({ language }) => language === "sh").flatMap(({ text }) => text.trim().split("\n"));
    const outputs: string[] = [];
    for (const line of lines) {
      if (line.startsWith("# {")) expect(outputs.pop()).toBe(line.slice(2));
      if (line.startsWith("#")) continue;
      if (!line.endsWith("server.ts")) {
        outputs.push(await shell(project, line.replaceAll("8080", String(port))));
        continue;
      }
      const server = startProgram(project, line.split(" "), env);
      onTestFinished(async () => void (await server.stop()));
      await listening(port);
    }
    const client = blocks.find(({ path }) => path === "src/client.ts");
    expect(outputs.pop()).toBe(expectedOutput(client?.text ?? "").join("\n"));
  });

  it("has the plugin for the Buf Schema Registry, built by the steps of its image", async () => {
    const image = join(folder, "image");
    mkdirSync(image);
    const dockerfile = readDocument("bsr/Dockerfile");
    for (const [, step = ""] of dockerfile.matchAll(/^RUN (.+)$/gm)) await shell(image, step);
    const [, program = ""] = /^COPY --from=build --chmod=0755 \/app\/(\S+) \/app\/\1$/m.exec(dockerfile) ?? [];
    expect(dockerfile).toContain(`\nCMD ["/app/${program}"]\n`);
    writeFileSync(
      join(image, "buf.gen.yaml"),
      `version: v2\nplugins:\n  - { local: [node, ${program}], out: gen, opt: [target=ts], strategy: all }\n`,
    );
    await run(join(ROOT, "node_modules/.bin/buf"), ["generate", join(ROOT, "create/templates/proto/proto")], {
      cwd: image,
    });
    expect(readFileSync(join(image, "gen/hello/v1/hello_triple.ts"), "utf8")).toContain(
      "export function createHelloServiceClient",
    );
  });

  it("creates a project of a proto file with a page", async () => {
    const project = await create("paged", "--contract proto --page --registry none");
    await shell(project, "npm run lint");
    const url = await start(project, {}, /listening/);
    expect(await shell(project, `SERVER_URL=${url} npm run --silent client Ada`)).toBe("Hello, Ada!");
    expect(await (await fetch(url)).text()).toContain("/main.js");
    expect((await fetch(`${url}/missing`)).status).toBe(404);
    if (!existsSync(EXECUTABLE)) return;
    const browser = await launchBrowser();
    onTestFinished(() => browser.close());
    const page = await browser.newPage();
    await page.goto(url);
    await page.getByLabel("Name").fill("page");
    await page.getByRole("button").click();
    await page.getByText("Hello, page!").waitFor();
  });

  it.skipIf(!hasEtcd)("creates a project of a contract with a registry", async () => {
    const etcd = await startEtcd();
    onTestFinished(() => etcd.close());
    const project = await create("listed", "--contract typescript --no-page --registry etcd");
    await start(project, { REGISTRY: etcd.address }, /^registered/);
    expect(await shell(project, `REGISTRY=${etcd.address} npm run --silent client Ada`)).toBe("Hello, Ada!");
  });
});

/** The blocks of the README for users: without its commands for a clone. */
function quickStart() {
  const lines = readDocument("README.md").split("\n");
  const [start, end] = [lines.indexOf("## Install"), lines.indexOf("## What you get")];
  return readBlocks("README.md").filter(({ line, text }) => line > start && line < end && !/^npm run demo/.test(text));
}

async function listening(port: number): Promise<void> {
  const answers = () =>
    fetch(`http://localhost:${port}`).then(
      () => true,
      () => false,
    );
  await expect.poll(answers, { timeout: 60_000, interval: 100 }).toBe(true);
}
