/** Definitions of services for consoles: their JSON, and how registries store them. Dubbo itself judges them in `npm run interop:dubbo`. */
import type { DescMessage } from "@bufbuild/protobuf";
import { StructSchema } from "@bufbuild/protobuf/wkt";
import type { Method } from "triple-es";
import type { Instance, OfferedService, Registration, RegistrationEvent } from "triple-es/discovery";
import { type InterfaceMethod, interfacePayload, type JavaClass } from "triple-es-dubbo/java";
import { expect, it, onTestFinished } from "vitest";
import { writeDefinition } from "../../../../dubbo/src/registry/dubbo/definition.ts";
import { writeGoInstance } from "../../../../dubbo/src/registry/dubbo/service-instance.ts";
import { createTreeRegistry, type Tree } from "../../../../dubbo/src/registry/tree.ts";
import { GreetServiceDef } from "../../../../examples/gen/greet/v1/greet_triple.ts";
import { PeerServiceDef } from "../../../interop/dubbo/gen/interop/v1/peer_triple.ts";
import { everySpecial, everything } from "../../../support/messages.ts";

/** A limit that is reached only if the awaited change never happens. */
const SOON = { timeout: 10_000 };

interface Definition {
  readonly canonicalName: string;
  readonly methods: readonly Readonly<Record<string, unknown>>[];
  readonly parameters: Readonly<Record<string, string>>;
  readonly types: readonly {
    readonly type: string;
    readonly properties: Readonly<Record<string, string>>;
    readonly items: readonly string[];
    readonly enums: readonly string[];
  }[];
}

const define = (methods: readonly Method[], service = "a.Service"): Definition =>
  JSON.parse(writeDefinition("shop", { service, methods }) ?? "null");

/** The parts of all types that have some: their properties, otherwise items or constants. */
function typesOf({ types }: Definition): Readonly<Record<string, unknown>> {
  const parts = types.map(({ type, properties, items, enums }): [string, object] => {
    return [type, Object.keys(properties).length > 0 ? properties : [...items, ...enums]];
  });
  return Object.fromEntries(parts.filter(([, one]) => Object.keys(one).length > 0));
}

const unary = (message: DescMessage): Method => {
  const names = { service: "a.Service", name: "Get", path: "/a.Service/Get" };
  return { kind: "unary", ...names, input: message, output: message };
};

it("a service of a proto file is written as Dubbo's FullServiceDefinition", () => {
  const offered = { service: "interop.v1.PeerService", group: "blue", version: "1.0.0" };
  const text = writeDefinition("shop", { ...offered, methods: Object.values(PeerServiceDef.methods) });
  const { types, ...definition } = JSON.parse(text ?? "") as Definition;
  const stream = "org.apache.dubbo.common.stream.StreamObserver";
  const method = (name: string, parameterTypes: string[], returnType: string) => ({
    annotations: [],
    name,
    parameters: [],
    parameterTypes,
    returnType,
  });
  expect(definition).toEqual({
    annotations: [],
    canonicalName: "interop.v1.PeerService",
    codeSource: expect.stringMatching(/^triple-es-/),
    methods: [
      method("unary", ["interop.v1.PeerRequest"], "interop.v1.PeerResponse"),
      method("clientStream", [stream], stream),
      method("serverStream", ["interop.v1.PeerRequest", stream], "void"),
      method("bidiStream", [stream], stream),
      method("watch", ["interop.v1.WatchRequest"], "interop.v1.WatchResponse"),
    ],
    parameters: {
      application: "shop",
      dubbo: "2.0.2",
      group: "blue",
      interface: "interop.v1.PeerService",
      methods: "unary,clientStream,serverStream,bidiStream,watch",
      release: expect.stringMatching(/^triple-es-/),
      side: "provider",
      version: "1.0.0",
    },
  });
  const string = "java.lang.String";
  expect(types).toContainEqual({ type: "void", enums: [], items: [], properties: {} });
  expect(types).toContainEqual({
    type: "interop.v1.PeerResponse",
    enums: [],
    items: [],
    properties: {
      text: string,
      metadata: `java.util.Map<${string},${string}>`,
      service: string,
      number: "long",
      data: "com.google.protobuf.ByteString",
    },
  });
});

