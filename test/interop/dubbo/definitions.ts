/**
 * Definitions of services and of consumers of ours in a registry: Dubbo for Java reads them. Those of services must be the same
 * as those that it makes of the interfaces, but for these differences:
 *
 *     - messages and enums of a proto file have their names there, not those of their classes
 *     - methods of stubs for asynchronous calls are left out, and so are properties for the numbers of enums and the constant
 *       UNRECOGNIZED, which are no part of a proto file
 */
import assert from "node:assert";
import type { Registry } from "triple-es/discovery";
import { createServer } from "triple-es/node";
import { register } from "triple-es-dubbo";
import { hessian2 } from "triple-es-dubbo/hessian2";
import { runProgram } from "../program.ts";
import { CatalogServiceDef, type CatalogServiceHandler } from "./gen/interop/v1/catalog_triple.ts";
import { PlainServiceDef } from "./gen/plain-service_triple.ts";
import { createPlainService } from "./plain-service.ts";
import type { Answers } from "./rolling-restart.ts";

interface Type {
  readonly type: string;
  readonly properties: Readonly<Record<string, string>>;
  readonly items: readonly string[];
  readonly enums: readonly string[];
}

interface Definition {
  readonly canonicalName: string;
  readonly methods: readonly {
    readonly name: string;
    readonly parameterTypes: string[];
    readonly returnType: string;
  }[];
  readonly types: readonly Type[];
  readonly parameters?: Readonly<Record<string, string>>;
}

/** Classes of libraries. Dubbo lists their private fields. */
const OPAQUE: ReadonlySet<string> = new Set([
  "com.google.protobuf.ByteString",
  "org.apache.dubbo.common.stream.StreamObserver",
]);

const KEY = { group: "blue", version: "1.0.0" };
/** The application that provides the services and consumes them. */
export const APPLICATION = "definitions-es";
const INTERFACES = ["com.example.interop.CatalogService", "com.example.interop.PlainService"];

const uncalled = (): never => {
  throw new Error("the service is only described");
};
const CATALOG: CatalogServiceHandler = { find: uncalled, putAll: uncalled, watch: uncalled, exchange: uncalled };

/**
 * Registers a provider of ours, and compares the definitions that Java reads with its own. `command` runs the program in Java
 * with the URL of the registry. Throws an error that shows the first difference.
 */
export async function compareDefinitions(registry: Registry, command: readonly string[]): Promise<Answers> {
  const server = createServer({ serializations: [hessian2] })
    .add(CatalogServiceDef, CATALOG, KEY)
    .add(PlainServiceDef, createPlainService(), KEY);
  await server.listen({ port: 0, host: "127.0.0.1" });
  const ended = new AbortController();
  try {
    await register(server, registry, { application: APPLICATION, propagationMs: 0 }).ready;
    for (const service of INTERFACES) void consume(registry, service, ended.signal);
    const lines = await runProgram([...command, APPLICATION, KEY.group, KEY.version, ...INTERFACES]);
    const answers = lines.trimEnd().split("\n");
    assert.equal(answers.length, INTERFACES.length);
    return answers.map((line, index) => compare(line, INTERFACES[index] as string)).reduce(sum);
  } finally {
    ended.abort();
    await server.close({ graceMs: 0 });
    await registry.close();
  }
}

/** Resolves a service until the signal fires. */
async function consume(registry: Registry, service: string, signal: AbortSignal): Promise<void> {
  const warn = (problem: string): void => console.log(problem);
  const context = { signal, warn, next: async () => {}, configure: () => {} };
  for await (const _ of registry.resolver({ service, ...KEY })(context)) if (signal.aborted) return;
}

/** Compares the two definitions of a line, and checks that of the consumer. Returns the number of methods and types. */
function compare(line: string, name: string): Answers {
  const [read, built, consumer] = JSON.parse(line.replaceAll("interop.v1.", "com.example.interop.")) as [
    Definition,
    Definition,
    Readonly<Record<string, string>>,
  ];
  const expected = { application: APPLICATION, interface: name, side: "consumer", ...KEY };
  assert.deepEqual({ ...consumer, ...expected }, consumer);
  assert.equal(read.canonicalName, name);
  const { application, group, interface: service, side, version } = read.parameters ?? {};
  assert.deepEqual(
    { application, group, service, side, version },
    { application: APPLICATION, service: name, side: "provider", ...KEY },
  );
  const [ours, theirs] = [normalize(read), normalize(built)];
  assert.deepEqual(ours, theirs, name);
  return { interfaces: 1, methods: ours.methods.length, types: Object.keys(ours.types).length };
}

const sum = (a: Answers, b: Answers): Answers =>
  Object.fromEntries(Object.entries(a).map(([key, count]) => [key, count + (b[key] ?? 0)]));

/** Returns the methods, sorted, and the types that they refer to. */
function normalize({ methods, types }: Definition) {
  const all = new Map(types.map((one) => [one.type, one]));
  const reached: Record<string, object> = {};
  const synchronous = methods.filter(({ name }) => !name.endsWith("Async"));
  const open = synchronous.flatMap(({ parameterTypes, returnType }) => [...parameterTypes, returnType]);
  for (let name = open.pop(); name !== undefined; name = open.pop()) {
    if (name in reached) continue;
    const type = all.get(name);
    const parts = type === undefined || OPAQUE.has(name) ? undefined : partsOf(type);
    reached[name] = parts ?? {};
    open.push(...Object.values(parts?.properties ?? {}), ...(parts?.items ?? []));
  }
  return {
    methods: synchronous.map((one) => `${one.returnType} ${one.name}(${one.parameterTypes.join()})`).sort(),
    types: reached,
  };
}

function partsOf({ properties, items, enums }: Type) {
  const kept = Object.entries(properties).filter(([name]) => {
    return !name.endsWith("Value") || !(name.slice(0, -"Value".length) in properties);
  });
  return { properties: Object.fromEntries(kept), items, enums: enums.filter((name) => name !== "UNRECOGNIZED") };
}
