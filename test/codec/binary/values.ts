/** Creates random messages of any schema from a seed. */
import { create, type DescField, type DescMessage, type Message, ScalarType } from "@bufbuild/protobuf";
import { type ReflectMessage, reflect } from "@bufbuild/protobuf/reflect";

export type Random = (below: number) => number;

/** A random number generator (mulberry32): the same seed gives the same numbers. */
export function randomOf(seed: number): Random {
  let state = seed | 0;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}

/** Creates a message whose fields are set at random. Required fields are always set. */
export function randomMessage(schema: DescMessage, random: Random, depth = 0): Message {
  const message = reflect(schema, create(schema) as Message, false);
  for (const field of schema.fields) {
    const isMessage = field.fieldKind === "message" || (field.fieldKind === "list" && field.listKind === "message");
    if (isMessage && depth > 2) continue;
    if (random(10) < 3 && field.presence !== 3) continue;
    setField(message, field, random, depth);
  }
  if (random(6) === 0) {
    message.setUnknown([
      { no: 536870000 + random(900), wireType: 2, data: Uint8Array.of(2, random(256), random(256)) },
    ]);
  }
  return message.message;
}

function setField(message: ReflectMessage, field: DescField, random: Random, depth: number): void {
  // Lists of messages are short, because their messages contain lists too.
  const count = field.message !== undefined ? random(3) : random(8) === 0 ? 40 : random(4);
  switch (field.fieldKind) {
    case "list":
      for (let i = 0; i < count; i++) message.get(field).add(itemOf(field, random, depth) as never);
      break;
    case "map":
      if (field.mapKind === "message" && depth > 2) break;
      for (let i = 0; i < count; i++) {
        message.get(field).set(scalarOf(field.mapKey, random) as never, itemOf(field, random, depth) as never);
      }
      break;
    default:
      message.set(field, itemOf(field, random, depth) as never);
  }
}

function itemOf(field: DescField, random: Random, depth: number): unknown {
  const { enum: enumeration, message, scalar } = field;
  if (message !== undefined) {
    return reflect(message, randomMessage(message, random, depth + 1), false);
  }
  if (enumeration !== undefined) {
    const known = enumeration.values[random(enumeration.values.length)]?.number ?? 0;
    return enumeration.open && random(5) === 0 ? random(1000) - 500 : known;
  }
  return scalarOf(scalar as ScalarType, random);
}

const TEXTS = [
  "",
  "a",
  "short",
  "exactly eight",
  "ä",
  "\u{1f600} and more",
  "a".repeat(31),
  "b".repeat(32),
  "c".repeat(64),
  "d".repeat(65),
  "é".repeat(127),
  "x".repeat(127),
  "y".repeat(128),
  "z".repeat(3000),
  "\u0000",
  "\ufeffbom",
  "__proto__",
  "constructor",
  "\ud800 lone",
];

function scalarOf(type: ScalarType, random: Random): unknown {
  const small = random(2) === 0;
  switch (type) {
    case ScalarType.STRING:
      return TEXTS[random(TEXTS.length)];
    case ScalarType.BYTES:
      return Uint8Array.from({ length: random(5) === 0 ? 300 : random(4) }, () => random(256));
    case ScalarType.BOOL:
      return small;
    case ScalarType.DOUBLE:
      return [0, -0, 1.5, -1e300, Number.NaN, Number.POSITIVE_INFINITY, random(1000)][random(7)];
    case ScalarType.FLOAT:
      return [0, -0, 1.5, -(2 ** 100), Number.NaN, Number.NEGATIVE_INFINITY, random(1000)][random(7)];
    case ScalarType.UINT32:
    case ScalarType.FIXED32:
      return small ? random(300) : [0, 127, 128, 16383, 16384, 0x7fffffff, 0x80000000, 0xffffffff][random(8)];
    case ScalarType.INT32:
    case ScalarType.SINT32:
    case ScalarType.SFIXED32:
      return small ? random(300) - 150 : [0, -1, 0x7fffffff, -0x80000000, 1 << 20, -(1 << 27)][random(6)];
    case ScalarType.UINT64:
    case ScalarType.FIXED64:
      return small
        ? BigInt(random(300))
        : [0n, 1n << 31n, 1n << 32n, (1n << 63n) - 1n, 1n << 63n, (1n << 64n) - 1n, 1n << 35n][random(7)];
    default:
      return small
        ? BigInt(random(300) - 150)
        : [0n, -1n, 1n << 31n, 1n << 32n, (1n << 63n) - 1n, -(1n << 63n), -(1n << 31n), -(1n << 32n), -(1n << 40n)][
            random(9)
          ];
  }
}

