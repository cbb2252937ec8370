/**
 * Names of types where Hessian 2 is written: on the wire, and for telling what has been written as what.
 */

import type { JavaType } from "../signature.ts";
import { nameOf } from "../type.ts";

/** How Hessian names the arrays of types that it knows itself. */
const HESSIAN_NAMES: ReadonlyMap<string, string> = new Map([
  ["java.lang.String", "string"],
  ["java.lang.Object", "object"],
  ["java.util.Date", "date"],
  ["[B", "[byte"],
]);

export function hessianName(type: JavaType): string {
  if (typeof type === "object" && "array" in type) return `[${hessianName(type.array)}`;
  const name = nameOf(type);
  return HESSIAN_NAMES.get(name) ?? name;
}

const names = new WeakMap<object, string>();

/**
 * The name of a type with all that it is made of: what has one name is written in the same bytes. A class is its name, because
 * an object of Java has but one.
 */
export function structureName(type: JavaType): string {
  if (typeof type === "string") return type;
  const known = names.get(type);
  if (known !== undefined) return known;
  const name = spell(type);
  names.set(type, name);
  return name;
}

function spell(type: Exclude<JavaType, string>): string {
  if ("list" in type) return `list<${structureName(type.list)}>`;
  if ("set" in type) return `set<${structureName(type.set)}>`;
  if ("array" in type) return `array<${structureName(type.array)}>`;
  if ("map" in type) return `map<${type.map.map(structureName).join()}>`;
  return nameOf(type);
}
