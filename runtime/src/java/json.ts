/**
 * Converts values of declared types to JSON values, as Dubbo reads them in sub-protocol A.
 */
import type { JsonValue } from "@bufbuild/protobuf";
import type { Notation } from "../call/method.ts";
import { runAtOnce, StepCounter, type Steps } from "../call/steps.ts";
import { LargeObject, setMember } from "../codec/json-parts.ts";
import { Cost } from "./cost.ts";
import type { JavaBuiltIn, JavaClass, JavaPrimitive, JavaType } from "./signature.ts";
import {
  errorIn,
  isBytes,
  isChars,
  isPrimitive,
  isRecord,
  joinChars,
  memberOf,
  nameOf,
  scalarOf,
  show,
  toDate,
  toDigits,
  toEntries,
  toEnum,
  toItems,
  toScalar,
} from "./type.ts";
import { runtimeType, TypedValue } from "./typed.ts";

/** Deepest nesting accepted: recursion over deeper values, or over one that contains itself, would overflow the stack. */
const MAX_VALUE_DEPTH = 100;

/** Members up to which an object is created at once, and its keys are listed at once. */
const SMALL_OBJECT = 256;

/** Bytes that are converted in one step. */
const BYTES_PER_STEP = 16 * 1024;

/** A notation whose representation of long bytes takes time. */
interface SlowNotation extends Notation {
  /** Represents bytes like {@link Notation.bytes}, in steps. */
  readonly bytesInSteps?: (value: Uint8Array) => Steps<unknown>;
}

/**
 * JSON has neither NaN nor Infinity, and many parsers lose digits of integers beyond 2^53. Bytes are numbers, as in
 * Java: Dubbo does not read base64 here.
 */
const JSON_NOTATION: SlowNotation = {
  long: (value) => (Number.isSafeInteger(Number(value)) ? Number(value) : String(value)),
  double: (value) => (Number.isFinite(value) ? value : String(value)),
  bytes: signedBytes,
  *bytesInSteps(value) {
    const numbers: number[] = [];
    for (let start = 0; start < value.byteLength; start += BYTES_PER_STEP) {
      numbers.push(...signedBytes(value.subarray(start, start + BYTES_PER_STEP)));
      yield undefined;
    }
    return numbers;
  },
  date: (value) => value.getTime(),
};

function signedBytes({ buffer, byteOffset, byteLength }: Uint8Array): number[] {
  return Array.from(new Int8Array(buffer, byteOffset, byteLength));
}

/**
 * The JSON value of a value. Throws a `TypeError` for a value that is invalid for the type, and beyond the limits of
 * `cost`.
 */
export function toJson(type: JavaType, value: unknown, cost: Cost = new Cost()): JsonValue {
  return toPlain(type, value, JSON_NOTATION, cost) as JsonValue;
}

/** Converts a value in steps, like {@link toJson}. */
export function stepsToJson(type: JavaType, value: unknown, cost: Cost = new Cost()): Steps<JsonValue> {
  return stepsToPlain(type, value, JSON_NOTATION, cost) as Steps<JsonValue>;
}

/**
 * The same for formats like JSON: plain objects, arrays, strings, and the notation's representation of everything else.
 */
export function toPlain(type: JavaType, value: unknown, notation: Notation, cost: Cost): unknown {
  const writer = new PlainWriter(notation, cost);
  const steps = writer.steps(type, value);
  return steps === undefined ? writer.leaf(type, value) : runAtOnce(steps);
}

/** Converts a value in steps, like {@link toPlain}. The result has no references to lists, maps or objects of the value. */
export function* stepsToPlain(type: JavaType, value: unknown, notation: Notation, cost: Cost): Steps<unknown> {
  const writer = new PlainWriter(notation, cost);
  const steps = writer.steps(type, value);
  return steps === undefined ? writer.leaf(type, value) : yield* steps;
}

type ContainerType = Exclude<JavaType, string | { readonly enum: unknown }>;

/** Converts the values of one value, and counts them together. A generator for each number in a list would double the time. */
class PlainWriter {
  readonly #notation: SlowNotation;
  readonly #cost: Cost;
  readonly #counter = new StepCounter();
  #depth = 0;

  constructor(notation: SlowNotation, cost: Cost) {
    this.#notation = notation;
    this.#cost = cost;
  }

  /** Returns the steps that convert a container or long bytes. Returns `undefined` for values that {@link leaf} converts. */
  steps(type: JavaType, value: unknown): Steps<unknown> | undefined {
    if (value === null || value === undefined) return undefined;
    if (typeof value !== "object" && typeof type === "string") return undefined;
    if (type === "java.lang.Object") return this.steps(runtimeType(value), bareValue(value));
    if (isBytes(type)) {
      const isLong = value instanceof Uint8Array && value.byteLength > BYTES_PER_STEP;
      return isLong && this.#notation.bytesInSteps !== undefined ? this.#longBytes(value) : undefined;
    }
    if (typeof type === "string" || "enum" in type) return undefined;
    this.#cost.addValues(1);
    return this.#container(type, value);
  }

