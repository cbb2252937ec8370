/** Generic calls, without the types of a service: of interface methods with values, and of methods of proto files with JSON. */
import type { JsonValue } from "@bufbuild/protobuf";
import {
  Code,
  createInMemoryTransport,
  createRouter,
  type Interceptor,
  type Method,
  type Router,
  type RouterOptions,
  RpcError,
} from "triple-es";
import { hessian2 } from "triple-es-dubbo/hessian2";
import {
  addGenericCalls,
  createGenericClient,
  type GenericClient,
  JavaException,
  type JavaType,
  jsonSerialization,
  typed,
} from "triple-es-dubbo/java";
import { msgpack } from "triple-es-dubbo/msgpack";
import { describe, expect, it } from "vitest";
import { fromJson } from "../../../dubbo/src/interface/read-json.ts";
import { GreetServiceDef } from "../../../examples/gen/greet/v1/greet_triple.ts";
import type { Node } from "../../../fixtures/interface/contracts/classes.ts";
import { ClassesDef, type ClassesHandler, NodeClass } from "../../../fixtures/interface/gen/classes_triple.ts";
import { CollectionsDef, type CollectionsHandler } from "../../../fixtures/interface/gen/collections_triple.ts";
import { EnumsDef } from "../../../fixtures/interface/gen/enums_triple.ts";
import { OverloadsDef } from "../../../fixtures/interface/gen/overloads_triple.ts";
import { ScalarsDef, type ScalarsHandler } from "../../../fixtures/interface/gen/scalars_triple.ts";
import { FirstGreenDef } from "../../../fixtures/interface/gen/selectors_triple.ts";
import { greeter } from "../../support/server.ts";

const serializations = [hessian2, jsonSerialization, msgpack];

const leaf = (name: string): Node => ({ name, children: [], parent: null });

const classes: ClassesHandler = {
  tree(root) {
    if (root.name === "none") return null;
    if (root.name === "bad") throw new JavaException("com.acme.BadTreeException", "no roots");
    const child: Node = { ...leaf("child"), parent: root };
    root.children.push(child);
    return child;
  },
  person: (id) => ({
    ...{ id, name: "Ann", age: 30, favourite: "RED", friends: null, groups: null },
    address: { street: "Main", zip: "1" },
  }),
  people: () => ({ items: [], total: 0, next: null }),
  trees: () => ({ items: [], total: 0, next: null }),
  group: (one) => one,
  settings() {},
};

const collections: CollectionsHandler = {
  lists: (a, b, c, d) => [a, [b.join(), c.join()], ...d.map((names) => [...names])],
  sets: (a, b) => new Set([...b, a.size]),
  maps: (a, b) => new Map([...a].map(([key, value]) => [value, new Map([[Number(key), b.has(value)]])])),
  records: (a, b) => ({ a: Object.keys(a), b: [b["x"] ?? "none"] }),
  arrays: (a, b, c, d) => [new Date(a.length), new Date(b.length), new Date(c[0]?.[0] ?? 0), new Date(d[0] ?? 9)],
};

const scalars: ScalarsHandler = {
  whole: (a, b, c, d, e) => BigInt(a) + BigInt(b) + BigInt(c) + d + e,
  fractions: (a, b) => a + b,
  texts: (a, b) => a + b,
  big: (a) => a,
  others: (_a, _b, c) => c,
  nothing() {},
  noPromise() {},
};

function serve(options: Parameters<typeof createRouter>[0] = {}): Router {
  const router = createRouter({ serializations, ...options });
  addGenericCalls(router);
  return router
    .add(ClassesDef, classes)
    .add(CollectionsDef, collections)
    .add(ScalarsDef, scalars)
    .add(EnumsDef, { mix: () => "ROUND", count: (all) => new Map(all.map((one) => [one, 1n])) })
    .add(OverloadsDef, {
      say: (word) => word,
      sayTimes: (word, times) => word.repeat(times),
      sayAll: (words, last) => [...words, last].join(" "),
      after() {},
    });
}

const client = (router: Router, protocol: "grpc" | "http-rpc" = "grpc"): GenericClient =>
  createGenericClient(createInMemoryTransport(router, { protocol, serializations }));

