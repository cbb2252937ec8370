/**
 * Arrays and objects that were decoded in parts because they are large, and the keys of such objects in parts: to list half a
 * million keys of one object would be too long for one step.
 */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";

const keysOfObjects = new WeakMap<object, readonly (readonly string[])[]>();
const largeArrays = new WeakSet<object>();

/** Reports whether a value is an array or object that was decoded in parts. */
export function isLargeJson(value: JsonValue): boolean {
  return typeof value === "object" && value !== null && (keysOfObjects.has(value) || largeArrays.has(value));
}

/** Creates a large array, to which its items are added. */
export function largeArray(): JsonValue[] {
  const items: JsonValue[] = [];
  largeArrays.add(items);
  return items;
}

/** Keys of a large object that are listed in one step. */
const KEYS_PER_PART = 256;

/** A large object while members are added to it. */
export class LargeObject {
  readonly object: JsonObject = {};
  readonly #parts: string[][] = [];

  constructor() {
    keysOfObjects.set(this.object, this.#parts);
  }

  /** Sets a member, which replaces an earlier one of the same name. */
  set(key: string, value: JsonValue): void {
    if (!Object.hasOwn(this.object, key)) {
      let part = this.#parts.at(-1);
      if (part === undefined || part.length === KEYS_PER_PART) {
        part = [];
        this.#parts.push(part);
      }
      part.push(key);
    }
    setMember(this.object, key, value);
  }
}

/** Yields the members of an object in parts of at most one step each. */
export function* membersInParts(object: JsonObject): Generator<[key: string, value: JsonValue][], void> {
  const parts = keysOfObjects.get(object);
  if (parts === undefined) yield Object.entries(object);
  else for (const part of parts) yield part.map((key) => [key, object[key] as JsonValue]);
}

/** Sets a member. A plain assignment to `__proto__` would change the prototype (prototype pollution). */
export function setMember(target: object, name: string, value: unknown): void {
  if (name !== "__proto__") (target as Record<string, unknown>)[name] = value;
  else Object.defineProperty(target, name, { value, writable: true, enumerable: true, configurable: true });
}