it("fields of every kind have their types in Java", () => {
  const types = typesOf(define([unary(everything("proto3"))]));
  const all = types["all.All"] as Readonly<Record<string, string>>;
  // The keys are the numbers of the types in descriptor.proto, from TYPE_DOUBLE to TYPE_SINT64.
  const expected: Readonly<Record<number, readonly [string, string]>> = {
    1: ["double", "java.lang.Double"],
    2: ["float", "java.lang.Float"],
    3: ["long", "java.lang.Long"],
    4: ["long", "java.lang.Long"],
    5: ["int", "java.lang.Integer"],
    6: ["long", "java.lang.Long"],
    7: ["int", "java.lang.Integer"],
    8: ["boolean", "java.lang.Boolean"],
    9: ["java.lang.String", "java.lang.String"],
    11: ["all.All", "all.All"],
    12: ["com.google.protobuf.ByteString", "com.google.protobuf.ByteString"],
    13: ["int", "java.lang.Integer"],
    14: ["all.Mood", "all.Mood"],
    15: ["int", "java.lang.Integer"],
    16: ["long", "java.lang.Long"],
    17: ["int", "java.lang.Integer"],
    18: ["long", "java.lang.Long"],
  };
  for (const [number, [single, repeated]] of Object.entries(expected)) {
    expect([number, all[`single${number}`], all[`choice${number}`]]).toEqual([number, single, single]);
    expect([number, all[`loose${number}`]]).toEqual([number, `java.util.List<${repeated}>`]);
    expect(types[`java.util.List<${repeated}>`]).toEqual([repeated]);
  }
  expect(types["all.Mood"]).toEqual(["CALM", "GLAD", "SAD"]);
});

it("messages that contain themselves, maps and well-known types are written once, and each type that is named is there", () => {
  expect(typesOf(define([unary(StructSchema)]))).toEqual({
    "google.protobuf.Struct": { fields: "java.util.Map<java.lang.String,google.protobuf.Value>" },
    "java.util.Map<java.lang.String,google.protobuf.Value>": ["java.lang.String", "google.protobuf.Value"],
    "google.protobuf.Value": {
      nullValue: "google.protobuf.NullValue",
      numberValue: "double",
      stringValue: "java.lang.String",
      boolValue: "boolean",
      structValue: "google.protobuf.Struct",
      listValue: "google.protobuf.ListValue",
    },
    "google.protobuf.NullValue": ["NULL_VALUE"],
    "google.protobuf.ListValue": { values: "java.util.List<google.protobuf.Value>" },
    "java.util.List<google.protobuf.Value>": ["google.protobuf.Value"],
  });
  for (const message of [everySpecial(), everything("proto2")]) {
    const { types, methods } = define([unary(message)]);
    const names = types.map(({ type }) => type);
    expect(new Set(names).size).toBe(names.length);
    const parts = types.flatMap(({ properties, items }) => [...Object.values(properties), ...items]);
    expect(names).toEqual(expect.arrayContaining([...parts, String(methods[0]?.["returnType"])]));
  }
});

