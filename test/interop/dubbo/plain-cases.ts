/**
 * The cases of an interface without a proto file, run by the client of triple-es. PlainClient.java runs the same cases with
 * the server of triple-es.
 */
import { deepStrictEqual as equal, ok } from "node:assert/strict";
import { JavaException, typed } from "triple-es-dubbo/java";
import type { User } from "./contract/plain-service.ts";
import { AddressClass, type PlainServiceClient } from "./gen/plain-service_triple.ts";

type Case = (client: PlainServiceClient) => Promise<void>;

const BIG = 9_007_199_254_740_993n;

const user: User = {
  name: "Zoë",
  age: 41,
  id: BIG,
  score: 5n,
  active: true,
  weight: 61.5,
  level: "EXPERT",
  balance: "12.75",
  born: new Date(894_621_091_000),
  avatar: Uint8Array.of(1, 2, 3),
  address: { street: "Hauptstraße", number: 7 },
  tags: ["a", "b"],
  places: new Map([["work", { street: "Allee", number: 1 }]]),
  manager: null,
};

/** Checks the Java exception of a call. */
async function exceptionOf(call: Promise<unknown>): Promise<JavaException> {
  const error = await call.then(
    () => "nothing was thrown",
    (reason: unknown) => reason,
  );
  ok(error instanceof JavaException, String(error));
  return error;
}

export const plainCases = {
  async overloads(client) {
    equal(await client.greet("Zoë"), "Hello, Zoë!");
    equal(await client.greetTimes("Ada", 2), "Hello, Ada! Hello, Ada!");
  },

  async primitives(client) {
    const text = await client.primitives(true, -7, -300, 70_000, BIG, 1.5, 0.1, "ä");
    equal(text, "true -7 -300 70000 9007199254740993 1.5 0.1 ä");
    equal(await client.increment(0), 1);
    equal(await client.increment(-(2 ** 31)), -(2 ** 31) + 1);
    equal(await client.next(BIG), BIG + 1n);
    equal(await client.half(2.5), 1.25);
    equal(await client.half(4), 2);
    equal(await client.not(true), false);
  },

  async boxed(client) {
    equal(await client.boxedIncrement(7), 8);
    equal(await client.boxedIncrement(null), null);
    equal(await client.boxedNext(7n), 8n);
    equal(await client.boxedNext(null), null);
  },

  async lists(client) {
    equal(await client.reverse(["a", "b", "c"]), ["c", "b", "a"]);
    equal(await client.reverse([]), []);
    equal(await client.nextAll([1n, BIG]), [2n, BIG + 1n]);
    equal(await client.upper(new Set(["a", "b"])), new Set(["A", "B"]));
    equal(await client.total(["12.50", "0.25"]), "12.75");
  },

  async maps(client) {
    const words = new Map(Object.entries({ one: "a", two: "bb" }));
    equal(await client.lengths(words), new Map(Object.entries({ one: 1, two: 2 })));
    equal(await client.lengths(new Map()), new Map());
    equal(await client.names([user]), new Map([[BIG, "Zoë"]]));
  },

  async dates(client) {
    equal(await client.nextDay(new Date(894_621_091_000)), new Date(894_707_491_000));
    equal(await client.nextDay(new Date(0)), new Date(86_400_000));
  },

  async bytes(client) {
    equal([...(await client.reverseBytes(Uint8Array.of(1, 2, 3)))], [3, 2, 1]);
    equal((await client.reverseBytes(new Uint8Array())).length, 0);
  },

  async arrays(client) {
    equal(await client.sortInts([70_000, -1, 2]), [-1, 2, 70_000]);
    equal(await client.sortStrings(["b", "a"]), ["a", "b"]);
  },

  async enums(client) {
    equal(await client.promote("NOVICE"), "EXPERT");
  },

  async objects(client) {
    const { avatar, ...rest } = await client.birthday(user);
    const { avatar: _, ...expected } = user;
    equal(rest, { ...expected, age: 42 });
    equal([...(avatar ?? [])], [1, 2, 3]);
  },

  async cycles(client) {
    const boss = await client.boss("Ada");
    equal(boss.name, "Ada");
    ok(boss.manager === boss, "the manager is another object");
  },

  async objects_of_any_type(client) {
    equal(await client.echo("text"), "text");
    equal(await client.echo(7n), 7n);
    equal(await client.echo(["a", 1]), ["a", 1]);
    equal(await client.echo(new Map(Object.entries({ a: 1 }))), new Map(Object.entries({ a: 1 })));
    equal(await client.echo(null), null);
    const address = { street: "a", number: 7 };
    equal(await client.echo(typed({ class: () => AddressClass }, address)), address);
  },

  async null_and_void(client) {
    equal(await client.nothing(), null);
    equal(await client.note("seen"), undefined);
    equal(await client.noted(), "seen");
  },

  async checked_exception(client) {
    const { className, detailMessage, fields } = await exceptionOf(client.fail("no such thing", 7));
    equal(className, "com.example.interop.PlainException");
    equal(detailMessage, "no such thing");
    equal({ ...fields }, { reason: 7 });
  },

  async unchecked_exception(client) {
    const { className, detailMessage } = await exceptionOf(client.failUnchecked("not now"));
    equal(className, "java.lang.IllegalStateException");
    equal(detailMessage, "not now");
  },
} satisfies Readonly<Record<string, Case>>;

export type PlainCaseName = keyof typeof plainCases;
export const plainCaseNames = Object.keys(plainCases) as PlainCaseName[];
