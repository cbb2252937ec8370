/**
 * Arrays and objects that were decoded in parts because they are large, and the keys of such objects in parts: to list half a
 * million keys of one object would be too long for one step.
 */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";

const keysOfObjects = new WeakMap<object, LargeKeys>();
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

/** The keys of a large object, in parts, in the order of `Object.keys`: array indices come first, in ascending order. */
class LargeKeys {
  readonly #names: string[][] = [];
  readonly #indices: number[] = [];
  #ascending = true;
  #count = 0;

  get count(): number {
    return this.#count;
  }

  add(key: string): void {
    this.#count += 1;
    if (isIndex(key)) {
      const index = Number(key);
      this.#ascending &&= index > (this.#indices.at(-1) ?? -1);
      this.#indices.push(index);
      return;
    }
    let part = this.#names.at(-1);
    if (part === undefined || part.length === KEYS_PER_PART) {
      part = [];
      this.#names.push(part);
    }
    part.push(key);
  }

  *parts(): Generator<readonly string[], void> {
    const indices = this.#ascending ? this.#indices : Uint32Array.from(this.#indices).sort();
    for (let start = 0; start < indices.length; start += KEYS_PER_PART) {
      yield Array.from(indices.slice(start, start + KEYS_PER_PART), String);
    }
    yield* this.#names;
  }
}

const ARRAY_INDEX = /^(?:0|[1-9][0-9]{0,9})$/;
const LARGEST_ARRAY_INDEX = 2 ** 32 - 2;

function isIndex(key: string): boolean {
  return key.charCodeAt(0) <= 0x39 && ARRAY_INDEX.test(key) && Number(key) <= LARGEST_ARRAY_INDEX;
}

/** A large object while members are added to it. */
export class LargeObject {
  readonly object: JsonObject = {};
  readonly #keys = new LargeKeys();

  constructor() {
    keysOfObjects.set(this.object, this.#keys);
  }

  /** Sets a member, which replaces an earlier one of the same name. */
  set(key: string, value: JsonValue): void {
    if (!Object.hasOwn(this.object, key)) this.#keys.add(key);
    setMember(this.object, key, value);
  }
}

/** Yields the members of an object in parts of at most one step each. */
export function* membersInParts(object: JsonObject): Generator<[key: string, value: JsonValue][], void> {
  const keys = keysOfObjects.get(object);
  if (keys === undefined) yield Object.entries(object);
  else for (const part of keys.parts()) yield part.map((key) => [key, object[key] as JsonValue]);
}

/** Sets a member. A plain assignment to `__proto__` would change the prototype (prototype pollution). */
export function setMember(target: object, name: string, value: unknown): void {
  if (name !== "__proto__") (target as Record<string, unknown>)[name] = value;
  else Object.defineProperty(target, name, { value, writable: true, enumerable: true, configurable: true });
}
