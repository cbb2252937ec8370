/**
 * Services and consumers of ours as Dubbo Admin sees them in a registry:
 *
 *     lists         the providers of each service, at both levels, and its consumers
 *     definitions   the methods with the types of their parameters
 *     test calls    generic calls with these types, and values in JSON
 */
import assert from "node:assert";
import type { Registry } from "triple-es/discovery";
import { createServer } from "triple-es/node";
import { register } from "triple-es-dubbo";
import { hessian2 } from "triple-es-dubbo/hessian2";
import { addGenericCalls } from "triple-es-dubbo/java";
import { type Admin, until } from "./admin-program.ts";
import { compareDefinitions, type Definition, readDefinition } from "./definitions.ts";
import { CatalogServiceDef, type CatalogServiceHandler } from "./gen/interop/v1/catalog_triple.ts";
import { PlainServiceDef } from "./gen/plain-service_triple.ts";
import { createPlainService } from "./plain-service.ts";
import type { Answers } from "./rolling-restart.ts";

/** The application that provides the services and consumes them. */
export const APPLICATION = "admin-es";

const KEY = { group: "blue", version: "1.0.0" };
const describe = (name: string) => ({ ...KEY, application: APPLICATION, interface: `com.example.interop.${name}` });
const [CATALOG, PLAIN] = [describe("CatalogService"), describe("PlainService")];
const keyOf = (service: typeof PLAIN): string => `${service.group}/${service.interface}:${service.version}`;

const uncalled = (): never => {
  throw new Error("the service is only described");
};
const CATALOG_SERVICE: CatalogServiceHandler = {
  find: uncalled,
  putAll: uncalled,
  watch: uncalled,
  exchange: uncalled,
};

/** Registers a provider and consumers of ours, and judges what Admin reads and calls. */
export async function judgeByAdmin(
  admin: Admin,
  registry: Registry,
  judge: (cell: string, judged: Promise<Answers>) => Promise<void>,
): Promise<void> {
  const server = createServer({ serializations: [hessian2] });
  addGenericCalls(server);
  server.add(CatalogServiceDef, CATALOG_SERVICE, KEY).add(PlainServiceDef, createPlainService(), KEY);
  await server.listen({ port: 0, host: "127.0.0.1" });
  const ended = new AbortController();
  try {
    await register(server, registry, { application: APPLICATION, propagationMs: 0 }).ready;
    for (const service of [CATALOG, PLAIN]) {
      void consume(registry, service.interface, ended.signal);
      await judge(`java reads the definition of ${service.interface}`, compareDefinitions(admin, service));
    }
    const address = `127.0.0.1:${server.address.port}`;
    await judge("admin lists our providers and consumers", checkLists(admin, address));
    await judge("admin makes test calls", checkCalls(admin, address));
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

/** An entry in a list of Admin. */
interface Entry {
  readonly level: "instance" | "interface";
  readonly address: string;
  readonly application: string;
  readonly release: string | null;
}

interface Lists {
  readonly providers: readonly Entry[];
  readonly consumers: readonly Entry[];
}

async function checkLists(admin: Admin, address: string): Promise<Answers> {
  const entry = { address, application: APPLICATION };
  const expected = [
    { level: "instance", ...entry },
    { level: "interface", ...entry },
  ];
  for (const service of [CATALOG, PLAIN]) {
    const { providers, consumers } = await until(
      async () => (await admin.ask("service", keyOf(service))) as Lists,
      (lists) => lists.providers.length === 2 && lists.consumers.length === 1,
    );
    assert.deepEqual(
      providers.map(({ release: _, ...listed }) => listed),
      expected,
    );
    // Admin takes definitions of such releases for those of Dubbo 2, which have another format.
    for (const { release } of providers) assert.doesNotMatch(String(release), /^2/);
    assert.deepEqual(
      consumers.map(({ application }) => application),
      [APPLICATION],
    );
  }
  return { services: 2, providers: 4, consumers: 2 };
}

const ADDRESS = { street: "Allee", number: 1 };
const USER = {
  name: "Ada",
  age: 41,
  id: 7,
  score: 1,
  active: true,
  weight: 61.5,
  level: "EXPERT",
  balance: null,
  born: 0,
  avatar: null,
  address: ADDRESS,
  tags: ["a"],
  places: null,
  manager: null,
};

/** Test calls: the method, the values, and the result. */
const CALLS: readonly (readonly [method: string, args: readonly unknown[], result: unknown])[] = [
  ["greet", ["Ada"], "Hello, Ada!"],
  ["greet", ["Ada", 2], "Hello, Ada! Hello, Ada!"],
  ["increment", [1], 2],
  ["next", [1], 2],
  ["half", [3], 1.5],
  ["not", [true], false],
  ["boxedNext", [null], null],
  ["reverse", [["a", "b"]], ["b", "a"]],
  ["nextAll", [[1, 2]], [2, 3]],
  ["upper", [["a"]], ["A"]],
  ["lengths", [{ one: "abc" }], { one: 3 }],
  ["sortInts", [[2, 1]], [1, 2]],
  ["sortStrings", [["b", "a"]], ["a", "b"]],
  ["names", [[{ id: 1, name: "Ada" }]], { 1: "Ada" }],
  ["nextDay", [0], 86_400_000],
  ["reverseBytes", [[1, 2]], "AgE="],
  ["total", [[12.5]], 12.5],
  ["promote", ["NOVICE"], "EXPERT"],
  [
    "birthday",
    [USER],
    {
      ...USER,
      class: "com.example.interop.User",
      age: 42,
      address: { class: "com.example.interop.Address", ...ADDRESS },
    },
  ],
  ["nothing", [], null],
];

async function checkCalls(admin: Admin, address: string): Promise<Answers> {
  const { methods } = (await readDefinition(admin, PLAIN, "provider")) as Definition;
  const test = (calls: readonly (readonly [string, readonly unknown[]])[], at: string | null): Promise<unknown> => {
    const typed = calls.map(([name, args]) => {
      const method = methods.find((one) => one.name === name && one.parameterTypes.length === args.length);
      return [name, method?.parameterTypes, args];
    });
    return admin.ask("test", keyOf(PLAIN), at, typed);
  };
  const results = await test(
    CALLS.map(([name, args]) => [name, args]),
    address,
  );
  assert.deepEqual(
    results,
    CALLS.map(([, , result]) => result),
  );
  // Without an address, the consumer finds the provider in the registry.
  assert.deepEqual(await test([["greet", ["Ada"]]], null), ["Hello, Ada!"]);
  const [failure] = (await test([["fail", ["no such thing", 7]]], address)) as string[];
  assert.match(failure ?? "", /PlainException: no such thing/);
  // Admin sends messages of proto files as maps, which Dubbo's providers do not read either.
  const [refusal] = (await admin.ask("test", keyOf(CATALOG), address, [
    ["find", ["interop.v1.Query"], [{}]],
  ])) as string[];
  assert.match(refusal ?? "", /the header generic is "true", supported is protobuf-json/);
  return { calls: CALLS.length + 3 };
}
