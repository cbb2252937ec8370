/**
 * Estimates the memory of decoded values from the values themselves, whichever codec has decoded them.
 */
import { StepCounter, type Steps } from "../call/steps.ts";
import { IndexArray, indexOfKey, Memory, objectBytes } from "./memory.ts";

/**
 * Estimates the memory of a message, or of the arguments of a method, in bytes. `isShared`: several objects may refer to the
 * same one, or an object to itself; it is counted once.
 */
export function* valueMemory(root: object, isShared: boolean): Steps<number> {
  const meter = new ValueMeter(isShared);
  const counter = new StepCounter();
  meter.add(root);
  for (let size = meter.next(); size !== undefined; size = meter.next()) if (counter.add(size)) yield;
  return meter.memory;
}

class ValueMeter {
  memory = 0;
  /** Objects that have not been counted. */
  readonly #rest: object[] = [];
  readonly #seen: Set<object> | undefined;

  constructor(isShared: boolean) {
    this.#seen = isShared ? new Set() : undefined;
  }

  add(value: unknown): void {
    if (typeof value === "string") this.memory += Memory.text(value.length);
    else if (typeof value === "number") this.memory += (value | 0) === value ? 0 : Memory.number;
    else if (typeof value === "bigint") this.memory += Memory.bigint;
    else if (Array.isArray(value) && value.length === 0) this.memory += Memory.list;
    else if (typeof value === "object" && value !== null && this.#seen?.has(value) !== true) {
      this.#seen?.add(value);
      this.#rest.push(value);
    }
  }

  /** Counts the next object. Returns the number of values that were visited; `undefined`: there are no more objects. */
  next(): number | undefined {
    const object = this.#rest.pop();
    if (object === undefined) return undefined;
    if (Array.isArray(object)) return this.#addItems(object);
    if (ArrayBuffer.isView(object)) return this.#addView();
    if ("$typeName" in object) return this.#addMessage(object);
    if (object instanceof Map || object instanceof Set) return this.#addEntries(object);
    return this.#addMembers(object);
  }

  #addItems(items: readonly unknown[]): number {
    this.memory += Memory.list + Memory.firstItem + Memory.item * items.length;
    for (const item of items) this.add(item);
    return items.length;
  }

  /** The contents are those of the received message. */
  #addView(): number {
    this.memory += Memory.ownBytes;
    return 1;
  }

  #addMessage(message: object): number {
    const names = Object.keys(message);
    this.memory += objectBytes(names.length, true);
    for (const name of names) if (name !== "$typeName") this.add((message as Record<string, unknown>)[name]);
    return names.length;
  }

  #addEntries(entries: Map<unknown, unknown> | Set<unknown>): number {
    this.memory += Memory.map + Memory.entry * entries.size;
    for (const [key, value] of entries.entries()) {
      this.add(key);
      if (value !== key) this.add(value);
    }
    return entries.size + 1;
  }

  /** Adds the members of an object whose names the peer may have chosen: a map, JSON, or a value of Java. */
  #addMembers(object: object): number {
    const names = Object.keys(object);
    if (isOneof(names)) {
      this.memory += Memory.oneof;
      this.add((object as { readonly value?: unknown }).value);
      return 1;
    }
    this.memory += Memory.map + (names.length === 0 ? 0 : Memory.firstMember);
    const array = new IndexArray();
    for (const name of names) {
      this.memory += Memory.entry + Memory.text(name.length) + array.add(indexOfKey(name));
      this.add((object as Record<string, unknown>)[name]);
    }
    return names.length + 1;
  }
}

/** Reports whether an object with these members is a oneof of protobuf-es. */
function isOneof(names: readonly string[]): boolean {
  return names[0] === "case" && (names.length === 1 || (names.length === 2 && names[1] === "value"));
}
