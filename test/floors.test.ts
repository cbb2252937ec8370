/** Who may import whom: the floors of the runtime, its two wings, its doors, and the plugin beside them. */
import { dirname, join, relative } from "node:path";
import { Project, type SourceFile } from "ts-morph";
import { describe, expect, it } from "vitest";
import { ROOT, readDocument } from "./support/documents.ts";

const RUNTIME = "runtime/src/";

/**
 * The rooms of the runtime from the ground up, as the table of runtime/README.md has them. A name that ends in `/` stands
 * for every file of the folder; generated messages and generated services are rooms of their own.
 */
const FLOORS = readFloors();
/** What the server half of sub-protocol A parses bodies with. */
const PARSERS = ["multipasta", "saxes"];
const DOORS = 6;

/** Doors that open another door and add to it. */
const doorsOfDoors: ReadonlyMap<string, string> = new Map([
  ["node", "index"],
  ["json", "fetch"],
  ["fastify", "node"],
  ["proto", "fetch"],
]);

/** One import: who, whom, and both as they appear in a message. */
interface Import {
  readonly from: string;
  readonly to: string;
}

const project = new Project({ compilerOptions: { allowImportingTsExtensions: true } });
project.addSourceFilesAtPaths([join(ROOT, "runtime/src/**/*.ts"), join(ROOT, "src/**/*.ts")]);

const nameOf = (file: SourceFile): string => relative(ROOT, file.getFilePath());
const files = project.getSourceFiles().map(nameOf).sort();
const imports = project.getSourceFiles().flatMap(importsOf);

