/**
 * The packages as users get them: built, packed and installed in an empty folder, where the commands of both READMEs
 * and of the guide are run, without access to the sources.
 */
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { promisify } from "node:util";
import { build } from "esbuild";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Block, expectedOutput, ROOT, readBlocks, readDocument } from "./support/documents.ts";
import { freePort, listening } from "./support/port.ts";
import { TSC_ENVIRONMENT } from "./support/tsc.ts";

const run = promisify(execFile);
const INSTALL = ["--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline", "--loglevel=error"];

/** A server that prints its port, and a client that calls it over both sub-protocols. */
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
await Promise.all([transports.grpc.close(), transports["http-rpc"].close()]);
`;

/** A contract, and a program that calls it in its own process. */
const CONTRACT = `
import type { int } from "triple-es-dubbo/java";

/** @service com.acme.Greeter */
export interface Greeter {
  greet(person: Person, times: int): Promise<string[]>;
}

/** @class com.acme.Person */
export interface Person {
  name: string;
}
`;
const CONTRACT_CALL = `
import { createInMemoryTransport, createRouter } from "triple-es";
import { hessian2 } from "triple-es-dubbo/hessian2";
import { createGreeterClient, GreeterDef } from "./contract/greeter_triple.js";

const serializations = [hessian2];
const router = createRouter({ serializations }).add(GreeterDef, {
  greet: ({ name }, times) => Array.from({ length: times }, () => \`Hello, \${name}!\`),
});
for (const protocol of ["grpc", "http-rpc"] as const) {
  const greeter = createGreeterClient(createInMemoryTransport(router, { protocol, serializations }));
  console.log((await greeter.greet({ name: protocol }, 2)).join(" "));
}
`;

/** The blocks of the first sections of the READMEs and of the guide, in their order: files to write and commands to run. */
const section = [
  ...sectionOf("README.md", "Install"),
  ...sectionOf("README.md", "Quick start"),
  ...["Generate", "Serve", "Call"].flatMap((title) => sectionOf("runtime/README.md", title)),
  ...sectionOf("docs/guide.md", "A project from an empty folder"),
].filter(({ text }) => !text.startsWith("npm run demo"));
const steps = section.filter(({ repository }) => !repository);
const packing = section.filter(({ repository }) => repository);
/** Commands that start a server or a client. */
const isProgram = (line: string): boolean => /^(?:node|npx tsx) /.test(line);

/** A package as `npm pack --json` describes it. */
interface Tarball {
  readonly name: string;
  readonly filename: string;
  readonly unpackedSize: number;
  readonly files: readonly { readonly path: string }[];
}

let folder: string;
let project: string;
/** The file of each package. */
let tarballs: ReadonlyMap<string, string>;
/** Bytes of the files of the runtime. */
let unpackedSize: number;
/** File names inside each tarball. */
let packed: Map<string, string[]>;
/** The free ports that replace those of the documents. */
const ports = new Map<string, number>();

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "triple-es-packages-"));
  project = join(folder, "project");
  mkdirSync(join(project, "src"), { recursive: true });
  const [build = "", pack = ""] = linesToRun(packing).filter((line) => line !== "npm ci");
  await run("sh", ["-c", build], { cwd: ROOT });
  const quiet = `--json --ignore-scripts --pack-destination ${folder}`;
  const { stdout } = await run("sh", ["-c", `${pack} ${quiet}`], { cwd: ROOT });
  const all = Object.values(JSON.parse(stdout)) as Tarball[];
  unpackedSize = all.find(({ name }) => name === "triple-es")?.unpackedSize ?? 0;
  tarballs = new Map(all.map(({ name, filename }) => [name, filename]));
  packed = new Map(all.map(({ name, files }) => [name, files.map(({ path }) => path)]));
  for (const documented of ["8080", "8081", "50051"]) ports.set(documented, await freePort());
  cpSync(`${ROOT}proto/greet`, join(project, "proto/greet"), { recursive: true });
  for (const { path, text, from } of steps) {
    if (path === undefined || from !== undefined) continue;
    mkdirSync(dirname(join(project, path)), { recursive: true });
    writeFileSync(join(project, path), withPort(text));
  }
  writeFileSync(join(project, "src/serve.ts"), SERVER);
  writeFileSync(join(project, "src/call.ts"), CLIENT);
  const preparing = linesToRun(steps).filter((line) => !isProgram(line));
  const env = TSC_ENVIRONMENT;
  for (const line of new Set(preparing)) await run("sh", ["-c", withTarballs(line)], { cwd: project, env });
});

afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

function sectionOf(document: string, title: string): Block[] {
  const lines = readDocument(document).split("\n");
  const start = lines.indexOf(`## ${title}`) + 1;
  const length = lines.slice(start).findIndex((line) => line.startsWith("## "));
  return readBlocks(document).filter(({ line }) => line > start && line < start + length);
}

