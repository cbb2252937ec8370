/** Calls between generated clients and handlers: every value has the type of its contract, in both sub-protocols. */
import { createInMemoryTransport, createRouter, type ServiceDef, type Transport } from "triple-es";
import { hessian2 } from "triple-es-dubbo/hessian2";
import { jsonSerialization } from "triple-es-dubbo/java";
import { describe, expect, it } from "vitest";
import type { Left } from "../../../fixtures/interface/contracts/circle/left.ts";
import type { Group, Node, Page, Person } from "../../../fixtures/interface/contracts/classes.ts";
import { createLeftsClient, LeftsDef } from "../../../fixtures/interface/gen/circle/left_triple.ts";
import {
  ClassesDef,
  type ClassesHandler,
  createClassesClient,
} from "../../../fixtures/interface/gen/classes_triple.ts";
import {
  CollectionsDef,
  type CollectionsHandler,
  createCollectionsClient,
} from "../../../fixtures/interface/gen/collections_triple.ts";
import { createEnumsClient, EnumsDef } from "../../../fixtures/interface/gen/enums_triple.ts";
import { createNamesClient, NamesDef, type NamesHandler } from "../../../fixtures/interface/gen/names_triple.ts";
import {
  createNullabilityClient,
  NullabilityDef,
  type NullabilityHandler,
} from "../../../fixtures/interface/gen/nullability_triple.ts";
import {
  createOverloadsClient,
  OverloadsDef,
  type OverloadsHandler,
} from "../../../fixtures/interface/gen/overloads_triple.ts";
import {
  createScalarsClient,
  ScalarsDef,
  type ScalarsHandler,
} from "../../../fixtures/interface/gen/scalars_triple.ts";
import {
  createFirstClient,
  createFirstGreenClient,
  FirstDef,
  FirstGreenDef,
} from "../../../fixtures/interface/gen/selectors_triple.ts";
import {
  createStreamsClient,
  StreamsDef,
  type StreamsHandler,
} from "../../../fixtures/interface/gen/streams_triple.ts";
import { createLeftsClient as createLeftsClientOfJs } from "../../../fixtures/interface/js/gen/circle/left_triple.js";

const serializations = [hessian2];

/** Creates transports to a service in this process. */
function opener(protocol: "grpc" | "http-rpc") {
  return <H extends object>(service: ServiceDef<object, H>, handler: H): Transport => {
    const router = createRouter({ serializations }).add(service, handler);
    return createInMemoryTransport(router, { protocol, serializations });
  };
}

const subProtocols = [
  ["sub-protocol B with hessian2", opener("grpc")],
  ["sub-protocol A with JSON", opener("http-rpc")],
] as const;