/** Values that some type does not allow. */
const INVALID: readonly unknown[] = [
  null,
  undefined,
  "",
  "0",
  "12",
  "-7",
  "text",
  "NaN",
  "1e400",
  0,
  -0,
  3,
  -1,
  1.5,
  2 ** 40,
  3.5e38,
  3.4028235e38,
  Number.NaN,
  Number.NEGATIVE_INFINITY,
  0n,
  -1n,
  1n << 70n,
  true,
  false,
  [],
  ["a", "b"],
];

/** Sets a scalar or enum field, an item of a list or a value of a map to one of another type. Returns a description. */
export function corrupt(schema: DescMessage, message: Message, random: Random): string {
  const field = schema.fields[random(schema.fields.length)];
  if (field === undefined || field.message !== undefined) return "";
  const fields = message as Message & Record<string, unknown>;
  const value = INVALID[random(INVALID.length)];
  if (field.oneof !== undefined) fields[field.oneof.localName] = { case: field.localName, value };
  else if (field.fieldKind === "list") (fields[field.localName] as unknown[]).push(value);
  else if (field.fieldKind === "map") {
    (fields[field.localName] as Record<string, unknown>)[["1", "true", "-1", "a", "1.5"][random(5)] as string] = value;
  } else fields[field.localName] = value;
  const text = typeof value === "bigint" ? `${value}n` : JSON.stringify(value);
  return `${field} (${field.fieldKind}, scalar type ${field.scalar}) = ${text}`;
}

/** Copies a message, some parts of it as plain objects, from which some fields are missing. */
export function initOf(value: unknown, random: Random): object {
  return copy(value) as object;
  function copy(part: unknown): unknown {
    if (typeof part !== "object" || part === null || part instanceof Uint8Array) return part;
    if (Array.isArray(part)) return part.map(copy);
    const isMessage = "$typeName" in part;
    if (isMessage && random(4) === 0) return part;
    const kept = Object.entries(part).filter(([name]) => !isMessage || (name !== "$typeName" && random(8) > 0));
    const entries = kept.map(([name, one]) => [name, isMessage && random(20) === 0 ? null : copy(one)]);
    return Object.fromEntries(entries);
  }
}

/** Returns the value, or `undefined` where it is refused. */
export function attempt<T>(action: () => T): T | undefined {
  try {
    return action();
  } catch {
    return undefined;
  }
}

/** Bytes with a few changes: flipped, cut off, doubled, inserted, or moved. */
export function mutate(bytes: Uint8Array, random: Random): Uint8Array {
  let result = Array.from(bytes);
  for (let changes = 1 + random(3); changes > 0; changes--) {
    const at = random(result.length + 1);
    switch (random(5)) {
      case 0:
        if (result.length > 0) result[at % result.length] = random(256);
        break;
      case 1:
        result = result.slice(0, at);
        break;
      case 2:
        result.splice(at, 0, random(256), random(256));
        break;
      case 3:
        result = [...result, ...result.slice(at)];
        break;
      default:
        result.splice(at, 1 + random(4));
    }
  }
  return Uint8Array.from(result);
}

/** Compares own keys in order, values and prototypes. `toEqual` compares neither the order of keys nor prototypes. */
export function describeValue(value: unknown): unknown {
  if (value instanceof Uint8Array) return ["bytes", ...value];
  if (Array.isArray(value)) return value.map(describeValue);
  if (typeof value === "bigint") return `${value}n`;
  if (typeof value === "number") return Object.is(value, -0) ? "-0" : String(value);
  if (typeof value !== "object" || value === null) return value;
  const prototype = Object.getPrototypeOf(value);
  const inherited = prototype === Object.prototype ? "" : describeValue(prototype);
  return [inherited, ...Object.keys(value).map((key) => [key, describeValue(Reflect.get(value, key))])];
}

/**
 * Throws if two values, or the bytes of two messages, differ. Much cheaper than an assertion, which prepares a
 * comparison.
 */
export function same(ours: unknown, theirs: unknown, about = ""): void {
  if (ours instanceof Uint8Array && theirs instanceof Uint8Array && Buffer.compare(ours, theirs) === 0) return;
  const [left, right] = [ours, theirs].map((value) => JSON.stringify(describeValue(value)));
  if (left !== right) throw new Error(`${about}\nours:   ${left}\ntheirs: ${right}`);
}
