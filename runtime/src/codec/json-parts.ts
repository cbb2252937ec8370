/**
 * Arrays and objects that were decoded in parts because they are large, and the parts of such objects: to list half a million
 * keys of one object would be too long for one step.
 */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";

const partsOfObjects = new WeakMap<object, readonly JsonObject[]>();
const largeArrays = new WeakSet<object>();

/** Reports whether a value is an array or object that was decoded in parts. */
export function isLargeJson(value: JsonValue): boolean {
  return typeof value === "object" && value !== null && (partsOfObjects.has(value) || largeArrays.has(value));
}

/** Creates a large array, to which its items are added. */
export function largeArray(): JsonValue[] {
  const items: JsonValue[] = [];
  largeArrays.add(items);
  return items;
}

/** Creates a large object. The caller adds each member to the object, and to a part of at most one step in `parts`. */
export function largeObject(): { readonly object: JsonObject; readonly parts: JsonObject[] } {
  const object: JsonObject = {};
  const parts: JsonObject[] = [];
  partsOfObjects.set(object, parts);
  return { object, parts };
}

/**
 * Yields the members of an object in parts of at most one step each. A member that a later one of the same name
 * replaces is left out.
 */
export function* membersInParts(object: JsonObject): Generator<[key: string, value: JsonValue][], void> {
  const parts = partsOfObjects.get(object);
  if (parts === undefined) {
    yield Object.entries(object);
    return;
  }
  for (const part of parts) yield Object.entries(part).filter(([key, value]) => Object.is(object[key], value));
}

/** Sets a member. A plain assignment to `__proto__` would change the prototype (prototype pollution). */
export function setMember(target: object, name: string, value: unknown): void {
  if (name !== "__proto__") (target as Record<string, unknown>)[name] = value;
  else Object.defineProperty(target, name, { value, writable: true, enumerable: true, configurable: true });
}
