/** Results of interface methods, in JSON and for other formats of responses (spec: Additional request content types). */
import { encodeJson, type NamedResult, type NamedValue, type Notation, type ResultValue } from "triple-es/internal";
import type { Cost } from "../cost.ts";
import { toJson, toPlain } from "../json.ts";
import type { JavaType } from "../signature.ts";
import { itemOf, nameOf, within } from "../type.ts";

/** Encodes a result in JSON. */
export function jsonResult(type: JavaType, value: unknown, cost: Cost): Uint8Array {
  return encodeJson(type === "void" ? null : within("the result", () => toJson(type, value, cost)));
}

/** Converts a result for a format other than JSON. The name is that of the class without its package, and `list` for lists. */
export function namedResult(type: JavaType, value: unknown, notation: Notation, cost: Cost): NamedResult {
  const plain = type === "void" ? null : within("the result", () => toPlain(type, value, notation, cost));
  const name = itemOf(type) === undefined ? nameOf(type).replace(/^.*[.$]/, "") : "list";
  return { name, result: resultOf(type, plain) };
}

/** Adds the shapes of the declared types to a plain value. */
function resultOf(type: JavaType, plain: unknown): ResultValue {
  if (plain === null) return { shape: "null" };
  if (typeof plain !== "object") return { shape: "single", value: plain };
  if (typeof type === "object" && "class" in type) {
    const { fields } = type.class();
    const members = plain as Readonly<Record<string, unknown>>;
    return {
      shape: "object",
      fields: named(Object.keys(fields), (name) => resultOf(fields[name] as JavaType, members[name])),
    };
  }
  if (typeof type === "object" && "map" in type) {
    const members = plain as Readonly<Record<string, unknown>>;
    return { shape: "map", entries: named(Object.keys(members), (name) => resultOf(type.map[1], members[name])) };
  }
  const item = itemOf(type);
  // A value of type `Object` has no declared members.
  if (item === undefined) return { shape: "json", value: plain };
  return { shape: "list", items: (plain as readonly unknown[]).map((one) => resultOf(item, one)) };
}

function named(names: readonly string[], convert: (name: string) => ResultValue): NamedValue<ResultValue>[] {
  return names.map((name) => ({ name, value: convert(name) }));
}