function linesToRun(blocks: readonly Block[]): string[] {
  return blocks
    .filter(({ language }) => language === "sh")
    .flatMap(({ text }) => text.split("\n"))
    .filter((line) => line !== "" && !/^(?:#|curl )/.test(line));
}

const tarballOf = (name: string): string => join(folder, tarballs.get(name) as string);

/** Installs the packages of this repository from the tarballs, and others in the versions of the tests. */
function withTarballs(line: string): string {
  if (!line.startsWith("npm install ")) return line;
  const { dependencies, devDependencies } = JSON.parse(readFileSync(`${ROOT}package.json`, "utf8"));
  const versions: Record<string, string> = { ...dependencies, ...devDependencies };
  const [npm, install, ...words] = line.split(" ");
  const packages = words.map((word) => {
    if (tarballs.has(word)) return tarballOf(word);
    return word.startsWith("--") ? word : `${word}@${versions[word]}`;
  });
  return [npm, install, ...INSTALL, ...packages].join(" ");
}

function withPort(text: string): string {
  return text.replaceAll(/\b(?:808[01]|50051)\b/g, (documented) => String(ports.get(documented)));
}

/** The files of an entry point for all platforms. */
const builtFrom = (name: string): string[] => [
  `dist/web/${name}.js`,
  `dist/node/${name}.js`,
  `dist/types/${name}.d.ts`,
];

describe("a tarball", () => {
  it.each(["triple-es", "triple-es-dubbo", "triple-es-nest", "protoc-gen-triple-es"])(
    "has code, types, a README, a license and a notice, and no other files: %s",
    (name) => {
      const files = packed.get(name) ?? [];
      for (const wanted of ["README.md", "LICENSE", "NOTICE", "package.json"]) expect(files).toContain(wanted);
      const others = files.filter(
        (file) => !/^(?:README\.md|LICENSE|NOTICE|package\.json|dist\/.+\.(?:[jt]s|css))$/.test(file),
      );
      expect(others).toEqual([]);
    },
  );

  it.each([
    [
      "triple-es",
      [
        "dist/console/page.css",
        "dist/console/page.js",
        ...["index", "fetch", "json", "proto", "openapi"].flatMap(builtFrom),
        "dist/node/node.js",
        "dist/node/fastify.js",
      ],
    ],
    ["triple-es-dubbo", [...["java", "hessian2"].flatMap(builtFrom), "dist/node/index.js", "dist/node/zookeeper.js"]],
    ["triple-es-nest", ["dist/node/index.js", "dist/types/index.d.ts"]],
    ["protoc-gen-triple-es", ["dist/main.js", "dist/triple-es.js"]],
    [
      "create-triple-es",
      [
        ...["README.md", "LICENSE", "NOTICE", "package.json", "dist/main.js"],
        // npm leaves some files with a dot out.
        ...["package.json", "gitignore", ".github/workflows/ci.yml"].map((name) => `templates/common/${name}`),
      ],
    ],
  ])("has its entry points: %s", (name, wanted) => {
    expect(packed.get(name)).toEqual(expect.arrayContaining(wanted));
  });

  it("of the runtime is small", () => {
    expect(packed.get("triple-es")?.length).toBeLessThanOrEqual(250);
    expect(unpackedSize).toBeLessThanOrEqual(3_000_000);
  });
});

describe("an installation", () => {
  const servers: ChildProcess[] = [];
  afterAll(async () => {
    for (const server of servers) {
      if (server.exitCode !== null || server.pid === undefined) continue;
      // A server that npx starts is a process of its own, in the same group.
      process.kill(-server.pid);
      if (server.signalCode === null) await once(server, "exit");
    }
  });

  function serve(command: string): ChildProcess {
    const [program = "", ...args] = command.split(" ");
    const server = spawn(program, args, { cwd: project, stdio: ["ignore", "pipe", "inherit"], detached: true });
    servers.push(server);
    return server;
  }

  it("has the peer and the two body parsers of the runtime, and no optional peers", () => {
    const { packages } = JSON.parse(readFileSync(join(project, "node_modules/.package-lock.json"), "utf8"));
    const { dependencies = {}, peerDependencies, peerDependenciesMeta } = packages["node_modules/triple-es"];
    expect(Object.keys(dependencies)).toEqual(["multipasta", "saxes"]);
    // Without swagger-ui-dist: npm would install a development dependency that is also an optional peer in production.
    const optional = ["@opentelemetry/api", "fastify"];
    expect(Object.keys(peerDependencies).sort()).toEqual(["@bufbuild/protobuf", ...optional].sort());
    for (const name of optional) {
      expect(peerDependenciesMeta[name]).toEqual({ optional: true });
      expect(packages).not.toHaveProperty([`node_modules/${name}`]);
    }
  });

  it("leads from a proto file to calls with only the commands of the documents", async () => {
    expect(existsSync(join(project, "src/gen/greet/v1/greet_triple.ts"))).toBe(true);
    const programs = linesToRun(steps).filter(isProgram);
    const sourceOf = (command: string): string =>
      steps.find(({ path }) => path === /\S+$/.exec(command)?.[0].replace("dist/", "src/").replace(".js", ".ts"))
        ?.text ?? "";
    const isServer = (command: string): boolean => /server\.[jt]s$/.test(command);
    for (const command of programs.filter(isServer)) {
      const [, documented = ""] = /port: ([0-9]+)/.exec(sourceOf(command)) ?? [];
      await listening(serve(command), ports.get(documented) ?? 0);
    }
    const clients = programs.filter((command) => !isServer(command));
    expect(clients.length).toBe(3);
    for (const client of clients) {
      const { stdout } = await run("sh", ["-c", client], { cwd: project });
      expect(stdout.trim().split("\n")).toEqual(expectedOutput(sourceOf(client)));
    }
  });

  it("serves and calls over both sub-protocols, with health and reflection", async () => {
    const [own] = await once(createInterface(serve("node dist/serve.js").stdout as Readable), "line");
    const { stdout } = await run(process.execPath, ["dist/call.js", `http://127.0.0.1:${own}`], { cwd: project });
    expect(stdout.trim().split("\n")).toEqual([
      "Hello, grpc!",
      "Hello, http-rpc!",
      "Hello, fetch!",
      "Hello, Ann!",
      "Hello, Bob!",
      "1",
    ]);
  });

  it("has a plugin that prints its usage", async () => {
    const { stdout } = await run("node_modules/.bin/protoc-gen-triple-es", ["--help"], { cwd: project });
    expect(stdout).toContain("import_extension");
  });

  it("generates a client and a server from a contract", async () => {
    const { devDependencies } = JSON.parse(readFileSync(`${ROOT}package.json`, "utf8"));
    mkdirSync(join(project, "src/contract"));
    writeFileSync(join(project, "src/contract/greeter.ts"), CONTRACT);
    writeFileSync(join(project, "src/contract-call.ts"), CONTRACT_CALL);
    const installed = [...INSTALL, tarballOf("triple-es-dubbo"), `ts-morph@${devDependencies["ts-morph"]}`];
    await run("npm", ["install", "--save-dev", ...installed], { cwd: project });
    const command = ["interface", "src/contract/*.ts", "--out", "src/contract"];
    const generated = await run("node_modules/.bin/triple-es", command, { cwd: project });
    expect(generated.stdout).toBe("1 file written, 0 unchanged\n");
    await run("node_modules/.bin/tsc", ["--singleThreaded"], { cwd: project, env: TSC_ENVIRONMENT });
    const { stdout } = await run(process.execPath, ["dist/contract-call.js"], { cwd: project });
    expect(stdout).toBe("Hello, grpc! Hello, grpc!\nHello, http-rpc! Hello, http-rpc!\n");
  });

  it("gives a page only the modules that it uses", async () => {
    const contents =
      'import { createStub, createTransport } from "triple-es/json"; console.log(createStub, createTransport);';
    const stdin = { contents, resolveDir: project };
    const { outputFiles } = await build({ stdin, bundle: true, minify: true, format: "esm", write: false });
    const [page] = outputFiles;
    expect(page?.text).not.toContain("google.protobuf");
    // With all modules of the entry point it would have four times as much.
    expect(page?.contents.length).toBeLessThanOrEqual(17_000);
  });

  it("loads with the oldest protobuf-es that the runtime allows", async () => {
    const oldest = join(folder, "oldest");
    mkdirSync(oldest);
    writeFileSync(join(oldest, "package.json"), "{}");
    const { exports, peerDependencies } = JSON.parse(readFileSync(`${ROOT}runtime/package.json`, "utf8"));
    const protobuf = `@bufbuild/protobuf@${peerDependencies["@bufbuild/protobuf"].replace("^", "")}`;
    await run("npm", ["install", ...INSTALL, tarballOf("triple-es"), protobuf], { cwd: oldest });
    // The other entry points need optional peers.
    const others = ["./fastify", "./opentelemetry", "./package.json"];
    const names = Object.keys(exports).filter((name) => !others.includes(name));
    const script = names.map((name) => `await import("triple-es${name.slice(1)}");`).join("\n");
    await run(process.execPath, ["--input-type=module", "-e", script], { cwd: oldest });
    const types = join(oldest, "node_modules/triple-es/dist/types/gen/google/protobuf/any_codec.d.ts");
    expect(readFileSync(types, "utf8")).toContain(' from "@bufbuild/protobuf/wkt";');
  });

  it("runs built code, not sources", async () => {
    const script = 'console.log(import.meta.resolve("triple-es/node"))';
    const { stdout } = await run(process.execPath, ["--input-type=module", "-e", script], { cwd: project });
    expect(stdout.trim()).toMatch(/\/node_modules\/triple-es\/dist\/node\/node\.js$/);
    expect(dirname(stdout)).not.toContain(ROOT);
  });
});