describe("interface methods", () => {
  const { call } = client(serve());

  it("take maps for objects, and return maps with the name of the class", async () => {
    const person = await call("fixture.classes.Classes", "person", [7], { types: ["long"] });
    expect(person).toEqual(
      new Map<string, unknown>([
        ["class", "fixture.classes.Person"],
        ["id", 7n],
        ["name", "Ann"],
        ["age", 30],
        ["favourite", "RED"],
        ["address", new Map(Object.entries({ class: "fixture.classes.Person$Address", street: "Main", zip: "1" }))],
        ["friends", null],
        ["groups", null],
      ]),
    );
    const root = { class: "fixture.classes.Node", name: "root", children: [{ name: "leaf", children: [] }] };
    const child = (await call("fixture.classes.Classes", "tree", [root])) as Map<string, unknown>;
    const parent = child.get("parent") as Map<string, unknown>;
    expect(parent.get("name")).toBe("root");
    const [first, second] = parent.get("children") as Map<string, unknown>[];
    expect(first).toEqual(
      new Map<string, unknown>([
        ["class", "fixture.classes.Node"],
        ["name", "leaf"],
        ["children", []],
        ["parent", null],
      ]),
    );
    // The child is in the list of its parent: one map, not two.
    expect(second).toBe(child);
    expect(await call("fixture.classes.Classes", "tree", [{ name: "none", children: [] }])).toBeNull();
  });

  it("convert all kinds of values to the declared types", async () => {
    const lists = [["a"], [1, 2], [true], [["b"], []]];
    expect(await call("fixture.collections.Collections", "lists", lists)).toEqual([["a"], ["1,2", "true"], ["b"], []]);
    expect(await call("fixture.collections.Collections", "sets", [["x", "y"], new Set([7])])).toEqual(new Set([7, 2]));
    const maps = [new Map([[5n, "a"]]), { a: [1] }];
    expect(await call("fixture.collections.Collections", "maps", maps)).toEqual(new Map([["a", new Map([[5, true]])]]));
    expect(await call("fixture.collections.Collections", "records", [new Map([["k", 1]]), { x: null }])).toEqual(
      new Map(Object.entries({ a: ["k"], b: ["none"] })),
    );
    const arrays = [typed({ array: "int" }, [1]), ["a", "b"], [[3]], [null]];
    expect(await call("fixture.collections.Collections", "arrays", arrays)).toEqual(
      [1, 2, 3, 9].map((milliseconds) => new Date(milliseconds)),
    );
    expect(await call("fixture.scalars.Scalars", "whole", [1, 2, 3, 4, 2n ** 62n])).toBe(2n ** 62n + 10n);
    expect(await call("fixture.scalars.Scalars", "fractions", [1, "0.5"])).toBe(1.5);
    expect(await call("fixture.scalars.Scalars", "big", ["1.50", "2"])).toBe("1.50");
    expect(await call("fixture.scalars.Scalars", "others", [true, new Date(0), Uint8Array.of(1), null])).toEqual(
      Uint8Array.of(1),
    );
    expect(await call("fixture.scalars.Scalars", "nothing", [])).toBeNull();
    expect(await call("fixture.enums.Enums", "mix", ["RED", "SMALL"])).toBe("ROUND");
    expect(await call("fixture.enums.Enums", "count", [["RED"]])).toEqual(new Map([["RED", 1n]]));
  });

  it("accept objects of classes as arguments", async () => {
    const node = typed({ class: () => NodeClass }, leaf("root"));
    expect(await call("fixture.classes.Classes", "tree", [node])).toBeInstanceOf(Map);
  });

  it("are chosen among overloads by the types", async () => {
    const say = (args: unknown[], types?: string[]) => call("fixture.overloads.Overloads", "say", args, { types });
    expect(await say(["a"], ["java.lang.String"])).toBe("a");
    expect(await say(["a", 2], ["java.lang.String", "int"])).toBe("aa");
    expect(await say([["a"], "b"], ["java.util.List", "java.lang.String"])).toBe("a b");
    await expect(say(["a"])).rejects.toMatchObject({
      code: Code.InvalidArgument,
      rawMessage: "/fixture.overloads.Overloads/say has overloads: send the types of the parameters",
    });
    await expect(say(["a"], ["int"])).rejects.toMatchObject({ code: Code.Unimplemented });
  });

  it("are chosen among overloads by the names of types in definitions, which consoles send", async () => {
    const take = (name: string, item: JavaType): Method => {
      const signature = { parameters: [{ name, type: { array: item } }], result: "java.lang.String" };
      const method: object = { ...OverloadsDef.methods["say"], path: "/com.acme.Arrays/take", name: "take", signature };
      return method as Method;
    };
    const methods = { ints: take("ints", "int"), texts: take("texts", "java.lang.String") };
    const router = createRouter({ serializations });
    addGenericCalls(router);
    router.add({ typeName: "com.acme.Arrays", methods }, { ints: () => "ints", texts: () => "texts" } as never);
    const client = createGenericClient(createInMemoryTransport(router, { protocol: "grpc", serializations }));
    const types = ["int[]", "[I", "java.lang.String[]", "[Ljava.lang.String;"];
    const results = types.map((type) => client.call("com.acme.Arrays", "take", [[]], { types: [type] }));
    expect(await Promise.all(results)).toEqual(["ints", "ints", "texts", "texts"]);
  });

  it("refuse wrong arguments, methods and modes with the reason", async () => {
    const problem = async (service: string, method: string, args: readonly unknown[], mode?: "protobuf-json") => {
      const error = await call(service, method, args, { mode }).catch((reason: unknown) => reason);
      return error instanceof RpcError ? [error.code, error.rawMessage] : error;
    };
    expect(await problem("fixture.scalars.Scalars", "texts", ["a"])).toEqual([
      Code.InvalidArgument,
      "the arguments of /fixture.scalars.Scalars/texts are invalid: 1 were sent, and it takes 2",
    ]);
    expect(await problem("fixture.scalars.Scalars", "texts", ["a", "bc"])).toEqual([
      Code.InvalidArgument,
      'the arguments of /fixture.scalars.Scalars/texts are invalid: argument "b": "bc" is not a valid char',
    ]);
    expect(await problem("fixture.classes.Classes", "tree", [{ class: "com.acme.Evil", name: "a" }])).toEqual([
      Code.InvalidArgument,
      'the arguments of /fixture.classes.Classes/tree are invalid: argument "root": ' +
        'class "com.acme.Evil" is not fixture.classes.Node',
    ]);
    expect(await problem("fixture.scalars.Scalars", "constructor", [])).toEqual([
      Code.Unimplemented,
      'fixture.scalars.Scalars has no unary method "constructor"',
    ]);
    expect(await problem("fixture.scalars.Scalars", "texts", [], "protobuf-json")).toEqual([
      Code.Unimplemented,
      '/fixture.scalars.Scalars/texts: the header generic is "protobuf-json", supported is true',
    ]);
    expect(await problem("com.acme.Unknown", "texts", [])).toEqual([Code.Unimplemented, expect.any(String)]);
  });

  it("need an array of arguments", async () => {
    const given = { id: 7 } as unknown as unknown[];
    await expect(call("fixture.classes.Classes", "person", given)).rejects.toThrow(
      new TypeError('the arguments of person must be an array, such as [1, "a"]'),
    );
  });

  it("throw the exceptions of the service", async () => {
    const error = await call("fixture.classes.Classes", "tree", [leaf("bad")]).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(JavaException);
    expect(error).toMatchObject({ className: "com.acme.BadTreeException", detailMessage: "no roots" });
  });

  it("refuse arguments that are nested too deeply", async () => {
    const nested = (levels: number): unknown[] => (levels === 0 ? [] : [nested(levels - 1)]);
    for (const levels of [250, 3_000]) {
      await expect(call("fixture.scalars.Scalars", "others", [nested(levels)])).rejects.toMatchObject({
        code: Code.InvalidArgument,
        rawMessage: "the arguments of others are invalid: the value is more than 200 levels deep",
      });
    }
  });

  it("refuse objects that contain themselves", async () => {
    const node = new Map<string, unknown>([["children", []]]);
    node.set("parent", node);
    await expect(call("fixture.classes.Classes", "tree", [node])).rejects.toMatchObject({
      code: Code.InvalidArgument,
      rawMessage: expect.stringMatching(/: the value is more than 200 levels deep$/),
    });
    const list: JsonValue[] = [];
    list.push(list);
    expect(() => fromJson("java.lang.Object", list)).toThrow("the value is more than 200 levels deep");
  });

  it("limit the values of a message together", async () => {
    const limited = client(serve({ maxMessageValues: 20 }));
    const names = Array.from({ length: 100 }, String);
    await expect(limited.call("fixture.collections.Collections", "lists", [names, [], [], []])).rejects.toMatchObject({
      code: Code.ResourceExhausted,
    });
  });
});

