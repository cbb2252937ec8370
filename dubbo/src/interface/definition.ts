/**
 * Definitions of Java types, which registries store for consoles (in Dubbo for Java: `TypeDefinitionBuilder`). The name of a
 * type is that of `Class.getCanonicalName`, with its type arguments unless it is the item of an array.
 */
import type { JsonObject } from "@bufbuild/protobuf";
import type { Method } from "triple-es";
import { type JavaType, signatureOf } from "./signature.ts";
import { nameOf } from "./type.ts";

/** Returns the names of a method's types, the result last. Adds each type, and those that it refers to, to `types`. */
export function defineSignature(method: Method, types: Map<string, JsonObject>): readonly string[] {
  const { parameters, result } = signatureOf(method);
  return [...parameters.map(({ type }) => type), result].map((type) => define(type, types));
}

/** Returns the names of the parameter types, without type arguments. */
export const erasedNames = (one: Method): string[] => signatureOf(one).parameters.map(({ type }) => erasedName(type));

function define(type: JavaType, types: Map<string, JsonObject>): string {
  const name = canonicalName(type);
  if (types.has(name)) return name;
  // A class may contain itself.
  types.set(name, {});
  types.set(name, partsOf(type, types));
  return name;
}

function partsOf(type: JavaType, types: Map<string, JsonObject>): JsonObject {
  if (type === "[B") return { items: [define("byte", types)] };
  if (typeof type === "string") return {};
  if ("enum" in type) return { enums: [...type.enum.values] };
  if ("class" in type) {
    const fields = Object.entries(type.class().fields).map(([field, one]) => [field, define(one, types)]);
    return { properties: Object.fromEntries(fields) };
  }
  if (!("array" in type)) return { items: argumentsOf(type).map((one) => define(one, types)) };
  return { items: [argumentsOf(type.array).length === 0 ? define(type.array, types) : erasedName(type.array)] };
}

/** Returns the type arguments: none if the type is not generic. */
function argumentsOf(type: JavaType): readonly JavaType[] {
  if (typeof type === "string") return [];
  return "list" in type ? [type.list] : "set" in type ? [type.set] : "map" in type ? type.map : [];
}

function canonicalName(type: JavaType): string {
  const names = argumentsOf(type).map(canonicalName);
  return names.length === 0 ? erasedName(type) : `${erasedName(type)}<${names}>`;
}

function erasedName(type: JavaType): string {
  if (type === "[B") return "byte[]";
  if (typeof type === "object" && "array" in type) return `${erasedName(type.array)}[]`;
  return nameOf(type).replaceAll("$", ".");
}
