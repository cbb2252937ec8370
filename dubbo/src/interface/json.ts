/** Converts values of declared types to JSON values, as Dubbo reads them in sub-protocol A. */
import type { JsonValue } from "@bufbuild/protobuf";
import { type Notation, setEntry } from "triple-es/internal";
import { Cost, LEAF } from "./cost.ts";
import type { JavaBuiltIn, JavaClass, JavaPrimitive, JavaType } from "./signature.ts";
import {
  createRecord,
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
  toBytes,
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

/** The count of a byte in JSON, which is a number in a list. */
const BYTE_IN_JSON = 1 / 32;

/**
 * JSON has neither NaN nor Infinity, and many parsers lose digits of integers beyond 2^53. Bytes are numbers, as in
 * Java: Dubbo does not read base64 here.
 */
const JSON_NOTATION: Notation = {
  long: (value) => (Number.isSafeInteger(Number(value)) ? Number(value) : String(value)),
  double: (value) => (Number.isFinite(value) ? value : String(value)),
  bytes: ({ buffer, byteOffset, byteLength }) => Array.from(new Int8Array(buffer, byteOffset, byteLength)),
  date: (value) => value.getTime(),
};

/** The JSON value of a value. Throws a `TypeError` for a value that is invalid for the type, and beyond the limits of `cost`. */
export function toJson(type: JavaType, value: unknown, cost: Cost = new Cost()): JsonValue {
  return toPlain(type, value, JSON_NOTATION, cost) as JsonValue;
}

/** The same for formats like JSON: plain objects, arrays, strings, and the notation's representation of everything else. */
export function toPlain(type: JavaType, value: unknown, notation: Notation, cost: Cost): unknown {
  return new PlainWriter(notation, cost).write(type, value);
}

type ContainerType = Exclude<JavaType, string | { readonly enum: unknown }>;

/**
 * Converts the values of one value, and counts them together. JSON has no references: an object that occurs twice is
 * written twice, and counts twice.
 */
class PlainWriter {
  readonly #notation: Notation;
  readonly #cost: Cost;
  #depth = 0;

  constructor(notation: Notation, cost: Cost) {
    this.#notation = notation;
    this.#cost = cost;
  }

  write(type: JavaType, value: unknown): unknown {
    if (value === null || value === undefined) {
      if (type !== "void" && isPrimitive(type)) throw new TypeError(`${value} is not a valid ${type}`);
      this.#cost.add(LEAF);
      return null;
    }
    if (type === "java.lang.Object") {
      return this.write(runtimeType(value), value instanceof TypedValue ? value.value : value);
    }
    if (typeof type === "object" && !("enum" in type) && !isBytes(type)) return this.#container(type, value);
    this.#cost.add(LEAF);
    return this.#leaf(type, value);
  }

  #leaf(type: JavaType, value: unknown): unknown {
    const scalar = scalarOf(type);
    if (scalar !== undefined) return scalarToPlain(toScalar(scalar, value), this.#notation);
    if (isBytes(type)) {
      const bytes = toBytes(value);
      this.#cost.addBytes(bytes.byteLength);
      if (this.#notation === JSON_NOTATION) this.#cost.add(bytes.byteLength * BYTE_IN_JSON);
      return this.#notation.bytes(bytes);
    }
    if (typeof type === "string") return builtInToPlain(type, value, this.#notation, this.#cost);
    if ("enum" in type) return toEnum(type.enum, value);
    throw new TypeError(`${show(value)} is not a valid ${nameOf(type)}`);
  }

  #container(type: ContainerType, value: unknown): unknown {
    this.#cost.add(1);
    if (isChars(type)) {
      const units = toItems(value);
      this.#cost.addBytes(units.length);
      return joinChars(units);
    }
    if (this.#depth >= MAX_VALUE_DEPTH) throw new TypeError(`the value is more than ${MAX_VALUE_DEPTH} levels deep`);
    this.#depth += 1;
    const plain = this.#contents(type, value);
    this.#depth -= 1;
    return plain;
  }

  #contents(type: ContainerType, value: unknown): unknown {
    if ("class" in type) return this.#object(type.class(), value);
    if ("map" in type) return this.#map(type.map, value);
    const item = "list" in type ? type.list : "set" in type ? type.set : type.array;
    return toItems(value).map((one) => this.write(item, one));
  }

  #object({ name, fields }: JavaClass, value: unknown): object {
    if (!isRecord(value)) throw new TypeError(`${show(value)} is not a valid ${name}`);
    const object = {};
    for (const [field, type] of Object.entries(fields)) {
      try {
        setEntry(object, field, this.write(type, memberOf(value, field)));
      } catch (cause) {
        throw errorIn(`field "${field}"`, cause);
      }
    }
    return object;
  }

  #map([keyType, valueType]: readonly [JavaType, JavaType], value: unknown): object {
    const object = createRecord();
    for (const [key, member] of toEntries(value)) {
      this.#cost.add(1);
      const name = this.write(keyType, key);
      const text = name instanceof Date ? name.getTime() : name;
      if (text === null || typeof text === "object") throw new TypeError(`${show(key)} cannot be the key of a member`);
      setEntry(object, String(text), this.write(valueType, member));
    }
    return object;
  }
}

function scalarToPlain(value: boolean | number | bigint | string, notation: Notation): unknown {
  if (typeof value === "bigint") return notation.long(value);
  return typeof value === "number" ? notation.double(value) : value;
}

function builtInToPlain(type: JavaPrimitive | JavaBuiltIn, value: unknown, notation: Notation, cost: Cost): unknown {
  if (type === "java.util.Date") return notation.date(toDate(value));
  const text = type === "java.math.BigDecimal" || type === "java.math.BigInteger" ? toDigits(type, value) : value;
  if (typeof text !== "string" || type === "void") throw new TypeError(`${show(value)} is not a valid ${type}`);
  cost.addBytes(text.length);
  return text;
}
