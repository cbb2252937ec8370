/**
 * The packages as users get them: built, packed, installed from the tarballs in an empty folder as the README says, and
 * put to work there with no source of ours in reach.
 */
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ROOT, readBlocks } from "./support/documents.ts";

const run = promisify(execFile);
const INSTALL = ["--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline", "--loglevel=error"];

/** A server on the port it prints, and a client that calls it over both sub-protocols. */
const SERVER = `
import { addHealth } from "triple-es/health";
import { createServer } from "triple-es/node";
import { addReflection } from "triple-es/reflection";
import { GreetServiceDef } from "./gen/greet/v1/greet_triple.js";
import { greetService } from "./greet-service.js";

const server = createServer().add(GreetServiceDef, greetService);
addHealth(server);
addReflection(server);
await server.listen({ port: 0, host: "127.0.0.1" });
console.log(server.address.port);
process.once("SIGTERM", () => server.close({ graceMs: 1_000 }));
`;
const CLIENT = `
import { createTransport as createFetchTransport } from "triple-es/fetch";
import { createHealthClient } from "triple-es/health";
import { createTransport } from "triple-es/node";
import { createGreetServiceClient } from "./gen/greet/v1/greet_triple.js";

const baseUrl = process.argv[2] ?? "";
const transports = {
  grpc: createTransport({ baseUrl }),
  "http-rpc": createTransport({ baseUrl, protocol: "http-rpc", codec: "json" }),
  fetch: createFetchTransport({ baseUrl }),
};
for (const [name, transport] of Object.entries(transports)) {
  const { greeting } = await createGreetServiceClient(transport).greet({ name });
  console.log(greeting);
}
for await (const { greeting } of createGreetServiceClient(transports.grpc).greetEach({ names: ["Ann", "Bob"] })) {
  console.log(greeting);
}
const { status } = await createHealthClient(transports.grpc).check({ service: "greet.v1.GreetService" });
console.log(status);
await Promise.all(Object.values(transports).map((transport) => transport.close()));
`;
const TSCONFIG = {
  compilerOptions: {
    target: "ES2022",
    module: "NodeNext",
    types: ["node"],
    strict: true,
    verbatimModuleSyntax: true,
    rootDir: "src",
    outDir: "dist",
  },
  include: ["src"],
};

let folder: string;
let project: string;
/** File names inside each tarball. */
let packed: Map<string, string[]>;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "triple-es-packages-"));
  project = join(folder, "project");
  mkdirSync(join(project, "src"), { recursive: true });
  await run("npm", ["run", "build"], { cwd: ROOT });
  const pack = ["pack", "--json", "--ignore-scripts", "--pack-destination", folder, "--workspaces"];
  const { stdout } = await run("npm", [...pack, "--include-workspace-root"], { cwd: ROOT });
  const tarballs = Object.values(JSON.parse(stdout)) as { name: string; filename: string; files: { path: string }[] }[];
  packed = new Map(tarballs.map(({ name, files }) => [name, files.map(({ path }) => path)]));
  writeProject();
  await run("npm", ["install", ...INSTALL, ...packagesOfReadme(tarballs)], { cwd: project });
}, 180_000);

afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

function writeProject(): void {
  writeFileSync(join(project, "package.json"), JSON.stringify({ name: "project", private: true, type: "module" }));
  writeFileSync(join(project, "tsconfig.json"), JSON.stringify(TSCONFIG));
  cpSync(`${ROOT}proto/greet`, join(project, "proto/greet"), { recursive: true });
  for (const { path, text } of readBlocks("README.md")) {
    if (path === "buf.gen.yaml" || path === "src/greet-service.ts") writeFileSync(join(project, path), text);
  }
  writeFileSync(join(project, "src/serve.ts"), SERVER);
  writeFileSync(join(project, "src/call.ts"), CLIENT);
}

