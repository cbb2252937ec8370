/**
 * The seam to the platform: `call/platform.ts` and `node/platform.ts` alone take clocks, randomness, timers, sockets, the DNS
 * and threads from it, but for the exceptions below. A simulation replaces these two modules.
 */
import { join, relative } from "node:path";
import { Project, type SourceFile, ts } from "ts-morph";
import { describe, expect, it } from "vitest";
import { ROOT } from "./support/documents.ts";

const SEAM = ["runtime/src/call/platform.ts", "runtime/src/node/platform.ts"];

/** The exceptions: modules, what they take from the platform directly, and the reason. */
const EXCEPTIONS: readonly (readonly [file: string, names: readonly string[], reason: string])[] = [
  [
    "runtime/src/node/server/fallback/node.ts",
    ["createServer", "request"],
    "listeners of other frameworks expect requests of node:http",
  ],
  ["runtime/src/node/server/adapter/http2.ts", ["setImmediate"], "the streams belong to a server of another framework"],
  ["runtime/src/node/kubernetes/api.ts", ["request"], "requests over HTTP/1.1"],
  ["runtime/src/node/compression.ts", ["zlib"], "passes both forms of its work to offload"],
  ["dubbo/src/registry/nacos/login.ts", ["request"], "requests over HTTP/1.1"],
];

/** The modules that keep state beyond their objects, and what this state belongs to. Each world of a simulation has its own. */
const STATE: Readonly<Record<string, string>> = {
  "runtime/src/call/turn.ts": "the event loop: the messages of its turn",
  "runtime/src/connection/socket.ts": "the event loop: the time for large reads; memory: free slabs",
  "runtime/src/node/thread-pool.ts": "the thread pool",
  "runtime/src/node/dns.ts": "the process: answers of the last second",
  "runtime/src/connection/collecting.ts": "memory: bytes of all connections",
  "runtime/src/connection/chunk-queue.ts": "memory",
  "runtime/src/codec/binary/writer.ts": "memory that is unused between messages",
  "runtime/src/codec/binary/map.ts": "memory that is unused between messages",
  "runtime/src/node/server/http1/engine.ts": "the process: the date of this second",
  "runtime/src/http1/writer.ts": "constants that are computed on first use",
  "runtime/src/http2/hpack/decoder.ts": "memory that is unused between fields",
  "runtime/src/http2/hpack/huffman.ts": "constants that are computed on first use",
  "runtime/src/node/server/adapter/headers.ts": "constants that are computed on first use",
  "runtime/src/node/server/adapter/fastify.ts": "names of plugins",
  "runtime/src/http-rpc/body/multipart.ts": "a module that is loaded on first use",
  "runtime/src/http-rpc/body/xml.ts": "a module that is loaded on first use",
  "runtime/src/observe/attempt-telemetry.ts": "the process: whether an interceptor notes retries",
};

const GLOBALS = /^(?:(?:set|clear)(?:Timeout|Interval|Immediate)|performance)$/;
const MEMBERS = /^(?:globalThis\.)?(?:Math\.random|Date\.now|AbortSignal\.timeout|process\.hrtime|crypto\.\w+)$/;
const MODULES =
  /^node:(?:net|tls|dns|dns\/promises|http|https|http2|os|timers|timers\/promises|zlib|worker_threads|dgram)$/;
/** Names of these modules that neither read nor change anything outside. */
const PURE = ["isIP", "BlockList", "METHODS", "STATUS_CODES", "TLSSocket", "createSecureContext"];

