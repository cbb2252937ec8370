/**
 * The layers of the runtime: checks every import against the table in docs/architecture.md, and the rules of the
 * plugin.
 */
import { dirname, join, relative } from "node:path";
import { type Block, type Node, Project, type SourceFile, SyntaxKind } from "ts-morph";
import { describe, expect, it } from "vitest";
import { ROOT, readDocument } from "./support/documents.ts";

const RUNTIME = "runtime/src/";
const DUBBO = "dubbo/src/";

/** Parsers of request bodies, for sub-protocol A only. */
const PARSERS = ["multipasta", "saxes"];
const ENTRY_POINTS = 8;

/**
 * The layer of each folder, and of the two modules in the root that are not entry points, from the table of the
 * architecture.
 */
const LAYERS = readLayers();

/** Entry points that re-export another entry point and add to it. */
const EXTENDED_ENTRY_POINTS: ReadonlyMap<string, string> = new Map([["node", "index"]]);

/** Packages that users install, each with the modules that import it. */
const OPTIONAL_PEERS: ReadonlyMap<string, string> = new Map([
  ["fastify", "fastify"],
  ["node/server/adapter/fastify", "fastify"],
  ["observe/call-metrics", "@opentelemetry/api"],
  ["observe/telemetry", "@opentelemetry/api"],
  ["observe/attempt-telemetry", "@opentelemetry/api"],
  ["observe/discovery-telemetry", "@opentelemetry/api"],
]);

/** Folders of engines, which transport exchanges and do not depend on methods. */
const ENGINES = ["connection/", "node/", "fetch/"];

/** Folders that run on Node only, and the entry point of the first. */
const NODE_FOLDERS = ["node/", "node"];

/** Modules of lower layers that engines must not import: entry points pass protocols and the router to them. */
const HIDDEN_FROM_ENGINES = ["grpc/", "http-rpc/", "server/router"];

/** One import: the importing file and the imported file, both as shown in a message. */
interface Import {
  readonly from: string;
  readonly to: string;
}

/** The sources alone, without the declarations of packages and of the platform, which take most of the time to read. */
const project = new Project({
  compilerOptions: { allowImportingTsExtensions: true, noLib: true, noResolve: true, types: [] },
});
project.addSourceFilesAtPaths([
  join(ROOT, "runtime/src/**/*.ts"),
  join(ROOT, "dubbo/src/**/*.ts"),
  join(ROOT, "src/**/*.ts"),
]);

const nameOf = (file: SourceFile): string => relative(ROOT, file.getFilePath());
const files = project.getSourceFiles().map(nameOf).sort();
const imports = project.getSourceFiles().flatMap(importsOf);