describe.each(subProtocols)("over %s", (_, open) => {
  it("scalars keep their types", async () => {
    const seen: unknown[] = [];
    const handler: ScalarsHandler = {
      whole: (a, b, c, d, e) => BigInt(a) + BigInt(b) + BigInt(c) + d + e,
      fractions: (a, b) => a + b,
      texts: (a, b) => a + b,
      big: (a, b) => `${b}.${a.slice(2)}`,
      others(a, b, c, d) {
        seen.push(a, b, d);
        return c;
      },
      nothing() {},
      noPromise: () => Promise.resolve(),
    };
    const client = createScalarsClient(open(ScalarsDef, handler));
    expect(await client.whole(-128, 32_767, 2 ** 31 - 1, 2n ** 60n, -(2n ** 63n))).toBe(
      -128n + 32_767n + 2n ** 31n - 1n + 2n ** 60n - 2n ** 63n,
    );
    expect(await client.fractions(0.5, 0.25)).toBe(0.75);
    expect(await client.texts("a", "ß")).toBe("aß");
    expect(await client.big("0.50", "123456789012345678901234567890")).toBe("123456789012345678901234567890.50");
    const now = new Date(1_700_000_000_123);
    expect(await client.others(true, now, Uint8Array.of(0, 255), "any")).toEqual(Uint8Array.of(0, 255));
    expect(seen).toEqual([true, now, "any"]);
    expect(await client.nothing()).toBeUndefined();
    expect(await client.noPromise()).toBeUndefined();
    await expect(client.whole(128, 0, 0, 0n, 0n)).rejects.toThrow('argument "a"');
  });

  it("null is passed for nullable types and for omitted values", async () => {
    const seen: unknown[] = [];
    const handler: NullabilityHandler = {
      boxed(...args) {
        seen.push(args.slice(0, 3));
        return args[0];
      },
      optional(...args) {
        seen.push(args.slice(0, 3));
        return args[2];
      },
      inside: (items, byName) => `${items.join()} ${[...byName].join()}`,
    };
    const client = createNullabilityClient(open(NullabilityDef, handler));
    expect(await client.boxed(null, true, undefined)).toBeNull();
    expect(await client.boxed(7, null, 8n)).toBe(7);
    expect(await client.optional("a")).toBeNull();
    expect(await client.optional("a", undefined, "c", { headers: { a: "b" } })).toBe("c");
    expect(seen).toEqual([
      [null, true, null],
      [7, null, 8n],
      ["a", null, null],
      ["a", null, "c"],
    ]);
    expect(await client.inside([1, null], new Map([["a", null]]))).toBe("1, a,");
  });

  it("collections arrive as the kind they were declared as", async () => {
    const handler: CollectionsHandler = {
      lists: (a, b, c, d) => [a, [b.join(), c.join()], ...d.map((names) => [...names])],
      sets: (a, b) => new Set([...b, a.size]),
      maps: (a, b) => new Map([...a].map(([key, value]) => [value, new Map([[Number(key), b.has(value)]])])),
      records: (a, b) => ({ a: Object.keys(a), b: [b["x"] ?? "none"] }),
      arrays: (a, b, c, d) => [new Date(a.length), new Date(b.length), new Date(c[0]?.[0] ?? 0), new Date(d[0] ?? 9)],
    };
    const client = createCollectionsClient(open(CollectionsDef, handler));
    expect(await client.lists(["a"], [1, 2], [true], [["b"], []])).toEqual([["a"], ["1,2", "true"], ["b"], []]);
    expect(await client.sets(new Set(["x", "y"]), new Set([7]))).toEqual(new Set([7, 2]));
    expect(await client.maps(new Map([[5n, "a"]]), new Map([["a", [1]]]))).toEqual(
      new Map([["a", new Map([[5, true]])]]),
    );
    expect(await client.records({ k: 1 }, { x: null })).toEqual({ a: ["k"], b: ["none"] });
    expect(await client.arrays([1], ["a", "b"], [[3]], [null])).toEqual([1, 2, 3, 9].map((ms) => new Date(ms)));
  });

  it("objects keep their classes, with inherited fields and type arguments", async () => {
    const ann: Person = {
      ...{ id: 1n, name: "Ann", age: 30, favourite: "RED", friends: null, groups: null },
      address: { street: "Main", zip: "123" },
    };
    const page: Page<Person> = { items: [ann], total: 1, next: { items: [], total: 1, next: null } };
    const seen: unknown[] = [];
    const handler: ClassesHandler = {
      tree: (node) => node.children[0] ?? null,
      person: (id) => ({ ...ann, id, friends: page }),
      people: ({ prefix }, at) => ({ ...page, items: prefix === "A" && at === 0 ? page.items : [] }),
      trees: () => ({ items: [{ items: [leaf("x")], total: 1, next: null }], total: 1, next: null }),
      group: (one) => one,
      settings(all) {
        seen.push(all);
      },
    };
    const client = createClassesClient(open(ClassesDef, handler));
    expect(await client.tree({ name: "root", children: [leaf("leaf")], parent: null })).toEqual(leaf("leaf"));
    expect(await client.person(2n ** 62n)).toEqual({ ...ann, id: 2n ** 62n, friends: page });
    expect(await client.people({ prefix: "A" }, 0)).toEqual(page);
    expect((await client.trees()).items[0]?.items).toEqual([leaf("x")]);
    const group: Group = { name: "all", members: page };
    const groups = { items: [group], total: 1, next: null };
    const grouped: Group = { name: "one", members: { items: [{ ...ann, groups }], total: 1, next: null } };
    expect(await client.group(grouped)).toEqual(grouped);
    await client.settings({ dark: true, values: { a: 1, b: "two" } });
    expect(seen).toEqual([{ dark: true, values: { a: 1, b: "two" } }]);
  });

  it("enums are their names, and nothing else", async () => {
    const client = createEnumsClient(
      open(EnumsDef, {
        mix: (color, size) => (color === "RED" && size === "SMALL" ? "ROUND" : null),
        count: (colors) => new Map(colors.map((color, i) => [color, BigInt(i)])),
      }),
    );
    expect(await client.mix("RED", "SMALL")).toBe("ROUND");
    expect(await client.mix("BLUE", "LARGE")).toBeNull();
    expect(await client.count(["GREEN", "RED"])).toEqual(
      new Map([
        ["GREEN", 0n],
        ["RED", 1n],
      ] as const),
    );
    await expect(client.mix("PINK" as "RED", "SMALL")).rejects.toThrow('"PINK" is not a value of fixture.enums.Color');
  });

  it("overloads are distinguished by their arguments", async () => {
    const handler: OverloadsHandler = {
      say: (word) => word,
      sayTimes: (word, times) => word.repeat(times),
      sayAll: (words, last) => [...words, last].join(" "),
      after() {},
    };
    const client = createOverloadsClient(open(OverloadsDef, handler));
    expect([await client.say("a"), await client.sayTimes("a", 3), await client.sayAll(["b"], "c")]).toEqual([
      "a",
      "aaa",
      "b c",
    ]);
    expect(await client.after()).toBeUndefined();
    expect(await (client as unknown as Promise<unknown>)).toBe(client);
  });

  it("parameters may have the names of generated ones", async () => {
    const handler: NamesHandler = {
      own: (options, context, transport, { requestHeaders }) =>
        (options + context + transport).length + requestHeaders.size,
      language() {},
      keywords: (int, synchronized, $dollar) => int + synchronized + $dollar,
      async *stream() {},
      list() {},
      members: (a) => ({
        ...a,
        constructor: a.toString,
        toString: a.constructor,
        hasOwnProperty: a.hasOwnProperty + 1,
      }),
    };
    const client = createNamesClient(open(NamesDef, handler));
    const members = { constructor: "a", toString: "b", hasOwnProperty: 3, valueOf: { strings: ["c"] } };
    const answer = await client.members(members);
    expect(Object.entries(answer)).toEqual([
      ["constructor", "b"],
      ["toString", "a"],
      ["hasOwnProperty", 4],
      ["valueOf", { strings: ["c"] }],
    ]);
    expect(await client.own("ab", "c", "d", { headers: { e: "f" } })).toBeGreaterThan(4);
    expect(await client.keywords("a", "b", "c")).toBe("abc");
  });

  it("classes of two files refer to each other", async () => {
    const client = createLeftsClient(open(LeftsDef, { turn: (right) => ({ right, side: "ON" }) }));
    const left: Left = { right: null, side: "OFF" };
    expect(await client.turn({ left, hand: "LEFT" })).toEqual({ right: { left, hand: "LEFT" }, side: "ON" });
  });

  it("version and group of the contract are sent by clients and matched by servers", async () => {
    const handler = { ping: () => "blue", replaced: (a: string) => a };
    const client = createFirstClient(open(FirstDef, handler));
    expect(await client.ping()).toBe("blue");
    await expect(client.ping({ group: "green" })).rejects.toMatchObject({ code: 12 });
  });
});