/** Returns what a module takes from the platform. */
function takenBy(file: SourceFile): string[] {
  const imported = file.getImportDeclarations().flatMap((one) => {
    if (one.isTypeOnly() || !MODULES.test(one.getModuleSpecifierValue())) return [];
    const named = one.getNamedImports().filter((name) => !name.isTypeOnly());
    return [one.getDefaultImport()?.getText() ?? [], named.map((name) => name.getName())].flat();
  });
  const used: string[] = [];
  // The nodes of the compiler: those of ts-morph take several times as long to make.
  const visit = (node: ts.Node): void => {
    if (ts.isIdentifier(node) && GLOBALS.test(node.text) && isGlobal(node)) used.push(node.text);
    else if (ts.isPropertyAccessExpression(node) && MEMBERS.test(node.getText())) used.push(node.getText());
    else if (ts.isNewExpression(node) && node.getText() === "new Date()") used.push("new Date()");
    ts.forEachChild(node, visit);
  };
  visit(file.compilerNode);
  return [...imported.filter((name) => !PURE.includes(name)), ...used];
}

/** Reports whether an identifier is neither a member of an object other than `globalThis`, nor a type. */
function isGlobal(identifier: ts.Identifier): boolean {
  const { parent } = identifier;
  if (ts.isTypeQueryNode(parent) || ts.isMethodDeclaration(parent)) return false;
  const isMember = ts.isPropertyAccessExpression(parent) && parent.name === identifier;
  return !isMember || parent.expression.getText() === "globalThis";
}

/** Reports whether a module keeps state in variables: in those that change, and in collections that begin empty. */
function keepsState(file: SourceFile): boolean {
  return file.getVariableStatements().some((statement) => {
    if (statement.getDeclarationKind() === "let") return !statement.hasDeclareKeyword();
    return statement.getDeclarations().some((one) => {
      const initial = one.getInitializer()?.getText() ?? "";
      return /^(?:\[\]|new (?:Map|Set)\b.*\(\))$/.test(initial) && !/^[A-Z_]+$/.test(one.getName());
    });
  });
}

const project = new Project({ compilerOptions: { allowImportingTsExtensions: true } });
project.addSourceFilesAtPaths([
  join(ROOT, "runtime/src/**/*.ts"),
  join(ROOT, "dubbo/src/**/*.ts"),
  join(ROOT, "nest/src/**/*.ts"),
]);

describe("the platform", () => {
  it("is taken from two modules, but for exceptions", () => {
    const found = project.getSourceFiles().flatMap((file) => {
      const name = relative(ROOT, file.getFilePath());
      const taken = [...new Set(takenBy(file))].sort();
      return SEAM.includes(name) || name.includes("/gen/") || taken.length === 0 ? [] : [[name, taken]];
    });
    const expected = EXCEPTIONS.map(([file, names]) => [file, [...names].sort()]);
    expect(found.sort()).toEqual(expected.sort());
  });

  it.each([
    ["setTimeout(f, 1);", "setTimeout"],
    ["globalThis.setTimeout(f, 1);", "setTimeout"],
    ["const start = performance.now;", "performance"],
    ["const { random = Math.random } = options;", "Math.random"],
    ["const today = new Date();", "new Date()"],
    ["const signal = AbortSignal.timeout(5);", "AbortSignal.timeout"],
    ['import { connect as open } from "node:net";', "connect"],
    ['import { lookup } from "node:dns/promises";', "lookup"],
    ['import { setImmediate as later } from "node:timers/promises";', "setImmediate"],
  ])("is found in %s", (text, name) => {
    const file = project.createSourceFile(join(ROOT, "runtime/src/planted.ts"), text, { overwrite: true });
    expect(takenBy(file)).toContain(name);
    project.removeSourceFile(file);
  });

  it.each(["request.setTimeout(0);", 'import { isIP, type Socket } from "node:net";', "new Date(5);"])(
    "is not found in %s",
    (text) => {
      const file = project.createSourceFile(join(ROOT, "runtime/src/planted.ts"), text, { overwrite: true });
      expect(takenBy(file)).toEqual([]);
      project.removeSourceFile(file);
    },
  );
});

describe("state of modules", () => {
  it("has an owner", () => {
    const files = project.getSourceFiles().filter((file) => !file.getFilePath().includes("/gen/") && keepsState(file));
    expect(files.map((file) => relative(ROOT, file.getFilePath())).sort()).toEqual(Object.keys(STATE).sort());
  });
});
