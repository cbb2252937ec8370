/** The command `triple-es migrate`, on projects written like those that are published. */
import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Project } from "../plugin/support/project.ts";
import { ArgumentsError } from "../../src/contract/arguments.ts";
import { readMigrateArguments } from "../../src/migrate/arguments.ts";
import { runMigrate } from "../../src/migrate/migrate.ts";
import { compiled } from "../support/compiled.ts";
import { ROOT } from "../support/documents.ts";
import { TSC, TSC_ENVIRONMENT, TSC_FLAGS } from "../support/tsc.ts";
import { ARGUMENTS, migrate, projectOf } from "./support.ts";

const KINDS = {
  "connect-es": {
    left: [
      "shop/client.ts:18: the transport speaks gRPC, not the Connect protocol: migrate its server too",
      "shop/client.ts:28: codeName returns not_found, where Code[code] was NotFound",
      "shop/fastify.ts:14: cors of @connectrpc/connect is the option cors of createRouter and createServer",
      "shop/fastify.ts:14: .allowedHeaders has no counterpart",
      "web/transport.ts:3: the transport speaks HTTP RPC, not the Connect protocol: migrate its server too",
    ],
    errors: [],
    output: [
      "x-user anonymous",
      "You said I feel happy. 1",
      "Hi Joe, I'm Eliza.",
      "How are you feeling today?",
      "Why do you say a?",
      "Why do you say b?",
      "c, d",
      "1",
      "1",
    ],
  },
  "grpc-js": {
    left: [
      "shop/dynamic.ts:5: @grpc/proto-loader loads proto files at run time: generate code from them",
      "shop/interceptors.ts:3: Interceptor of @grpc/grpc-js is an interceptor: (next) => (request) => next(request)",
      "shop/interceptors.ts:4: InterceptingCall of @grpc/grpc-js is an interceptor: (next) => (request) => next(request)",
      "shop/interceptors.ts:5: FullRequester.start has no counterpart",
    ],
    errors: [],
    output: [
      "You said I feel happy.",
      "3 the sentence is empty",
      "Hi Joe",
      "How are you?",
      "Why a?",
      "Why b?",
      "c, d",
      "[ '1', '2' ]",
      "open: 2 [ '1', '2' ]",
      "5",
      "9007199254740993 PARCEL_STATE_MOVING plain_text soap",
      "5 no parcel for joe",
      "0 [ '0', '1' ] 1",
      "1 [ '1', '2' ] 1",
      "5 PARCEL_STATE_UNSPECIFIED  tea true",
      "6 PARCEL_STATE_UNSPECIFIED 7 undefined false",
      "2",
      "8 PARCEL_STATE_MOVING",
    ],
  },
  "nice-grpc": {
    left: ["shop/count.ts:6: a middleware yields responses: write an Interceptor"],
    errors: [],
    output: [
      "2",
      "1 OPEN joe no order 3",
      "[ '1', '2' ]",
      "16",
      "nothing undefined 0 undefined, text 3 3 a, author joe joe, size 4 5 x none, text 2 2 d, text 3 3 e, author eve eve, \
size 1 2 - none, text 3 3 a, author joe joe, size 4 5 - none, author ann ann, text 3 3 e, author eve eve, size 4 5 - none",
    ],
  },
} as const;

