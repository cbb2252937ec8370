/**
 * Definitions of services and of consumers of ours in a registry: Dubbo for Java reads them. Those of services must be the same
 * as those that it makes of the interfaces, but for these differences:
 *
 *     - messages and enums of a proto file have their names there, not those of their classes
 *     - methods of stubs for asynchronous calls are left out, and so are properties for the numbers of enums and the constant
 *       UNRECOGNIZED, which are no part of a proto file
 */
import assert from "node:assert";
import { type Admin, until } from "./admin-program.ts";
import type { Answers } from "./rolling-restart.ts";

interface Type {
  readonly type: string;
  readonly properties: Readonly<Record<string, string>>;
  readonly items: readonly string[];
  readonly enums: readonly string[];
}

export interface Definition {
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

/** The names in the registry of a service that an application provides and consumes. */
export interface Described {
  readonly application: string;
  readonly interface: string;
  readonly group: string;
  readonly version: string;
}

/** Reads a definition of one side. Waits for it: it may be written after the registration. */
export function readDefinition(admin: Admin, { application, ...key }: Described, side: string): Promise<unknown> {
  return until(
    () => admin.ask("definition", `${key.group}/${key.interface}:${key.version}`, side, application),
    (read) => read !== null,
  );
}

/**
 * Compares the definitions in the registry with that which Java makes of the interface. Returns the number of methods and types.
 * Throws an error that shows the first difference.
 */
export async function compareDefinitions(admin: Admin, described: Described): Promise<Answers> {
  const name = described.interface;
  const consumer = (await readDefinition(admin, described, "consumer")) as Readonly<Record<string, string>>;
  assert.deepEqual({ ...consumer, ...described, side: "consumer" }, consumer);
  const text = JSON.stringify(await readDefinition(admin, described, "provider"));
  const read = JSON.parse(text.replaceAll("interop.v1.", "com.example.interop.")) as Definition;
  assert.equal(read.canonicalName, name);
  assert.deepEqual({ ...read.parameters, ...described, side: "provider" }, read.parameters);
  const [ours, theirs] = [normalize(read), normalize((await admin.ask("definition", name)) as Definition)];
  assert.deepEqual(ours, theirs, name);
  return { methods: ours.methods.length, types: Object.keys(ours.types).length };
}

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