it("arguments and results are JSON over HTTP RPC", async () => {
  const { call } = client(serve(), "http-rpc");
  const child = await call("fixture.classes.Classes", "person", [7], { types: ["long"] });
  expect(child).toMatchObject({ class: "fixture.classes.Person", id: 7, address: { street: "Main" } });
});

it("authorize, interceptors and limits see the called method", async () => {
  const seen: string[] = [];
  const intercept: Interceptor = (next) => (request) => {
    seen.push(request.method.path);
    return next(request);
  };
  const router = serve({
    interceptors: [intercept],
    authorize({ method, headers }) {
      seen.push(`authorize ${method.path}`);
      if (method.name === "person" && headers.get("token") === undefined) {
        throw new RpcError(Code.PermissionDenied, "no token");
      }
    },
  });
  const { call } = client(router);
  await expect(call("fixture.classes.Classes", "person", [7])).rejects.toMatchObject({ code: Code.PermissionDenied });
  await call("fixture.classes.Classes", "person", [7], { headers: { token: "x" } });
  expect(seen).toEqual([
    "authorize /fixture.classes.Classes/person",
    "authorize /fixture.classes.Classes/person",
    "/fixture.classes.Classes/person",
  ]);
});

it("load shedding sees the called method", async () => {
  const seen: string[] = [];
  const shedLoad: RouterOptions["shedLoad"] = ({ method }) => seen.push(method.path) === 0;
  await client(serve({ shedLoad })).call("fixture.classes.Classes", "person", [7]);
  expect(seen).toEqual(["/fixture.classes.Classes/person"]);
});

