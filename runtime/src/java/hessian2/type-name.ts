/**
 * Names of types for the Hessian 2 writer: on the wire, and as keys of the values already written.
 */

import type { JavaType } from "../signature.ts";
import { nameOf } from "../type.ts";

/** Hessian's names of arrays of built-in types. */
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
 * The full name of a type: values of types with equal names are written in equal bytes. A class counts by its name, because an
 * object of Java has exactly one class.
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
