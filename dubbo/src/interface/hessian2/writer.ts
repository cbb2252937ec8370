/**
 * Writes Hessian 2 as Dubbo's encoder does, from values of declared types. An object that occurs more than once, or contains
 * itself, is written once; each further occurrence is a reference.
 */
import { Cost, LEAF } from "../cost.ts";
import { JavaException } from "../exception.ts";
import type { JavaBuiltIn, JavaClass, JavaPrimitive, JavaType } from "../signature.ts";
import {
  ANY,
  errorIn,
  isBytes,
  isChars,
  isPrimitive,
  isRecord,
  joinChars,
  memberOf,
  scalarOf,
  show,
  toBytes,
  toDate,
  toDigits,
  toEntries,
  toEnum,
  toItems,
  toScalar,
} from "../type.ts";
import { runtimeType, TypedValue } from "../typed.ts";
import type { ResolvedHessian2Limits } from "./raw.ts";
import { ByteSink } from "./sink.ts";
import { hessianName, structureName } from "./type-name.ts";

/** Encodes a value. Throws a `TypeError` for a value that is invalid for the type, and an error if a limit is exceeded. */
export function writeHessian2(
  type: JavaType,
  value: unknown,
  limits: ResolvedHessian2Limits,
  cost: Cost = new Cost(),
): Uint8Array {
  const writer = new Writer(limits, cost);
  writer.write(type, value);
  return writer.finish();
}

/** Encodes an exception. */
export function writeException(exception: JavaException, limits: ResolvedHessian2Limits): Uint8Array {
  const writer = new Writer(limits, new Cost());
  writer.exception(exception);
  return writer.finish();
}

/** Writes the values of one message. */
class Writer {
  readonly #sink: ByteSink;
  readonly #maxDepth: number;
  readonly #cost: Cost;
  /** Reference numbers of the values already written, by the type they were written as. */
  readonly #written = new Map<object, Map<string, number>>();
  readonly #magnitudes = new Map<string, readonly number[]>();
  readonly #types = new Map<string, number>();
  readonly #classes = new Map<string, number>();
  #references = 0;
  #depth = 0;

  constructor(limits: ResolvedHessian2Limits, cost: Cost) {
    this.#maxDepth = limits.maxDepth;
    this.#cost = cost;
    this.#sink = new ByteSink((length) => cost.addBytes(length, limits.maxBytes));
  }

  finish(): Uint8Array {
    return this.#sink.finish();
  }

  write(type: JavaType, value: unknown): void {
    if (value === null || value === undefined) this.#null(type, value);
    else if (type === "java.lang.Object") this.#any(value);
    else if (typeof type === "string" || isBytes(type)) this.#leaf(type, value);
    else if ("enum" in type) this.#object(type.enum.name, ["name"], () => this.#sink.string(toEnum(type.enum, value)));
    else this.#container(type, value);
  }