it("interface methods have the types of their signatures, as Class.getCanonicalName spells them", () => {
  const node: JavaClass = {
    name: "com.acme.Tree$Node",
    fields: {
      next: { class: () => node },
      color: { enum: { name: "com.acme.Color", values: ["RED"] } },
      bytes: "[B",
      chars: { array: "char" },
      rows: { array: { array: "java.lang.Long" } },
      lists: { array: { list: { set: "java.lang.Short" } } },
      byName: { map: ["java.lang.String", { list: { class: () => node } }] },
      any: "java.lang.Object",
      born: "java.util.Date",
    },
  };
  const method = (name: string, kind: InterfaceMethod["kind"], signature: InterfaceMethod["signature"]) =>
    ({ kind, name, service: "a.Trees", path: `/a.Trees/${name}`, payload: interfacePayload, signature }) as const;
  const definition = define([
    method("Find", "unary", {
      parameters: [
        { name: "id", type: "int" },
        { name: "tags", type: { set: "java.lang.String" } },
      ],
      result: { class: () => node },
    }),
    method("Find", "unary", { parameters: [], result: "void" }),
    method("watch", "server_streaming", { parameters: [{ name: "id", type: "int" }], result: "java.lang.Long" }),
  ]);
  const stream = "org.apache.dubbo.common.stream.StreamObserver";
  expect(definition.parameters["methods"]).toBe("Find,watch");
  expect(definition.methods).toMatchObject([
    { name: "Find", parameterTypes: ["int", "java.util.Set<java.lang.String>"], returnType: "com.acme.Tree.Node" },
    { name: "Find", parameterTypes: [], returnType: "void" },
    { name: "watch", parameterTypes: ["int", stream], returnType: "void" },
  ]);
  expect(typesOf(definition)).toEqual({
    "com.acme.Tree.Node": {
      next: "com.acme.Tree.Node",
      color: "com.acme.Color",
      bytes: "byte[]",
      chars: "char[]",
      rows: "java.lang.Long[][]",
      lists: "java.util.List[]",
      byName: "java.util.Map<java.lang.String,java.util.List<com.acme.Tree.Node>>",
      any: "java.lang.Object",
      born: "java.util.Date",
    },
    "com.acme.Color": ["RED"],
    "byte[]": ["byte"],
    "char[]": ["char"],
    "java.lang.Long[]": ["java.lang.Long"],
    "java.lang.Long[][]": ["java.lang.Long[]"],
    "java.util.List[]": ["java.util.List"],
    "java.util.List<com.acme.Tree.Node>": ["com.acme.Tree.Node"],
    "java.util.Map<java.lang.String,java.util.List<com.acme.Tree.Node>>": [
      "java.lang.String",
      "java.util.List<com.acme.Tree.Node>",
    ],
    "java.util.Set<java.lang.String>": ["java.lang.String"],
  });
});

/** A registry in memory. `refuse` returns the error of a change at a path. */
class MemoryTree {
  readonly entries = new Map<string, string>();
  /** The paths of persistent entries in the order of writing. */
  readonly written: string[] = [];
  refuse: (path: string) => Error | undefined = () => undefined;
  #session = new AbortController();

  /** Ends the session, and loses all entries. */
  lose(): void {
    this.entries.clear();
    const ended = this.#session;
    this.#session = new AbortController();
    ended.abort();
  }

  tree(hasConsoles: boolean): Tree {
    const tree: Partial<Tree> = {
      name: "memory",
      hasConsoles,
      session: async () => ({
        lost: this.#session.signal,
        put: async (path, content) => void this.entries.set(path, content),
        remove: async (path) => void this.entries.delete(path),
      }),
      change: async (path, change) => {
        const refusal = this.refuse(path);
        if (refusal !== undefined) throw refusal;
        const content = change(this.entries.get(path));
        if (content === undefined) return;
        this.written.push(path);
        this.entries.set(path, content);
      },
    };
    return tree as Tree;
  }

  /** The paths of definitions. */
  definitions(): string[] {
    return [...this.entries.keys()].filter((path) => path.startsWith("/dubbo/metadata/"));
  }
}

const GREET: OfferedService = { service: "greet.v1.GreetService", methods: Object.values(GreetServiceDef.methods) };
const PATH = "/dubbo/metadata/greet.v1.GreetService/provider/shop";
const DEFINED = (path: string): boolean => path.startsWith("/dubbo/metadata/");

/** Registers an instance until the end of the test. */
function registerIn(memory: MemoryTree, change: Partial<Instance> = {}, hasConsoles = true, onRegistered = () => {}) {
  const instance: Instance = { application: "shop", host: "10.0.0.1", port: 1, services: [GREET], ...change };
  const registry = createTreeRegistry(memory.tree(hasConsoles), writeGoInstance, { servers: ["127.0.0.1:1"] });
  const events: (string | RegistrationEvent["type"])[] = [];
  const registration: Registration = registry.register(instance, (event) => {
    events.push(event.type === "failed" ? event.error.rawMessage : event.type);
    if (event.type === "registered") onRegistered();
  });
  onTestFinished(() => registration.close());
  return { registration, events };
}