function readLayers(): ReadonlyMap<string, number> {
  const rows = readDocument("docs/architecture.md").matchAll(/^\| (\d) \| ([^|]+) \|/gm);
  return new Map(
    Array.from(rows).flatMap(([, layer, cell = ""]) =>
      Array.from(cell.matchAll(/`([^`]+)`/g), ([, folder = ""]) => [folder, Number(layer)] as const),
    ),
  );
}

/** Returns every module that a file imports or re-exports, including types and dynamic imports. */
function importsOf(file: SourceFile): Import[] {
  const from = nameOf(file);
  return file.getImportStringLiterals().map((literal) => {
    const specifier = literal.getLiteralValue();
    return { from, to: specifier.startsWith(".") ? join(dirname(from), specifier) : specifier };
  });
}

/** The path of a module below `runtime/src`, without its extension. */
const moduleOf = (file: string): string => file.slice(RUNTIME.length).replace(/\.ts$/, "");

/**
 * Returns the folder of a module with a slash, or the module itself if it is in the root. Generated services and messages
 * are two folders.
 */
function folderOf(file: string): string {
  const module = moduleOf(file);
  if (module.startsWith("gen/")) return generatedFolder(module);
  const slash = module.indexOf("/");
  return slash < 0 ? module : module.slice(0, slash + 1);
}

function generatedFolder(module: string): string {
  if (module.endsWith("_triple")) return "gen/services";
  if (!module.endsWith("_codec")) return "gen/messages";
  // Codecs of the runtime's own services belong to these services; those of well-known types are an entry point.
  return module.startsWith("gen/google/protobuf/") ? "gen/codecs" : "gen/services";
}

/**
 * A module in the root that the table does not name is an entry point. A folder that the table does not name has no layer.
 */
function layerOf(file: string): number | undefined {
  const folder = folderOf(file);
  return LAYERS.get(folder) ?? (folder.includes("/") ? undefined : ENTRY_POINTS);
}

/**
 * Modules of `src` and packages that each folder of it may import, in addition to its own. The entry points import what
 * they start; every folder may import `src/version.ts`.
 */
const GENERATOR: readonly (readonly [folder: string, folders: readonly string[], packages: RegExp])[] = [
  ["src/print/", [], /^@bufbuild\/(?:protobuf|protoplugin)(?:\/|$)/],
  // The plugin contains the part of the runtime that describes services, so that a document is equal at build time and
  // at run time.
  [
    "src/plugin/openapi-file.ts",
    ["src/plugin/", "runtime/src/openapi/descriptor-document.ts"],
    /^@bufbuild\/protobuf$/,
  ],
  ["src/plugin/", ["src/print/"], /^@bufbuild\/(?:protobuf|protoplugin)(?:\/|$)/],
  ["src/contract/model/", ["src/print/"], /^ts-morph$/],
  ["src/contract/read/", ["src/print/", "src/contract/model/"], /^ts-morph$/],
  ["src/contract/stub/", ["src/print/", "src/contract/model/"], /^$/],
  ["src/contract/java/", ["src/print/", "src/contract/model/"], /^ts-morph$/],
  // The command, too, describes services as the runtime does.
  [
    "src/contract/typescript/openapi-document.ts",
    ["src/contract/", "src/print/", "runtime/src/openapi/document.ts", "runtime/src/protocol/payload.ts"],
    /^$/,
  ],
  ["src/contract/typescript/", ["src/contract/", "src/print/", "src/triple-contract.ts"], /^ts-morph$/],
  ["src/contract/", ["src/print/"], /^ts-morph$/],
  ["src/migrate/", ["src/print/", "src/contract/", "src/version.ts"], /^(?:ts-morph|@bufbuild\/protobuf\/reflect)$/],
  // The command sends calls as clients do.
  ["src/replay/", ["src/contract/", "runtime/src/"], /^$/],
  ["src/main.ts", ["src/plugin/"], /^@bufbuild\/protobuf(?:\/|$)/],
  ["src/triple-es.ts", ["src/contract/", "src/migrate/", "src/print/", "src/replay/"], /^$/],
  ["src/triple-contract.ts", [], /^$/],
  ["src/version.ts", [], /^$/],
];

function objectionInGenerator(from: string, to: string): string | undefined {
  const [folder, folders, packages] = GENERATOR.find(([name]) => from.startsWith(name)) ?? [from, [], /^$/];
  if (to.startsWith("node:") || packages.test(to) || to === "src/version.ts") return undefined;
  if ([folder, ...folders].some((name) => to.startsWith(name))) return undefined;
  return `${folder} may import ${["node:*", ...folders].join(", ")} and its own modules`;
}

/** The reason why an import is forbidden; `undefined` if it is allowed. */
function objection({ from, to }: Import): string | undefined {
  if (from.startsWith("src/")) return objectionInGenerator(from, to);
  return from.startsWith(DUBBO) ? objectionInDubbo(from, to) : objectionToRuntime(from, to);
}

/** The entry points of `triple-es` that each folder of `triple-es-dubbo` may import; interface methods run in pages too. */
const DUBBO_FOLDERS: readonly (readonly [folder: string, packages: RegExp])[] = [
  [
    "dubbo/src/interface/msgpack/serialization.ts",
    /^(?:triple-es(?:\/internal)?|@bufbuild\/protobuf.*|@msgpack\/msgpack)$/,
  ],
  ["dubbo/src/interface/", /^(?:triple-es(?:\/internal)?|@bufbuild\/protobuf.*)$/],
  [
    "dubbo/src/registry/",
    /^(?:node:.+|triple-es(?:\/(?:discovery|node|internal|internal\/node))?|@bufbuild\/protobuf.*)$/,
  ],
  ["dubbo/src/rules/", /^(?:node:net|yaml|triple-es(?:\/(?:discovery|internal))?)$/],
  ["dubbo/src/gen/", /^(?:triple-es(?:\/(?:codec|wkt))?|@bufbuild\/protobuf.*)$/],
];

function objectionInDubbo(from: string, to: string): string | undefined {
  const [folder, packages] = DUBBO_FOLDERS.find(([name]) => from.startsWith(name)) ?? [DUBBO, /^triple-es$/];
  if (to.startsWith(folder === DUBBO ? DUBBO : folder.replace("msgpack/serialization.ts", ""))) return undefined;
  if (packages.test(to)) return undefined;
  if (folder === "dubbo/src/registry/" && /^dubbo\/src\/(?:gen\/|rules\/service-rules\.ts$)/.test(to)) return undefined;
  return `${folder} may import ${packages.source} and its own modules`;
}

function objectionToRuntime(from: string, to: string): string | undefined {
  const folder = folderOf(from);
  if (to.startsWith("node:")) {
    return NODE_FOLDERS.includes(folder) ? undefined : "only node/ and its entry point may import node:*";
  }
  if (!to.startsWith(RUNTIME)) return objectionToPackage(from, to);
  const target = folderOf(to);
  if (folder === "gen/services") {
    const allowed = ["stub", "gen/messages", "gen/codecs", "gen/services"].includes(target);
    return allowed ? undefined : "generated services import stub.ts, messages and their codecs";
  }
  if (folder === target && folder.includes("/")) return undefined;
  const [layer, targetLayer] = [layerOf(from), layerOf(to)];
  if (layer === undefined || targetLayer === undefined) return "the architecture does not name the folder";
  if (layer === ENTRY_POINTS) {
    if (targetLayer < ENTRY_POINTS || EXTENDED_ENTRY_POINTS.get(folder) === target) return undefined;
    return "an entry point may import the layers below the entry points";
  }
  if (ENGINES.includes(folder) && HIDDEN_FROM_ENGINES.some((hidden) => moduleOf(to).startsWith(hidden))) {
    return "an engine knows neither protocols nor the router";
  }
  return targetLayer < layer ? undefined : `layer ${layer} may not import from layer ${targetLayer}`;
}

function objectionToPackage(from: string, to: string): string | undefined {
  if (folderOf(from) === "http-rpc/" && PARSERS.includes(to)) return undefined;
  if (OPTIONAL_PEERS.get(moduleOf(from)) === to) return undefined;
  if (folderOf(from) === "http2/") return "http2/ imports no package";
  return /^@bufbuild\/protobuf(?:\/|$)/.test(to) ? undefined : "the runtime depends on @bufbuild/protobuf alone";
}

const objections = (list: readonly Import[]): string[] =>
  list.flatMap((one) => {
    const reason = objection(one);
    return reason === undefined ? [] : [`${one.from} imports ${one.to}: ${reason}`];
  });

/** Returns the first cycle of imports. */
function findCycle(list: readonly Import[]): string | undefined {
  const done = new Set<string>();
  const visit = (file: string, path: readonly string[]): string | undefined => {
    if (path.includes(file)) return [...path.slice(path.indexOf(file)), file].join(" imports ");
    if (done.has(file)) return undefined;
    for (const { to } of list.filter(({ from }) => from === file)) {
      const cycle = visit(to, [...path, file]);
      if (cycle !== undefined) return cycle;
    }
    done.add(file);
    return undefined;
  };
  for (const { from } of list) {
    const cycle = visit(from, []);
    if (cycle !== undefined) return cycle;
  }
  return undefined;
}

describe("the layers", () => {
  const ofRuntime = files.filter((file) => file.startsWith(RUNTIME));

  it("have a place for every file of the runtime", () => {
    expect(ofRuntime.length).toBeGreaterThan(30);
    expect(ofRuntime.filter((file) => layerOf(file) === undefined)).toEqual([]);
  });

  it("name no folder that does not exist", () => {
    const folders = new Set(ofRuntime.map(folderOf));
    expect([...LAYERS.keys()].filter((folder) => !folders.has(folder))).toEqual([]);
    expect(LAYERS.size).toBeGreaterThan(10);
  });

  it("leave nothing but entry points in the root that package.json exports", () => {
    const { exports } = JSON.parse(readDocument("runtime/package.json"));
    const entryPoints = Object.values<string | { "triple-source": string }>(exports)
      .flatMap((entry) => (typeof entry === "string" ? [] : [entry["triple-source"].replace("./src/", RUNTIME)]))
      .sort();
    expect(ofRuntime.filter((file) => layerOf(file) === ENTRY_POINTS)).toEqual(entryPoints);
  });

  it("are kept by every import, types included", () => {
    expect(imports.length).toBeGreaterThan(100);
    expect(objections(imports)).toEqual([]);
  });

  it("have no cycles, types included", () => {
    expect(findCycle(imports)).toBeUndefined();
  });
});

/** Maximum number of statements of a function in an entry point, which connects modules. */
const MAX_STATEMENTS = 7;

/** Syntax that decides, repeats or keeps state. It belongs to the modules that an entry point connects. */
const LOGIC = new Set([
  SyntaxKind.ClassDeclaration,
  SyntaxKind.ClassExpression,
  SyntaxKind.ConditionalExpression,
  SyntaxKind.DoStatement,
  SyntaxKind.ForInStatement,
  SyntaxKind.ForOfStatement,
  SyntaxKind.ForStatement,
  SyntaxKind.IfStatement,
  SyntaxKind.SwitchStatement,
  SyntaxKind.ThrowStatement,
  SyntaxKind.TryStatement,
  SyntaxKind.WhileStatement,
]);

/** The parts of an entry point that are more than imports, exports, declared options and calls that connect modules. */
function logicIn(file: SourceFile): string[] {
  const found = (node: Node, what: string): string => `${nameOf(file)}:${node.getStartLineNumber()}: ${what}`;
  const blocks = file.getDescendantsOfKind(SyntaxKind.Block);
  const isInner = (block: Block): boolean => block.getFirstAncestorByKind(SyntaxKind.Block) !== undefined;
  return [
    ...file
      .getDescendants()
      .filter((node) => LOGIC.has(node.getKind()))
      .map((node) => found(node, node.getKindName())),
    ...file
      .getVariableStatements()
      .flatMap((one) => (one.getDeclarationKind() === "const" ? [] : [found(one, "state")])),
    ...blocks
      .filter((block) => block.getStatements().length > MAX_STATEMENTS)
      .map((one) => found(one, "a long function")),
    ...blocks.filter(isInner).map((one) => found(one, "a function in a function")),
  ];
}

describe("entry points", () => {
  it("connect modules and contain no logic", () => {
    const entryPoints = project.getSourceFiles().filter((file) => layerOf(nameOf(file)) === ENTRY_POINTS);
    const runtime = entryPoints.filter((file) => nameOf(file).startsWith(RUNTIME));
    expect(runtime.length).toBeGreaterThan(10);
    expect(runtime.flatMap(logicIn)).toEqual([]);
  });

  it.each([
    ["a branch", "export const f = (a: number) => (a > 0 ? a : -a);", "ConditionalExpression"],
    ["a loop", "export function f(a: number[]) { for (const b of a) console.log(b); }", "ForOfStatement"],
    ["a class", "export class A {}", "ClassDeclaration"],
    ["state", "let count = 0; export const next = () => count++;", "state"],
    ["a closure with statements", "export function f() { return () => { f(); }; }", "a function in a function"],
    ["a long function", `export function f() { ${"f();".repeat(MAX_STATEMENTS + 1)} }`, "a long function"],
  ])("are found to have logic if they have %s", (_what, text, found) => {
    const file = project.createSourceFile(join(ROOT, "runtime/src/planted.ts"), text, { overwrite: true });
    expect(logicIn(file)).toEqual([`runtime/src/planted.ts:1: ${found}`]);
    project.removeSourceFile(file);
  });
});

/** Names that several entry points export on purpose: each creates the same object for another platform. */
const PARALLEL_NAMES = ["createRouter", "createTransport"];

/** A number, a calculation with numbers, a string, or a regular expression. */
const LITERAL = /^(?:[\d_.e*+/ -]+|"[^"]*"|\/.+\/[a-z]*)$/;

/** The name of a constant. */
const UPPER_CASE = /^[A-Z][A-Z0-9_]*$/;

describe("names", () => {
  /** Exported declarations by package and name. */
  function declaringFiles(): ReadonlyMap<string, string[]> {
    const found = new Map<string, string[]>();
    for (const file of project.getSourceFiles()) {
      const name = nameOf(file);
      if (name.includes("/gen/")) continue;
      const owner = [RUNTIME, DUBBO].find((folder) => name.startsWith(folder)) ?? "src";
      for (const [exported, declarations] of file.getExportedDeclarations()) {
        if (!declarations.some((declaration) => declaration.getSourceFile() === file)) continue;
        const key = `${owner} ${exported}`;
        found.set(key, [...(found.get(key) ?? []), name]);
      }
    }
    return found;
  }

  it("are exported by one module each, within a package", () => {
    const shared = [...declaringFiles()].filter(([, files]) => files.length > 1);
    expect(shared.filter(([key]) => !PARALLEL_NAMES.includes(key.split(" ")[1] as string))).toEqual([]);
    expect(shared).toHaveLength(PARALLEL_NAMES.length);
  });

  /** Names of the constants that several modules declare, whatever their values: those in upper case, and literals. */
  function sharedConstants(sources: readonly SourceFile[]): ReadonlyMap<string, string[]> {
    const found = new Map<string, string[]>();
    for (const file of sources) {
      for (const declaration of file.getVariableDeclarations()) {
        const name = declaration.getName();
        if (!UPPER_CASE.test(name) && !LITERAL.test(declaration.getInitializer()?.getText() ?? "")) continue;
        found.set(name, [...(found.get(name) ?? []), nameOf(file)]);
      }
    }
    return new Map([...found].filter(([, files]) => files.length > 1));
  }

  it.each([RUNTIME, DUBBO])("of constants are declared in one module each of %s", (folder) => {
    const sources = project.getSourceFiles().filter((file) => nameOf(file).startsWith(folder));
    expect(sources.length).toBeGreaterThan(30);
    expect([...sharedConstants(sources)]).toEqual([]);
  });

  it.each([
    ["one value", "MAX_BYTES", "const MAX_BYTES = 4 * 1024;", "export const MAX_BYTES: number = 4 * 1024;"],
    ["different values", "MAX_BYTES", "const MAX_BYTES = 4 * 1024;", "const MAX_BYTES = 64 * 1024;"],
    ["a literal and a calculated value", "ANY", 'export const ANY = "any";', "const ANY = Math.max(1, 2);"],
    ["tables", "CODES", "const CODES = { 404: 5 };", "const CODES = { 404: 12 };"],
    ["literals in lower case", "product", 'const product = "a";', 'const product = "b";'],
  ])("of constants that two modules share are found: %s", (_what, name, ...texts) => {
    const planted = texts.map((text, i) => project.createSourceFile(join(ROOT, `runtime/src/planted-${i}.ts`), text));
    const found = [...sharedConstants(planted)];
    for (const file of planted) project.removeSourceFile(file);
    expect(found).toEqual([[name, ["runtime/src/planted-0.ts", "runtime/src/planted-1.ts"]]]);
  });
});

describe("the rules themselves", () => {
  const forbidden = (from: string, to: string): string[] => objections([{ from, to }]);

  it.each([
    ["a layer importing from one above", "runtime/src/call/error.ts", "runtime/src/codec/codec.ts"],
    ["a folder importing from another of its layer", "runtime/src/server/handler.ts", "runtime/src/client/client.ts"],
    ["one protocol importing the other", "runtime/src/grpc/client.ts", "runtime/src/http-rpc/status.ts"],
    ["the router knowing a protocol", "runtime/src/server/router.ts", "runtime/src/grpc/server.ts"],
    ["an engine importing a protocol", "runtime/src/node/server/http2/engine.ts", "runtime/src/grpc/envelope.ts"],
    ["an engine importing the router", "runtime/src/node/server/listener/listener.ts", "runtime/src/server/router.ts"],
    ["an engine on fetch importing the router", "runtime/src/fetch/handler.ts", "runtime/src/server/router.ts"],
    ["a layer importing an entry point", "runtime/src/node/server/listener/listener.ts", "runtime/src/index.ts"],
    [
      "an entry point importing another, other than those that extend it",
      "runtime/src/fetch.ts",
      "runtime/src/index.ts",
    ],
    ["node:* in the portable part", "runtime/src/call/context.ts", "node:timers"],
    ["node:* in an entry point for every platform", "runtime/src/fetch.ts", "node:http"],
    ["generated messages importing the runtime", "runtime/src/gen/a_pb.ts", "runtime/src/call/code.ts"],
    ["generated services importing an entry point", "runtime/src/gen/a_triple.ts", "runtime/src/index.ts"],
    ["a protocol importing generated services", "runtime/src/grpc/server.ts", "runtime/src/gen/a_triple.ts"],
    ["another dependency", "runtime/src/node/server/http2/engine.ts", "undici"],
    ["a parser outside of sub-protocol A", "runtime/src/fetch.ts", "saxes"],
    ["a framework outside its modules", "runtime/src/node.ts", "fastify"],
    ["MessagePack outside its module", "dubbo/src/interface/msgpack/shape.ts", "@msgpack/msgpack"],
    ["interface methods using Node", "dubbo/src/interface/client.ts", "node:util"],
    ["interface methods using an engine of Node", "dubbo/src/interface/client.ts", "triple-es/node"],
    ["interface methods using registries", "dubbo/src/interface/client.ts", "dubbo/src/registry/tree.ts"],
    ["the runtime knowing Dubbo", "runtime/src/index.ts", "triple-es-dubbo/java"],
    ["OpenTelemetry outside its module", "runtime/src/observe/logger.ts", "@opentelemetry/api"],
    ["the plugin running the runtime", "src/plugin/client.ts", "triple-es"],
    ["the plugin reaching into the runtime", "src/plugin/client.ts", "runtime/src/call/call.ts"],
    [
      "the plugin reaching into the runtime for more than documents",
      "src/plugin/openapi-file.ts",
      "runtime/src/call/call.ts",
    ],
    ["the plugin importing a compiler", "src/plugin/client.ts", "ts-morph"],
    ["the plugin knowing contracts", "src/plugin/client.ts", "src/contract/model/contract.ts"],
    ["the printer knowing the plugin", "src/print/imports.ts", "src/plugin/options.ts"],
    ["a contract's model knowing its reader", "src/contract/model/contract.ts", "src/contract/read/tags.ts"],
    ["the stubs knowing the Java files", "src/contract/stub/stub-file.ts", "src/contract/java/java-check.ts"],
    ["the plugin kit in the command for contracts", "src/contract/command.ts", "@bufbuild/protobuf"],
  ])("forbid %s, naming the file and the import", (_rule, from, to) => {
    expect(forbidden(from, to)).toEqual([expect.stringContaining(`${from} imports ${to}: `)]);
  });

  it.each([
    ["runtime/src/grpc/client.ts", "runtime/src/grpc/envelope.ts"],
    ["runtime/src/grpc/status.ts", "runtime/src/gen/google/rpc/status_pb.ts"],
    ["runtime/src/node/server/http2/engine.ts", "runtime/src/protocol/protocol.ts"],
    ["runtime/src/http-rpc/body/xml.ts", "saxes"],
    ["runtime/src/gen/a_triple.ts", "runtime/src/stub.ts"],
    ["runtime/src/gen/a_triple.ts", "runtime/src/gen/a_pb.ts"],
    ["runtime/src/services/health.ts", "runtime/src/gen/a_triple.ts"],
    ["runtime/src/node.ts", "runtime/src/index.ts"],
    ["runtime/src/node.ts", "node:net"],
    ["runtime/src/fetch.ts", "runtime/src/server/router.ts"],
    ["src/plugin/openapi-file.ts", "runtime/src/openapi/descriptor-document.ts"],
    ["dubbo/src/registry/etcd/client.ts", "dubbo/src/gen/etcd/rpc_triple.ts"],
    ["dubbo/src/registry/etcd/client.ts", "triple-es/internal/node"],
  ])("allow %s to import %s", (from, to) => {
    expect(forbidden(from, to)).toEqual([]);
  });

  it("find a cycle", () => {
    const circle = [
      { from: "a", to: "b" },
      { from: "b", to: "c" },
      { from: "c", to: "b" },
    ];
    expect(findCycle(circle)).toBe("b imports c imports b");
  });
});