  #null(type: JavaType, value: null | undefined): void {
    this.#cost.add(LEAF);
    if (isPrimitive(type)) throw new TypeError(`${value} is not a valid ${type}`);
    this.#sink.uint8(0x4e);
  }

  /** Writes a value that contains no others. */
  #leaf(type: JavaType, value: unknown): void {
    this.#cost.add(LEAF);
    const scalar = scalarOf(type);
    if (scalar !== undefined) this.#scalar(scalar, toScalar(scalar, value));
    else if (isBytes(type)) this.#sink.binary(toBytes(value));
    else this.#builtIn(type as JavaPrimitive | JavaBuiltIn, value);
  }

  #scalar(type: JavaPrimitive, value: boolean | number | bigint | string): void {
    if (typeof value === "boolean") this.#sink.uint8(value ? 0x54 : 0x46);
    else if (typeof value === "string") this.#sink.string(value);
    else if (typeof value === "bigint") this.#sink.long(value);
    else if (type === "float" || type === "double") this.#sink.double(value);
    else this.#sink.int(value);
  }

  #builtIn(type: JavaPrimitive | JavaBuiltIn, value: unknown): void {
    if (type === "java.lang.String") {
      if (typeof value !== "string") throw new TypeError(`${show(value)} is not a valid string`);
      this.#sink.string(value);
    } else if (type === "java.util.Date") this.#sink.date(toDate(value).getTime());
    else if (type === "java.math.BigDecimal") {
      this.#object(type, ["value"], () => this.#sink.string(toDigits(type, value)));
    } else if (type === "java.math.BigInteger") this.#bigInteger(toDigits(type, value));
    else throw new TypeError(`no value has the type ${type}`);
  }

  /**
   * Writes a value without a declared type. If the value has already been written, under any declared type, writes a
   * reference to it.
   */
  #any(value: unknown): void {
    const [index] = (typeof value === "object" && value !== null && this.#written.get(value)?.values()) || [];
    if (index !== undefined) this.#reference(index);
    else if (value instanceof JavaException) this.exception(value);
    else this.write(runtimeType(value), value instanceof TypedValue ? value.value : value);
  }

  /**
   * Writes a `BigInteger` as fields of its Java class: the sign, and the magnitude in 32-bit words. Java recomputes the other
   * fields.
   */
  #bigInteger(digits: string): void {
    const words = this.#magnitude(digits.replace(/^[+-]/, ""));
    this.#object("java.math.BigInteger", ["signum", "mag"], () => {
      this.#sink.int(words.length === 0 ? 0 : digits.startsWith("-") ? -1 : 1);
      this.#references += 1;
      this.#listHead("[int", words.length);
      for (const word of words) this.#sink.int(word);
    });
  }

  /** Returns the 32-bit words of a number. They are memoized because computing them is expensive. */
  #magnitude(digits: string): readonly number[] {
    const known = this.#magnitudes.get(digits);
    if (known !== undefined) return known;
    const value = BigInt(digits);
    const hex = value.toString(16);
    const padded = value === 0n ? "" : hex.padStart(Math.ceil(hex.length / 8) * 8, "0");
    const words = (padded.match(/.{8}/g) ?? []).map((word) => Number.parseInt(word, 16) | 0);
    this.#magnitudes.set(digits, words);
    return words;
  }

  #container(type: Exclude<JavaType, string | { readonly enum: unknown }>, value: unknown): void {
    if (isChars(type)) {
      this.#cost.add(1);
      this.#sink.string(joinChars(toItems(value)));
      return;
    }
    if (this.#refer(value as object, structureName(type))) return;
    this.#depth += 1;
    if (this.#depth > this.#maxDepth) throw new TypeError(`the value is more than ${this.#maxDepth} levels deep`);
    if ("class" in type) this.#fields(type.class(), value);
    else if ("map" in type) this.#map(type.map, value);
    else if ("list" in type) this.#items(undefined, type.list, toItems(value));
    else if ("set" in type) this.#items("java.util.HashSet", type.set, toItems(value));
    else this.#items(hessianName(type), type.array, toItems(value));
    this.#depth -= 1;
  }

  /** Writes a reference if the value has already been written as this type. Otherwise assigns a reference number to it. */
  #refer(value: object, as: string): boolean {
    const written = this.#written.get(value);
    const index = written?.get(as);
    if (index !== undefined) {
      this.#reference(index);
      return true;
    }
    this.#written.set(value, (written ?? new Map()).set(as, this.#references));
    this.#addObject();
    return false;
  }

  #reference(index: number): void {
    this.#cost.add(LEAF);
    this.#sink.uint8(0x51);
    this.#sink.int(index);
  }

  #addObject(): void {
    this.#cost.add(1);
    this.#references += 1;
  }

  #items(name: string | undefined, type: JavaType, items: readonly unknown[]): void {
    this.#listHead(name, items.length);
    for (const item of items) this.write(type, item);
  }

  #listHead(name: string | undefined, length: number): void {
    const short = length < 8;
    this.#sink.uint8((name === undefined ? (short ? 0x78 : 0x58) : short ? 0x70 : 0x56) + (short ? length : 0));
    if (name !== undefined) this.#typeName(name);
    if (!short) this.#sink.int(length);
  }

  #map([keyType, valueType]: readonly [JavaType, JavaType], value: unknown): void {
    this.#sink.uint8(0x48);
    for (const [key, member] of toEntries(value)) {
      this.#cost.add(1);
      this.write(keyType, key);
      this.write(valueType, member);
    }
    this.#sink.uint8(0x5a);
  }

  #fields({ name, fields }: JavaClass, value: unknown): void {
    if (!isRecord(value)) throw new TypeError(`${show(value)} is not a valid ${name}`);
    const names = Object.keys(fields);
    this.#head(name, names);
    for (const field of names) this.#field(field, fields[field] as JavaType, memberOf(value, field));
  }

  #field(name: string, type: JavaType, value: unknown): void {
    try {
      this.write(type, value);
    } catch (cause) {
      throw errorIn(`field "${name}"`, cause);
    }
  }

  /** Writes an object to which there are no references. The object still takes a reference number. */
  #object(name: string, fields: readonly string[], writeValues: () => void): void {
    this.#addObject();
    this.#head(name, fields);
    writeValues();
  }

  #head(name: string, fields: readonly string[]): void {
    const key = JSON.stringify([name, ...fields]);
    let index = this.#classes.get(key);
    if (index === undefined) {
      index = this.#classes.size;
      this.#classes.set(key, index);
      this.#sink.uint8(0x43);
      this.#sink.string(name);
      this.#sink.int(fields.length);
      for (const field of fields) this.#sink.string(field);
    }
    if (index < 0x10) this.#sink.uint8(0x60 + index);
    else {
      this.#sink.uint8(0x4f);
      this.#sink.int(index);
    }
  }

  /** Writes a type name: the first time in full, afterwards by its number. */
  #typeName(name: string): void {
    const number = this.#types.get(name);
    if (number === undefined) {
      this.#types.set(name, this.#types.size);
      this.#sink.string(name);
    } else this.#sink.int(number);
  }

  /** Writes an exception. Java requires a stack trace; it is empty, because one of this process is meaningless to Java. */
  exception(exception: JavaException): void {
    const { className, detailMessage, fields, cause } = exception;
    if (this.#refer(exception, className)) return;
    const own = Object.entries(fields);
    this.#head(className, ["detailMessage", "cause", "stackTrace", ...own.map(([name]) => name)]);
    this.write("java.lang.String", detailMessage);
    if (cause instanceof JavaException) this.exception(cause);
    else this.#sink.uint8(0x4e);
    this.#references += 1;
    this.#listHead("[java.lang.StackTraceElement", 0);
    for (const [name, value] of own) this.#field(name, ANY, value);
  }
}