describe.each(Object.entries(KINDS))("a project of %s", (kind, { left, errors, output }) => {
  let project: Project;
  let outcome: ReturnType<typeof migrate>;
  /** Errors of the migrated files, and those that verbatimModuleSyntax adds, which have the code TS1484. */
  let found: readonly string[];
  beforeAll(() => {
    project = projectOf(kind as keyof typeof KINDS);
    outcome = migrate(kind as keyof typeof KINDS, project);
    const config = { extends: "./tsconfig.json", compilerOptions: { verbatimModuleSyntax: true }, include: ["**/*.ts"] };
    project.write("verbatim.json", JSON.stringify(config));
    const options = { cwd: project.folder, env: TSC_ENVIRONMENT, encoding: "utf8" } as const;
    const { stdout } = spawnSync(TSC, ["--project", "verbatim.json", ...TSC_FLAGS], options);
    // Lines of the runtime are checked by its own settings, not by those of the project.
    found = stdout.split("\n").filter((line) => /^[^. ]/.test(line));
  });
  afterAll(() => project[Symbol.dispose]());

  it("is listed where it is left", () => {
    const lines = outcome.stdout.split("\n").filter((line) => line.includes(": "));
    expect(lines.filter((line) => !line.startsWith("the lines"))).toEqual(left);
    expect(outcome.status).toBe(1);
  });

  it("compiles in at least 95 of 100 files", () => {
    const wrong = found.filter((line) => !line.includes(": error TS1484: "));
    expect(wrong).toEqual(errors);
    const files = readdirSync(project.folder, { recursive: true, encoding: "utf8" }).filter(
      (file) => file.endsWith(".ts") && !/^(?:gen|node_modules)/.test(file),
    );
    expect(files.length).toBeGreaterThanOrEqual(10);
    expect(new Set(wrong.map((line) => line.split("(")[0])).size).toBeLessThanOrEqual(files.length / 20);
  });

  it("imports the types of triple-es as types, as verbatimModuleSyntax demands", () => {
    const places = found.flatMap((text) => {
      const [, file = "", line] = /^([^(]+)\((\d+),\d+\): error TS1484: /.exec(text) ?? [];
      return file === "" ? [] : readFileSync(join(project.folder, file), "utf8").split("\n")[Number(line) - 1];
    });
    expect(places.filter((line) => line?.includes("triple-es"))).toEqual([]);
  });

  it("has no import of an old package in a file without a listed place", () => {
    const listed = new Set(left.map((line) => line.split(":")[0]));
    const files = outcome.stdout.split("\n").flatMap((line) => /^changed (\S+\.ts)$/.exec(line)?.[1] ?? []);
    for (const file of files.filter((one) => !listed.has(one))) {
      expect(readFileSync(join(project.folder, file), "utf8"), file).not.toMatch(
        /from ["'](?:@connectrpc|@grpc|nice-grpc)/,
      );
    }
  });

  it("runs", () => {
    const program = compiled(relative(ROOT, join(project.folder, "run.ts")));
    const { status, stdout, stderr } = spawnSync(process.execPath, [program], { encoding: "utf8", timeout: 60_000 });
    expect(status, stderr).toBe(0);
    expect(stdout.trim().split("\n"), stderr).toEqual(output);
  });
});

describe("the command", () => {
  it("reads its arguments", () => {
    expect(readMigrateArguments(["grpc-js", "a.ts", "--dry-run", "--project", "x.json"])).toEqual({
      kind: "grpc-js",
      files: ["a.ts"],
      project: "x.json",
      dryRun: true,
      force: false,
    });
    expect(readMigrateArguments(["--help"])).toBe("help");
    expect(() => readMigrateArguments(["grpcjs"])).toThrow(
      'migrate needs connect-es, grpc-js or nice-grpc, not grpcjs, did you mean "grpc-js"?',
    );
    expect(() => readMigrateArguments(["grpc-js", "--dry"])).toThrow(ArgumentsError);
  });

  it("writes nothing into a work tree with changes, or for --dry-run", () => {
    using project = new Project();
    const run = (more: object) => runMigrate({ ...ARGUMENTS, kind: "connect-es", ...more }, project.folder);
    const source = 'import { Code } from "@connectrpc/connect";\nexport const code = Code.NotFound;\n';
    project.write("code.ts", source);
    project.write("package.json", '{ "dependencies": { "@connectrpc/connect": "^2.0.0" } }');
    expect(() => run({ force: false })).toThrow("there is no file tsconfig.json: give --project, or files");
    spawnSync("git", ["init", "--quiet"], { cwd: project.folder });
    expect(() => run({ force: false })).toThrow("the work tree has uncommitted changes: commit them, or pass --force");
    for (const name of ["gone.ts", ".", "*.ts"])
      expect(() => run({ files: ["code.ts", name] })).toThrow(`there is no source file ${name}`);
    const dry = run({ dryRun: true, files: ["code.ts"] });
    expect(dry).toMatchObject({ status: 0, stderr: "" });
    expect(dry.stdout).toContain("would change code.ts\nwould change package.json\n2 files to change, nothing left");
    expect(readFileSync(join(project.folder, "code.ts"), "utf8")).toBe(source);
    expect(run({ files: ["code.ts"] }).stdout).toContain("2 files changed, nothing left");
    expect(readFileSync(join(project.folder, "code.ts"), "utf8")).toBe(source.replace("@connectrpc/connect", "triple-es"));
    expect(readFileSync(join(project.folder, "package.json"), "utf8")).not.toContain("@connectrpc");
  });

  it("keeps a package in package.json that files use which it does not migrate", () => {
    using project = new Project();
    project.write("tsconfig.json", '{ "compilerOptions": { "module": "NodeNext" }, "include": ["*.ts"] }');
    for (const name of ["a", "b"]) project.write(`${name}.ts`, 'export { Code } from "@connectrpc/connect";\n');
    project.write("package.json", '{ "dependencies": { "@connectrpc/connect": "^2.0.0" } }');
    const run = (file: string) => runMigrate({ ...ARGUMENTS, kind: "connect-es", files: [file] }, project.folder);
    run("a.ts");
    expect(readFileSync(join(project.folder, "package.json"), "utf8")).toContain("@connectrpc");
    run("b.ts");
    expect(readFileSync(join(project.folder, "package.json"), "utf8")).not.toContain("@connectrpc");
  });

  it("keeps the ends of lines, and a package that a file names in single quotes", () => {
    using project = new Project();
    const source = "import { Code } from '@connectrpc/connect';\r\nimport { createGrpcTransport } from '@connectrpc/connect-node';\r\n";
    project.write("a.ts", `${source}\r\nexport const all = [Code.NotFound, createGrpcTransport];\r\n`);
    project.write("b.ts", "export * from '@connectrpc/connect';\n");
    project.write("package.json", '{ "dependencies": { "@connectrpc/connect": "^2.0.0", "@connectrpc/connect-node": "^2.0.0" } }');
    runMigrate({ ...ARGUMENTS, kind: "connect-es", files: ["a.ts", "b.ts"] }, project.folder);
    expect(readFileSync(join(project.folder, "a.ts"), "utf8")).toBe(
      "import { Code } from 'triple-es';\r\nimport { createTransport } from 'triple-es/node';\r\n\r\nexport const all = [Code.NotFound, createTransport];\r\n",
    );
    const { dependencies } = JSON.parse(readFileSync(join(project.folder, "package.json"), "utf8"));
    expect(Object.keys(dependencies)).toEqual(["@bufbuild/protobuf", "@connectrpc/connect", "triple-es"]);
  });

  it("refuses a project with version 1 of Connect", () => {
    using project = new Project();
    project.write("node_modules/@connectrpc/connect/index.d.ts", "export declare const createPromiseClient: unknown;");
    project.write("a.ts", 'import { createPromiseClient } from "@connectrpc/connect"; console.log(createPromiseClient);');
    expect(() => runMigrate({ ...ARGUMENTS, kind: "connect-es", files: ["a.ts"] }, project.folder)).toThrow(
      "@connectrpc/connect is version 1: run its own migration first, npx @connectrpc/connect-migrate",
    );
  });

  it("refuses a project whose packages are not installed", () => {
    using project = new Project();
    project.write("a.ts", 'import { GreetService } from "./gen/greet_pb.js";\nexport const service = GreetService;\n');
    expect(() => runMigrate({ ...ARGUMENTS, kind: "connect-es", files: ["a.ts"] }, project.folder)).toThrow(
      "./gen/greet_pb.js of a.ts is not found: install packages and generate code first, their types are read",
    );
  });
});
