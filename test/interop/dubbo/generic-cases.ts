/**
 * The cases of generic calls to the service without a proto file, run by the client of triple-es without its contract.
 * GenericCases.java and generic.go run the same cases with the server of triple-es.
 */
import { deepStrictEqual as equal, ok, rejects } from "node:assert/strict";
import { type GenericClient, JavaException, typed } from "triple-es-dubbo/java";

const SERVICE = "com.example.interop.PlainService";
const BIG = 9_007_199_254_740_993n;

const mapOf = (members: object): Map<string, unknown> => new Map(Object.entries(members));

/** Calls a method with the names of its parameter types. */
type Invoke = (method: string, types: readonly string[], ...args: readonly unknown[]) => Promise<unknown>;
type Case = (invoke: Invoke) => Promise<void>;

async function exceptionOf(call: Promise<unknown>): Promise<JavaException> {
  const error = await call.then(
    () => "nothing was thrown",
    (reason: unknown) => reason,
  );
  ok(error instanceof JavaException, String(error));
  return error;
}

const genericCases = {
  async overloads(invoke) {
    equal(await invoke("greet", ["java.lang.String"], "Zoë"), "Hello, Zoë!");
    equal(await invoke("greet", ["java.lang.String", "int"], "Ada", 2), "Hello, Ada! Hello, Ada!");
  },

  async scalars(invoke) {
    equal(await invoke("increment", ["int"], 1), 2);
    equal(await invoke("next", ["long"], BIG), BIG + 1n);
    equal(await invoke("half", ["double"], typed("double", 4)), 2);
    equal(await invoke("not", ["boolean"], true), false);
    equal(await invoke("boxedNext", ["java.lang.Long"], 7n), 8n);
  },

  async dates_and_decimals(invoke) {
    equal(await invoke("nextDay", ["java.util.Date"], new Date(0)), new Date(86_400_000));
    equal(await invoke("total", ["java.util.List"], [typed("java.math.BigDecimal", "12.50")]), "12.50");
    const born = new Date(894_621_091_000);
    const answer = (await invoke("birthday", ["com.example.interop.User"], { born })) as Map<string, unknown>;
    equal(answer.get("born"), born);
  },

  async collections(invoke) {
    equal(await invoke("reverse", ["java.util.List"], ["a", "b"]), ["b", "a"]);
    equal(await invoke("sortInts", ["[I"], typed({ array: "int" }, [2, 1])), [1, 2]);
    equal(await invoke("sortStrings", ["[Ljava.lang.String;"], typed({ array: "java.lang.String" }, ["b", "a"])), [
      "a",
      "b",
    ]);
    equal([...((await invoke("reverseBytes", ["[B"], Uint8Array.of(1, 2))) as Uint8Array)], [2, 1]);
  },

  async maps(invoke) {
    equal(await invoke("lengths", ["java.util.Map"], mapOf({ one: "a" })), mapOf({ one: 1 }));
    equal(await invoke("names", ["java.util.List"], [{ id: BIG, name: "Zoë" }]), new Map([[BIG, "Zoë"]]));
  },

  async sets(invoke) {
    equal(await invoke("upper", ["java.util.Set"], new Set(["a"])), new Set(["A"]));
  },

  async enums(invoke) {
    const user = { level: "EXPERT" };
    const answer = (await invoke("birthday", ["com.example.interop.User"], user)) as Map<string, unknown>;
    equal(answer.get("level"), "EXPERT");
    equal(await invoke("promote", ["com.example.interop.Level"], "NOVICE"), "EXPERT");
  },

  async objects(invoke) {
    const user = {
      class: "com.example.interop.User",
      ...{ name: "Zoë", age: 41, id: BIG, score: 5n, active: true, weight: 61.5 },
      address: { street: "Hauptstraße", number: 7 },
      tags: ["a", "b"],
      places: mapOf({ work: { street: "Allee", number: 1 } }),
    };
    const answer = (await invoke("birthday", ["com.example.interop.User"], user)) as Map<string, unknown>;
    equal(answer.get("class"), "com.example.interop.User");
    equal([answer.get("name"), answer.get("age"), answer.get("id"), answer.get("score")], ["Zoë", 42, BIG, 5n]);
    equal([answer.get("active"), answer.get("weight"), answer.get("tags")], [true, 61.5, ["a", "b"]]);
    const addressOf = (value: unknown): unknown[] => [(value as Map<string, unknown>).get("street")];
    equal(addressOf(answer.get("address")), ["Hauptstraße"]);
    equal(addressOf((answer.get("places") as Map<string, unknown>).get("work")), ["Allee"]);
  },

  async cycles(invoke) {
    const boss = (await invoke("boss", ["java.lang.String"], "Ada")) as Map<string, unknown>;
    equal(boss.get("name"), "Ada");
    ok(boss.get("manager") === boss, "the manager is another object");
  },

  async null_and_void(invoke) {
    equal(await invoke("nothing", []), null);
    equal(await invoke("note", ["java.lang.String"], "seen"), null);
    equal(await invoke("noted", []), "seen");
    equal(await invoke("boxedNext", ["java.lang.Long"], null), null);
  },

  async checked_exception(invoke) {
    const { className, detailMessage } = await exceptionOf(
      invoke("fail", ["java.lang.String", "int"], "no such thing", 7),
    );
    equal([className, detailMessage], ["com.example.interop.PlainException", "no such thing"]);
  },

  async unchecked_exception(invoke) {
    const { className, detailMessage } = await exceptionOf(invoke("failUnchecked", ["java.lang.String"], "not now"));
    equal([className, detailMessage], ["java.lang.IllegalStateException", "not now"]);
  },

  async unknown_method(invoke) {
    await rejects(invoke("absent", ["java.lang.String"], "a"), /absent/);
  },

  async wrong_arguments(invoke) {
    await rejects(invoke("increment", ["int"], "one"));
    await rejects(invoke("increment", ["int"], 1, 2));
  },
} satisfies Readonly<Record<string, Case>>;

export const genericCaseNames = Object.keys(genericCases);

/** Returns each case with a client. */
export function genericCallsOf(client: GenericClient): readonly (readonly [name: string, run: () => Promise<void>])[] {
  const invoke: Invoke = (method, types, ...args) => client.call(SERVICE, method, args, { types });
  return Object.entries<Case>(genericCases).map(([name, one]) => [name, () => one(invoke)]);
}