/** What the README installs: our own from the tarballs, the others in the versions we test with. */
function packagesOfReadme(tarballs: readonly { name: string; filename: string }[]): string[] {
  const { dependencies, devDependencies } = JSON.parse(readFileSync(`${ROOT}package.json`, "utf8"));
  const versions: Record<string, string> = { ...dependencies, ...devDependencies };
  return readBlocks("README.md")
    .flatMap(({ language, text }) => (language === "sh" ? text.split("\n") : []))
    .filter((line) => line.startsWith("npm install"))
    .flatMap((line) => line.split(" ").slice(2))
    .filter((word) => !word.startsWith("--"))
    .map((name) => {
      const tarball = tarballs.find((one) => one.name === name);
      return tarball === undefined ? `${name}@${versions[name]}` : join(folder, tarball.filename);
    });
}

describe("a tarball", () => {
  it.each(["triple-es", "protoc-gen-triple-es"])(
    "of %s has code, types, a README and a license, and no leftovers",
    (name) => {
      const files = packed.get(name) ?? [];
      for (const wanted of ["README.md", "LICENSE", "package.json"]) expect(files).toContain(wanted);
      const others = files.filter(
        (file) => !/^(?:README\.md|LICENSE|package\.json|(?:dist|src)\/.+\.(?:[jt]s|map))$/.test(file),
      );
      expect(others).toEqual([]);
    },
  );

  it.each([
    [
      "triple-es",
      ["index", "node", "fetch", "json", "proto", "fastify"].flatMap((door) => [
        `dist/${door}.js`,
        `dist/${door}.d.ts`,
      ]),
    ],
    ["protoc-gen-triple-es", ["dist/main.js"]],
  ])("of %s has its entry points", (name, wanted) => {
    expect(packed.get(name)).toEqual(expect.arrayContaining(wanted));
  });
});

describe("an installation", () => {
  let server: ChildProcess | undefined;
  afterAll(async () => {
    if (server?.exitCode === null && server.kill()) await once(server, "exit");
  });

  it("of the runtime brings its peer and the two parsers of bodies; other peers are for those who want them", () => {
    const { packages } = JSON.parse(readFileSync(join(project, "node_modules/.package-lock.json"), "utf8"));
    const { dependencies = {}, peerDependencies, peerDependenciesMeta } = packages["node_modules/triple-es"];
    expect(Object.keys(dependencies)).toEqual(["multipasta", "saxes"]);
    expect(Object.keys(peerDependencies)).toEqual(["@bufbuild/protobuf", "@opentelemetry/api", "fastify"]);
    for (const name of ["@opentelemetry/api", "fastify"]) {
      expect(peerDependenciesMeta[name]).toEqual({ optional: true });
      expect(packages).not.toHaveProperty([`node_modules/${name}`]);
    }
  });

  it("generates, compiles, serves and calls over both sub-protocols", { timeout: 60_000 }, async () => {
    await run("npx", ["buf", "generate"], { cwd: project });
    expect(existsSync(join(project, "src/gen/greet/v1/greet_triple.ts"))).toBe(true);

    const compiled = await run("npx", ["tsc", "-p", "."], { cwd: project }).catch((error) => error);
    expect(compiled.stdout).toBe("");

    const child = spawn(process.execPath, ["dist/serve.js"], { cwd: project, stdio: ["ignore", "pipe", "inherit"] });
    server = child;
    const [port] = await once(createInterface(child.stdout), "line");
    const { stdout } = await run(process.execPath, ["dist/call.js", `http://127.0.0.1:${port}`], { cwd: project });
    expect(stdout.trim().split("\n")).toEqual([
      "Hello, grpc!",
      "Hello, http-rpc!",
      "Hello, fetch!",
      "Hello, Ann!",
      "Hello, Bob!",
      "1",
    ]);
  });

  it("has a plugin that says how it is used", async () => {
    const { stdout } = await run("npx", ["protoc-gen-triple-es", "--help"], { cwd: project });
    expect(stdout).toContain("import_extension");
  });

  it("runs from what was built, not from sources", async () => {
    const script = 'console.log(import.meta.resolve("triple-es/node"))';
    const { stdout } = await run(process.execPath, ["--input-type=module", "-e", script], { cwd: project });
    expect(stdout.trim()).toMatch(/\/node_modules\/triple-es\/dist\/node\.js$/);
    expect(dirname(stdout)).not.toContain(ROOT);
  });
});