function readFloors(): string[][] {
  const floors: string[][] = [];
  for (const [, floor, cell = ""] of readDocument("runtime/README.md").matchAll(/^\| (\d) \| ([^|]+) \|/gm)) {
    const rooms = Array.from(
      cell.matchAll(/`([^`]+?)\*?`|generated (\w+)/g),
      ([, room, kind]) => room ?? `gen/${kind}`,
    );
    floors[Number(floor)] = [...(floors[Number(floor)] ?? []), ...rooms];
  }
  return floors;
}

/** Every module a file imports or exports again, types and dynamic imports included. */
function importsOf(file: SourceFile): Import[] {
  const from = nameOf(file);
  return file.getImportStringLiterals().map((literal) => {
    const specifier = literal.getLiteralValue();
    return { from, to: specifier.startsWith(".") ? join(dirname(from), specifier) : specifier };
  });
}

/** The entry of {@link FLOORS} a file of the runtime belongs to. */
function roomOf(file: string): string {
  const path = file.slice(RUNTIME.length).replace(/\.ts$/, "");
  if (path.startsWith("gen/")) return path.endsWith("_triple") ? "gen/services" : "gen/messages";
  const slash = path.indexOf("/");
  return slash < 0 ? path : path.slice(0, slash + 1);
}

function floorOf(file: string): number {
  return FLOORS.findIndex((rooms) => rooms.includes(roomOf(file)));
}

/**
 * Modules of `src` that a folder of it may import besides its own, and the packages. The entry points import what they
 * start; `src/version.ts` is open to all of them.
 */
const GENERATOR: readonly (readonly [folder: string, folders: readonly string[], packages: RegExp])[] = [
  ["src/print/", [], /^@bufbuild\/(?:protobuf|protoplugin)(?:\/|$)/],
  ["src/plugin/", ["src/print/"], /^@bufbuild\/(?:protobuf|protoplugin)(?:\/|$)/],
  ["src/contract/model/", ["src/print/"], /^ts-morph$/],
  ["src/contract/read/", ["src/print/", "src/contract/model/"], /^ts-morph$/],
  ["src/contract/stub/", ["src/print/", "src/contract/model/"], /^$/],
  ["src/contract/java/", ["src/print/", "src/contract/model/"], /^ts-morph$/],
  ["src/contract/", ["src/print/"], /^ts-morph$/],
  ["src/main.ts", ["src/plugin/"], /^@bufbuild\/protobuf(?:\/|$)/],
  ["src/triple-es.ts", ["src/contract/", "src/print/"], /^$/],
  ["src/version.ts", [], /^$/],
];

function objectionInGenerator(from: string, to: string): string | undefined {
  const [folder, folders, packages] = GENERATOR.find(([name]) => from.startsWith(name)) ?? [from, [], /^$/];
  if (to.startsWith("node:") || packages.test(to) || to === "src/version.ts") return undefined;
  if ([folder, ...folders].some((name) => to.startsWith(name))) return undefined;
  return `${folder} may import ${["node:*", ...folders].join(", ")} and its own modules`;
}

/** Why the import is forbidden; `undefined` if it is allowed. */
function objection({ from, to }: Import): string | undefined {
  if (from.startsWith("src/")) return objectionInGenerator(from, to);
  const floor = floorOf(from);
  const room = roomOf(from);
  if (to.startsWith("node:")) {
    return room === "node/" || room === "node" ? undefined : "only engines and the door for Node may import node:*";
  }
  if (!to.startsWith(RUNTIME)) {
    if (room === "http-rpc/" && PARSERS.includes(to)) return undefined;
    if (room === "fastify" && to === "fastify") return undefined;
    if (room === "msgpack" && to === "@msgpack/msgpack") return undefined;
    if (room === "opentelemetry" && to === "@opentelemetry/api") return undefined;
    return /^@bufbuild\/protobuf(?:\/|$)/.test(to) ? undefined : "the runtime depends on @bufbuild/protobuf alone";
  }
  const [target, targetRoom] = [floorOf(to), roomOf(to)];
  if (room === "gen/services") {
    return ["stub", "gen/messages"].includes(targetRoom) ? undefined : "generated services import stub.ts and messages";
  }
  if ((room.endsWith("/") || room === "gen/messages") && room === targetRoom) return undefined;
  if (floor === DOORS) {
    if (target < DOORS || doorsOfDoors.get(room) === targetRoom) return undefined;
    return "a door may import what is below the doors";
  }
  if (target < floor && !(room === "node/" && target === 4)) return undefined;
  return `floor ${floor} may not import from floor ${target}`;
}

const objections = (list: readonly Import[]): string[] =>
  list.flatMap((one) => {
    const reason = objection(one);
    return reason === undefined ? [] : [`${one.from} imports ${one.to}: ${reason}`];
  });

/** The first way round in a circle that the imports allow. */
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

describe("the floors", () => {
  it("have a place for every file of the runtime", () => {
    const rooms = files.filter((file) => file.startsWith(RUNTIME));
    expect(rooms.length).toBeGreaterThan(30);
    expect(rooms.filter((file) => floorOf(file) < 0)).toEqual([]);
  });

  it("have no place twice, and none for what is not there", () => {
    const rooms = files.filter((file) => file.startsWith(RUNTIME)).map(roomOf);
    expect(FLOORS).toHaveLength(DOORS + 1);
    expect(FLOORS.flat().sort()).toEqual([...new Set(rooms)].sort());
  });

  it("are kept by every import, types included", () => {
    expect(imports.length).toBeGreaterThan(100);
    expect(objections(imports)).toEqual([]);
  });

  it("have no cycles, types included", () => {
    expect(findCycle(imports)).toBeUndefined();
  });
});

describe("the rules themselves", () => {
  const forbidden = (from: string, to: string): string[] => objections([{ from, to }]);

  it.each([
    ["a floor importing from one above", "runtime/src/call/error.ts", "runtime/src/call/call.ts"],
    ["a room importing from its own floor", "runtime/src/server/handler.ts", "runtime/src/protocol/protocol.ts"],
    ["one wing importing the other", "runtime/src/grpc/client.ts", "runtime/src/http-rpc/status.ts"],
    ["the router knowing a wing", "runtime/src/server/router.ts", "runtime/src/grpc/server.ts"],
    ["a wing knowing the router", "runtime/src/http-rpc/server.ts", "runtime/src/server/router.ts"],
    ["an engine importing a wing", "runtime/src/node/server/http2.ts", "runtime/src/grpc/envelope.ts"],
    ["an engine importing the router", "runtime/src/node/server/listener.ts", "runtime/src/server/router.ts"],
    ["a room below importing a door", "runtime/src/node/server/listener.ts", "runtime/src/index.ts"],
    [
      "a door importing another, other than node importing index and json importing fetch",
      "runtime/src/fetch.ts",
      "runtime/src/index.ts",
    ],
    ["node:* in the portable part", "runtime/src/call/context.ts", "node:timers"],
    ["generated messages importing the runtime", "runtime/src/gen/a_pb.ts", "runtime/src/call/code.ts"],
    ["generated services importing a door", "runtime/src/gen/a_triple.ts", "runtime/src/index.ts"],
    ["a wing importing generated services", "runtime/src/grpc/server.ts", "runtime/src/gen/a_triple.ts"],
    ["a third dependency", "runtime/src/node/server/http2.ts", "undici"],
    ["a parser outside of sub-protocol A", "runtime/src/fetch.ts", "saxes"],
    ["a framework outside its door", "runtime/src/node.ts", "fastify"],
    ["MessagePack outside its door", "runtime/src/java/json-serialization.ts", "@msgpack/msgpack"],
    ["sub-protocol B knowing a serialization", "runtime/src/java/wrapper/wrapped-call.ts", "runtime/src/hessian2.ts"],
    ["OpenTelemetry outside its door", "runtime/src/observe/logger.ts", "@opentelemetry/api"],
    ["the plugin running the runtime", "src/plugin/client.ts", "triple-es"],
    ["the plugin reaching into the runtime", "src/plugin/client.ts", "runtime/src/call/call.ts"],
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
    ["runtime/src/node/server/http2.ts", "runtime/src/protocol/protocol.ts"],
    ["runtime/src/http-rpc/body/xml.ts", "saxes"],
    ["runtime/src/gen/a_triple.ts", "runtime/src/stub.ts"],
    ["runtime/src/gen/a_triple.ts", "runtime/src/gen/a_pb.ts"],
    ["runtime/src/health.ts", "runtime/src/gen/a_triple.ts"],
    ["runtime/src/node.ts", "runtime/src/index.ts"],
    ["runtime/src/fetch.ts", "runtime/src/server/router.ts"],
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
