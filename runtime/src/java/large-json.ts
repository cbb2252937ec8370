/**
 * Reads large JSON of services without IDL in steps that leave the event loop its turns. Only the arrays and objects that
 * were parsed in parts are converted in steps; the values inside of a part are small.
 */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { nextStep } from "../call/time-slice.ts";
import { isLargeJson, membersInParts, parseJsonInSteps } from "../codec/json-text.ts";
import { type Fit, isPlainReading } from "./arguments.ts";
import { CollisionGuard } from "./collision-guard.ts";
import { Cost } from "./cost.ts";
import { fieldFromJson, fromJson, keyFromJson } from "./json.ts";
import { createPartParser } from "./json-text.ts";
import type { JavaClass, JavaType, Signature } from "./signature.ts";
import { isBytes, setMember, toScalar, withinLater } from "./type.ts";

/** Numbers, strings and literals that are converted in one step. */
const STEP_VALUES = 64;

/** The value of JSON text, as `parseExactJson` makes it. Rejects with its errors, and beyond 100 levels. */
export function parseExactJsonInSteps(bytes: Uint8Array, partBytes?: number): Promise<JsonValue> {
  // The parser counts values instead of their memory.
  return parseJsonInSteps(bytes, Number.POSITIVE_INFINITY, partBytes, createPartParser());
}

/** The values of the first reading that is valid for the types. Rejects with the errors of `valuesOf`. */
export async function valuesInSteps({ parameters }: Signature, readings: readonly JsonValue[][]): Promise<Fit> {
  let problem: unknown;
  for (const reading of readings) {
    try {
      const cost = new Cost();
      const values: unknown[] = [];
      for (const [index, { name, type }] of parameters.entries()) {
        values.push(await withinLater(`argument "${name}"`, fromJsonInSteps(type, reading[index] as JsonValue, cost)));
      }
      return { values, plain: isPlainReading(parameters, reading) };
    } catch (reason) {
      problem ??= reason;
    }
  }
  throw problem;
}

/** The value of a JSON value, as `fromJson` makes it, but the entries of a map are in the order of the text. */
export async function fromJsonInSteps(type: JavaType, json: JsonValue, cost: Cost): Promise<unknown> {
  if (!isLargeJson(json)) return fromJson(type, json, cost);
  if (type === "java.lang.Object") {
    cost.addMade(1);
    cost.addContainer();
    return Array.isArray(json) ? itemsInSteps(type, json, cost) : recordInSteps(type, json as JsonObject, cost);
  }
  const isList = Array.isArray(json);
  if (isList && isBytes(type)) {
    cost.addMade(1);
    return bytesInSteps(json);
  }
  // Anything else is invalid.
  if (typeof type === "string" || "enum" in type || isList === ("class" in type || "map" in type)) {
    return fromJson(type, json, cost);
  }
  cost.addMade(1);
  cost.addContainer();
  if ("class" in type) return objectInSteps(type.class(), json as JsonObject, cost);
  if ("map" in type) return mapInSteps(type, json as JsonObject, cost);
  if ("set" in type) return setInSteps(type.set, json as JsonValue[], cost);
  return itemsInSteps("list" in type ? type.list : type.array, json as JsonValue[], cost);
}

/** Most keys of an object that {@link firstKeys} returns: more than a method of Java may have parameters, which is 255. */
const MAX_KEYS = 256;

/** The keys of an object, or the first ones of many: to list half a million of them is a long step. */
export function firstKeys(object: JsonObject): string[] {
  const keys = new Set<string>();
  for (const members of membersInParts(object)) {
    for (const [key] of members) keys.add(key);
    if (keys.size >= MAX_KEYS) break;
  }
  return [...keys];
}

async function itemsInSteps(type: JavaType, json: readonly JsonValue[], cost: Cost): Promise<unknown[]> {
  const items: unknown[] = [];
  await eachInSteps(type, json, cost, (item) => items.push(item));
  return items;
}

async function bytesInSteps(json: readonly JsonValue[]): Promise<Uint8Array> {
  const bytes = new Uint8Array(json.length);
  for (const [index, item] of json.entries()) {
    const turn = stepBefore(index, item);
    if (turn !== undefined) await turn;
    bytes[index] = toScalar("byte", item) as number;
  }
  return bytes;
}

async function setInSteps(type: JavaType, json: readonly JsonValue[], cost: Cost): Promise<Set<unknown>> {
  const set = new Set<unknown>();
  const guard = new CollisionGuard(set);
  await eachInSteps(type, json, cost, (item) => {
    set.add(item);
    guard.added(item);
  });
  return set;
}

async function eachInSteps(
  type: JavaType,
  json: readonly JsonValue[],
  cost: Cost,
  add: (item: unknown) => void,
): Promise<void> {
  for (const [index, item] of json.entries()) {
    const turn = stepBefore(index, item);
    if (turn !== undefined) await turn;
    add(isLargeJson(item) ? await fromJsonInSteps(type, item, cost) : fromJson(type, item, cost));
  }
}

async function recordInSteps(type: JavaType, json: JsonObject, cost: Cost): Promise<object> {
  const record = {};
  const add = (name: string, value: unknown): void => setMember(record, name, value);
  await membersInSteps(type, json, cost, { key: (name) => name, add });
  return record;
}

async function mapInSteps(
  { map: [keyType, valueType], record }: Extract<JavaType, { readonly map: unknown }>,
  json: JsonObject,
  cost: Cost,
): Promise<object> {
  const key = (name: string): unknown => keyFromJson(keyType, name, cost);
  if (record === true) {
    const object = {};
    await membersInSteps(valueType, json, cost, { key, add: (name, value) => setMember(object, String(name), value) });
    return object;
  }
  const map = new Map<unknown, unknown>();
  const guard = new CollisionGuard(map);
  const add = (name: unknown, value: unknown): void => {
    map.set(name, value);
    guard.added(name);
  };
  await membersInSteps(valueType, json, cost, { key, add });
  return map;
}

/** The conversion of keys, and the collection that takes the entries. */
interface Entries<K> {
  key(name: string): K;
  add(key: K, value: unknown): void;
}

async function membersInSteps<K>(
  type: JavaType,
  json: JsonObject,
  cost: Cost,
  { key, add }: Entries<K>,
): Promise<void> {
  for (const members of membersInParts(json)) {
    for (const [index, [name, member]] of members.entries()) {
      const turn = stepBefore(index, member);
      if (turn !== undefined) await turn;
      const converted = key(name);
      add(converted, isLargeJson(member) ? await fromJsonInSteps(type, member, cost) : fromJson(type, member, cost));
    }
  }
}

async function objectInSteps({ fields }: JavaClass, json: JsonObject, cost: Cost): Promise<object> {
  const object = {};
  for (const [field, type] of Object.entries(fields)) {
    const member = Object.hasOwn(json, field) ? json[field] : undefined;
    const value =
      member !== undefined && isLargeJson(member)
        ? await withinLater(`field "${field}"`, fromJsonInSteps(type, member, cost))
        : fieldFromJson(field, type, member, cost);
    setMember(object, field, value);
  }
  return object;
}

/** A promise to await before a value at that index is converted; `undefined` if it may be converted now. */
function stepBefore(index: number, value: JsonValue): Promise<void> | undefined {
  return index % STEP_VALUES === 0 || typeof value === "object" ? nextStep() : undefined;
}