it("version and group select the service", async () => {
  const router = createRouter({ serializations });
  router.add(FirstGreenDef, { ping: () => "green", replaced: () => null, more() {} });
  addGenericCalls(router);
  const { call } = client(router);
  const { typeName, selector } = FirstGreenDef;
  expect(await call(typeName, "ping", [], { ...selector })).toBe("green");
  const served = 'with no version and group "green"';
  await expect(call(typeName, "ping", [])).rejects.toMatchObject({
    code: Code.Unimplemented,
    rawMessage: `${typeName} is served ${served}, not with no version and no group`,
  });
  await expect(call(typeName, "pong", [], { ...selector })).rejects.toMatchObject({
    rawMessage: `${typeName} has no unary method "pong"`,
  });
});

it("servers without generic calls answer that there is no such method", async () => {
  const router = createRouter({ serializations }).add(ScalarsDef, scalars);
  await expect(client(router).call("fixture.scalars.Scalars", "nothing", [])).rejects.toMatchObject({
    code: Code.Unimplemented,
  });
});

describe("methods of proto files", () => {
  const router = createRouter({ serializations }).add(GreetServiceDef, greeter);
  addGenericCalls(router);
  const { call } = client(router);

  it("take and return JSON", async () => {
    const options = { mode: "protobuf-json", types: ["greet.v1.GreetRequest"] } as const;
    for (const method of ["Greet", "greet"]) {
      const json = await call("greet.v1.GreetService", method, ['{"name":"Ann"}'], options);
      expect(JSON.parse(json as string)).toEqual({ greeting: "Hello, Ann!" });
    }
  });

  it("limit the values of a message", async () => {
    const limited = createRouter({ serializations, maxMessageValues: 50 }).add(GreetServiceDef, greeter);
    addGenericCalls(limited);
    const json = JSON.stringify({ unknown: Array.from({ length: 1_000 }, (_, i) => i) });
    const calling = client(limited).call("greet.v1.GreetService", "greet", [json], { mode: "protobuf-json" });
    await expect(calling).rejects.toMatchObject({ code: Code.ResourceExhausted });
  });

  it("refuse everything else", async () => {
    const mode = "protobuf-json";
    await expect(call("greet.v1.GreetService", "greet", ["{}"])).rejects.toMatchObject({ code: Code.Unimplemented });
    for (const args of [[], ["{"], [{ name: "Ann" }], ["{}", "{}"]]) {
      await expect(call("greet.v1.GreetService", "greet", args, { mode })).rejects.toMatchObject({
        code: Code.InvalidArgument,
      });
    }
  });
});
