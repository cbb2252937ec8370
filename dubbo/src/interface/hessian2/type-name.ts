/** Names of types for the Hessian 2 writer: on the wire, and as keys of the values already written. */
import type { JavaType } from "../signature.ts";
import { nameOf } from "../type.ts";

/** Hessian's names for the item types of arrays. */
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
 * Returns the full name of a type. Values of types with the same name are encoded to the same bytes. A class is represented
 * by its name, because each object in Java has exactly one class.
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
