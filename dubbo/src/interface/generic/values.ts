/**
 * The values of generic calls (in Dubbo for Java: `PojoUtils`): objects are maps with the name of their class, enums are texts.
 */
import type { JavaType } from "../signature.ts";
import { isRecord, itemOf, memberOf, toEntries, toEnum, toItems } from "../type.ts";
import { runtimeType, TypedValue, typed } from "../typed.ts";

/** The maximum depth of values, as in Hessian 2. */
const MAX_GENERIC_DEPTH = 200;

/**
 * Converts a value of a declared type to one for a `java.lang.Object`. An object that occurs twice, or in itself, becomes one
 * map. Throws a `TypeError` for a value that is invalid for the type or too deep.
 */
export function toGeneric(type: JavaType, value: unknown, made: Map<object, unknown> = new Map(), depth = 0): unknown {
  if (value === null || value === undefined) return null;
  if (value instanceof TypedValue) return toGeneric(value.type, value.value, made, depth);
  if (type === "java.lang.Object") return toGeneric(runtimeType(value), value, made, depth);
  if (typeof type === "object" && "enum" in type) return toEnum(type.enum, value);
  if (typeof type === "string" || isPlainArray(type) || typeof value !== "object") {
    return runtimeType(value) === type ? value : typed(type, value);
  }
  return made.get(value) ?? toContainer(type, value, made, depth + 1);
}

function toContainer(
  type: Exclude<JavaType, string>,
  value: object,
  made: Map<object, unknown>,
  depth: number,
): unknown {
  if (depth > MAX_GENERIC_DEPTH) throw new TypeError(`the value is more than ${MAX_GENERIC_DEPTH} levels deep`);
  const item = itemOf(type);
  if (item !== undefined) {
    const items: unknown[] = [];
    const container = "set" in type ? typed(type, items) : items;
    made.set(value, container);
    for (const one of toItems(value)) items.push(toGeneric(item, one, made, depth));
    return container;
  }
  const map = new Map<unknown, unknown>();
  made.set(value, map);
  if ("map" in type) {
    const [keyType, valueType] = type.map;
    for (const [key, one] of toEntries(value)) {
      map.set(toGeneric(keyType, key, made, depth), toGeneric(valueType, one, made, depth));
    }
  } else if ("class" in type) {
    const { name, fields } = type.class();
    if (!isRecord(value)) throw new TypeError(`the value is not a valid ${name}`);
    map.set("class", name);
    for (const [field, one] of Object.entries(fields))
      map.set(field, toGeneric(one, memberOf(value, field), made, depth));
  }
  return map;
}

/** Reports whether the type is an array whose items neither are nor contain objects, such as `int[][]`: it remains one. */
function isPlainArray(type: Exclude<JavaType, string>): boolean {
  if (!("array" in type)) return false;
  return typeof type.array === "string"
    ? type.array !== "java.lang.Object"
    : "array" in type.array && isPlainArray(type.array);
}