describe("streams", () => {
  const handler: StreamsHandler = {
    unary: (word) => word.length,
    async *serverStreaming(word) {
      for (const i of word.split("").keys()) yield i;
    },
    async clientStreaming(words) {
      return (await all(words)).length;
    },
    async *bidiStreaming(words) {
      for await (const word of words) yield word === null;
    },
    async *everything() {
      yield ["a", "b"];
      yield [];
    },
    async sink(words) {
      await all(words);
    },
  };
  it("carry one value after the other, in all directions", async () => {
    const client = createStreamsClient(opener("grpc")(StreamsDef, handler));
    expect(await client.unary("abc")).toBe(3);
    expect(await all(client.serverStreaming("abc"))).toEqual([0, 1, 2]);
    expect(await client.clientStreaming(from("a", "b"))).toBe(2);
    expect(await all(client.bidiStreaming(from("a", null)))).toEqual([false, true]);
    expect(await all(client.everything())).toEqual([["a", "b"], []]);
    expect(await client.sink(from("a"))).toBeUndefined();
  });

  it("are iterables too, whose items are the values of responses", async () => {
    const errors: unknown[] = [];
    const router = createRouter({ serializations, onError: (error) => errors.push(error) });
    router.add(StreamsDef, {
      ...handler,
      *serverStreaming(word) {
        for (const letter of word) yield letter.charCodeAt(0);
      },
      bidiStreaming: () => [Promise.resolve(true)] as never,
      everything: () => [["a", "b"], []],
    });
    const client = createStreamsClient(createInMemoryTransport(router, { serializations }));
    expect(await all(client.serverStreaming("ab"))).toEqual([97, 98]);
    expect(await all(client.everything())).toEqual([["a", "b"], []]);
    await expect(all(client.bidiStreaming(from("a")))).rejects.toMatchObject({ code: 2 });
    expect(String(errors)).toContain("must return messages, not promises of them");
  });
});

function leaf(name: string): Node {
  return { name, children: [], parent: null };
}

async function all<T>(values: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const value of values) found.push(value);
  return found;
}

async function* from<T>(...values: T[]): AsyncGenerator<T, void> {
  yield* values;
}

it("JavaScript and its declarations are the same service", async () => {
  const router = createRouter({ serializations }).add(LeftsDef, { turn: (right) => ({ right, side: "ON" }) });
  const client = createLeftsClientOfJs(createInMemoryTransport(router, { serializations }));
  expect(await client.turn({ left: null, hand: "RIGHT" })).toEqual({
    right: { left: null, hand: "RIGHT" },
    side: "ON",
  });
});

it("values travel by the serialization that the contract names", async () => {
  expect(FirstGreenDef.methods["more"]).toMatchObject({ signature: { serialization: "json" } });
  const json = { serializations: [jsonSerialization] };
  const router = createRouter(json).add(FirstGreenDef, { ping: () => "green", replaced: () => null, more() {} });
  const client = createFirstGreenClient(createInMemoryTransport(router, json));
  expect(await client.ping()).toBe("green");
  expect(await client.replaced("a")).toBeNull();
});