  /** Converts a value for which {@link steps} returns nothing. */
  leaf(type: JavaType, value: unknown): unknown {
    this.#cost.addValues(1);
    return this.#leaf(type, value);
  }

  #leaf(type: JavaType, value: unknown): unknown {
    if (value === null || value === undefined) {
      if (type !== "void" && isPrimitive(type)) throw new TypeError(`${value} is not a valid ${type}`);
      return null;
    }
    const scalar = scalarOf(type);
    if (scalar !== undefined) return scalarToPlain(toScalar(scalar, value), this.#notation);
    if (isBytes(type)) {
      const bytes = toBytes(value);
      this.#cost.addBytes(bytes.byteLength);
      return this.#notation.bytes(bytes);
    }
    if (type === "java.lang.Object") return this.#leaf(runtimeType(value), bareValue(value));
    if (typeof type === "string") return builtInToPlain(type, value, this.#notation, this.#cost);
    if ("enum" in type) return toEnum(type.enum, value);
    throw new TypeError(`${show(value)} is not a valid ${nameOf(type)}`);
  }

  #container(type: ContainerType, value: unknown): Steps<unknown> {
    if (isChars(type)) {
      const units = toItems(value);
      this.#cost.addBytes(units.length);
      return joinChars(units, this.#counter);
    }
    if (this.#depth >= MAX_VALUE_DEPTH) throw new TypeError(`the value is more than ${MAX_VALUE_DEPTH} levels deep`);
    this.#depth += 1;
    // JSON has no references: an object that occurs twice is written twice, and counts twice.
    this.#cost.addContainer();
    if ("class" in type) return this.#object(type.class(), value);
    if ("map" in type) return this.#map(type.map, value);
    return this.#items("list" in type ? type.list : "set" in type ? type.set : type.array, value);
  }

  #longBytes(bytes: Uint8Array): Steps<unknown> {
    this.#cost.addValues(1);
    this.#cost.addBytes(bytes.byteLength);
    return (this.#notation.bytesInSteps as (value: Uint8Array) => Steps<unknown>)(bytes);
  }

  *#items(type: JavaType, value: unknown): Steps<unknown[]> {
    const items: unknown[] = [];
    for (const item of toItems(value)) {
      if (this.#counter.add()) yield undefined;
      const steps = this.steps(type, item);
      items.push(steps === undefined ? this.leaf(type, item) : yield* steps);
    }
    this.#depth -= 1;
    return items;
  }

  *#object({ name, fields }: JavaClass, value: unknown): Steps<object> {
    if (!isRecord(value)) throw new TypeError(`${show(value)} is not a valid ${name}`);
    const object = {};
    for (const field of Object.keys(fields)) {
      if (this.#counter.add()) yield undefined;
      try {
        const type = fields[field] as JavaType;
        const member = memberOf(value, field);
        const steps = this.steps(type, member);
        setMember(object, field, steps === undefined ? this.leaf(type, member) : yield* steps);
      } catch (cause) {
        throw errorIn(`field "${field}"`, cause);
      }
    }
    this.#depth -= 1;
    return object;
  }

  *#map([keyType, valueType]: readonly [JavaType, JavaType], value: unknown): Steps<object> {
    const entries = toEntries(value);
    const large = entries.size > SMALL_OBJECT ? new LargeObject() : undefined;
    const object = large?.object ?? {};
    for (const [key, member] of entries) {
      if (this.#counter.add(2)) yield undefined;
      const keySteps = this.steps(keyType, key);
      const name = keySteps === undefined ? this.leaf(keyType, key) : yield* keySteps;
      const text = name instanceof Date ? name.getTime() : name;
      if (text === null || typeof text === "object") throw new TypeError(`${show(key)} cannot be the key of a member`);
      const steps = this.steps(valueType, member);
      const plain = steps === undefined ? this.leaf(valueType, member) : yield* steps;
      if (large === undefined) setMember(object, String(text), plain);
      else large.set(String(text), plain as JsonValue);
    }
    this.#depth -= 1;
    return object;
  }
}

const bareValue = (value: unknown): unknown => (value instanceof TypedValue ? value.value : value);

function scalarToPlain(value: boolean | number | bigint | string, notation: Notation): unknown {
  if (typeof value === "bigint") return notation.long(value);
  return typeof value === "number" ? notation.double(value) : value;
}

function toBytes(value: unknown): Uint8Array {
  if (value instanceof Uint8Array) return value;
  throw new TypeError(`${show(value)} is not a Uint8Array`);
}

function builtInToPlain(type: JavaPrimitive | JavaBuiltIn, value: unknown, notation: Notation, cost: Cost): unknown {
  if (type === "java.util.Date") return notation.date(toDate(value));
  const text = type === "java.math.BigDecimal" || type === "java.math.BigInteger" ? toDigits(type, value) : value;
  if (typeof text !== "string" || type === "void") throw new TypeError(`${show(value)} is not a valid ${type}`);
  cost.addBytes(text.length);
  return text;
}