it("a provider stores a definition for each service after its mapping; one that is there already is not written again", async () => {
  const memory = new MemoryTree();
  const blue = { ...GREET, group: "blue", version: "1.0.0" };
  const inner = { ...GREET, service: "com.acme.Outer$Greeter", group: "blue" };
  const undescribed = { ...GREET, service: "a.Other", methods: undefined };
  registerIn(memory, { services: [GREET, blue, inner, undescribed] });
  const paths = [
    "/dubbo/metadata/com.acme.Outer%24Greeter/blue/provider/shop",
    "/dubbo/metadata/greet.v1.GreetService/1.0.0/blue/provider/shop",
    PATH,
  ];
  await expect.poll(() => memory.definitions().sort(), SOON).toEqual(paths);
  expect(memory.written.slice(0, 3).every((path) => path.startsWith("/dubbo/mapping/"))).toBe(true);
  expect(memory.entries.get(PATH)).toBe(writeDefinition("shop", GREET));

  const before = memory.written.length;
  const other = registerIn(memory, {
    port: 2,
    since: 1,
    weight: 7,
    attributes: { zone: "b" },
    services: [GREET, blue],
  });
  let reads = 0;
  memory.refuse = (path) => {
    if (DEFINED(path)) reads++;
    return undefined;
  };
  await other.registration.ready;
  await expect.poll(() => reads, SOON).toBe(2);
  // Only an outdated definition is replaced.
  expect(memory.written.slice(before)).toEqual([]);
  memory.entries.set(PATH, "{}");
  registerIn(memory, { port: 3 });
  await expect.poll(() => memory.entries.get(PATH), SOON).toBe(writeDefinition("shop", GREET));
  expect(memory.written.slice(before)).toEqual([PATH]);
});

it("a definition that cannot be stored is reported once and stored later, while the instance is registered", async () => {
  const memory = new MemoryTree();
  let refusals = 0;
  memory.refuse = (path) => (DEFINED(path) && refusals++ < 3 ? new Error(`no permission for ${path}`) : undefined);
  const { registration, events } = registerIn(memory);
  await registration.ready;
  expect(registration.status()).toBe("registered");
  await expect.poll(() => memory.definitions(), SOON).toEqual([PATH]);
  expect(registration.status()).toBe("registered");
  const report = `definitions of services for consoles are not stored: no permission for ${PATH}`;
  expect(events).toEqual(["registered", report]);
});

it("definitions are stored again in a registry that has lost its data, and stay after the registration is closed", async () => {
  const memory = new MemoryTree();
  const { registration } = registerIn(memory);
  await expect.poll(() => memory.definitions(), SOON).toEqual([PATH]);
  memory.lose();
  await expect.poll(() => memory.definitions(), SOON).toEqual([PATH]);
  await registration.close();
  expect(memory.definitions()).toEqual([PATH]);
  expect([...memory.entries.keys()].filter((path) => path.includes("10.0.0.1"))).toEqual([]);
  memory.lose();
  await new Promise((resolve) => setImmediate(resolve));
  expect(memory.definitions()).toEqual([]);
});

it("a registration that is closed at once stores nothing, nor does one in a registry without consoles", async () => {
  const memory = new MemoryTree();
  const early = registerIn(memory, { application: "early" });
  await early.registration.close();
  const late = registerIn(memory, { application: "late" }, true, () => void late.registration.close());
  await late.registration.ready;
  await registerIn(memory, {}, false).registration.ready;
  await new Promise((resolve) => setImmediate(resolve));
  expect(memory.definitions()).toEqual([]);
});

it("a definition that ZooKeeper could not hold is reported, and the others are stored", async () => {
  const memory = new MemoryTree();
  const method = Object.values(GreetServiceDef.methods)[0] as Method;
  const huge = { service: "a.Huge", methods: Array.from({ length: 5_000 }, (_, n) => ({ ...method, name: `m${n}` })) };
  const { events } = registerIn(memory, { services: [huge, GREET] });
  await expect.poll(() => memory.definitions(), SOON).toEqual([PATH]);
  expect(events).toEqual([
    "registered",
    expect.stringMatching(/that of a\.Huge has [0-9]{6} characters, more than 300000$/),
  ]);
});
