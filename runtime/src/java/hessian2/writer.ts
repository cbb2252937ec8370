/**
 * Writes Hessian 2 as Dubbo's encoder does, from values of declared types. An object that occurs more than once, or contains
 * itself, is written once; each further occurrence is a reference.
 */
import { runAtOnce, StepCounter, type Steps } from "../../call/steps.ts";
import { Cost } from "../cost.ts";
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
  toDate,
  toDigits,
  toEntries,
  toEnum,
  toItems,
  toScalar,
} from "../type.ts";
import { runtimeType, TypedValue } from "../typed.ts";
import { DEFAULT_HESSIAN2_LIMITS, type Hessian2Limits } from "./raw.ts";
import { ByteSink, CHUNK } from "./sink.ts";
import { hessianName, structureName } from "./type-name.ts";

/** Encodes a value. Throws a `TypeError` for a value that is invalid for the type, and an error if a limit is exceeded. */
export function writeHessian2(
  type: JavaType,
  value: unknown,
  limits: Hessian2Limits = {},
  cost: Cost = new Cost(),
): Uint8Array {
  const writer = new Writer(limits, cost);
  const steps = writer.write(type, value);
  if (steps !== undefined) runAtOnce(steps);
  return writer.finish();
}

/** Encodes a value in steps, like {@link writeHessian2}. */
export function* hessian2Steps(
  type: JavaType,
  value: unknown,
  limits: Hessian2Limits,
  cost: Cost = new Cost(),
): Steps<Uint8Array> {
  const writer = new Writer(limits, cost);
  const steps = writer.write(type, value);
  if (steps !== undefined) yield* steps;
  return writer.finish();
}

/** Encodes an exception. */
export function writeException(exception: JavaException, limits: Hessian2Limits = {}): Uint8Array {
  const writer = new Writer(limits, new Cost());
  runAtOnce(writer.exception(exception));
  return writer.finish();
}

/** Bytes that take about as long to write as a value. */
const BYTES_LIKE_VALUE = 256;

/**
 * Writes the values of one message. Functions that write values return the steps that write a container or long text; they
 * have written any other value, because a generator for each number in a list would double the time.
 */
class Writer {
  readonly #sink: ByteSink;
  readonly #limits: Hessian2Limits;
  readonly #maxDepth: number;
  readonly #cost: Cost;
  /** Reference numbers of the values already written, by the type they were written as. */
  readonly #written = new Map<object, Map<string, number>>();
  readonly #magnitudes = new Map<string, readonly number[]>();
  readonly #types = new Map<string, number>();
  readonly #classes = new Map<string, number>();
  readonly #counter = new StepCounter();
  #references = 0;
  #depth = 0;
  /** The number of bytes at the last {@link #pauses}. */
  #length = 0;

  constructor(limits: Hessian2Limits, cost: Cost) {
    this.#limits = limits;
    this.#maxDepth = limits.maxDepth ?? DEFAULT_HESSIAN2_LIMITS.maxDepth;
    this.#cost = cost;
    this.#sink = new ByteSink((length) => cost.addBytes(length, limits));
  }

  finish(): Uint8Array {
    return this.#sink.finish();
  }

  write(type: JavaType, value: unknown): Steps<void> | undefined {
    this.#cost.addValues(1, this.#limits);
    return this.#write(type, value);
  }

  #write(type: JavaType, value: unknown): Steps<void> | undefined {
    if (value === null || value === undefined) {
      if (isPrimitive(type)) throw new TypeError(`${value} is not a valid ${type}`);
      this.#sink.uint8(0x4e);
      return undefined;
    }
    const scalar = scalarOf(type);
    if (scalar !== undefined) this.#scalar(scalar, toScalar(scalar, value));
    else if (isBytes(type)) this.#bytes(value);
    else if (typeof type === "string") return this.#builtIn(type, value);
    else if ("enum" in type) this.#object(type.enum.name, ["name"], () => this.#sink.string(toEnum(type.enum, value)));
    else return this.#container(type, value);
    return undefined;
  }

  /** Reports whether the work should pause before the next value of a container. Long text and bytes count as many values. */
  #pauses(): boolean {
    const { length } = this.#sink;
    const written = length - this.#length;
    this.#length = length;
    return this.#counter.add(1 + Math.floor(written / BYTES_LIKE_VALUE));
  }

  #scalar(type: JavaPrimitive, value: boolean | number | bigint | string): void {
    if (typeof value === "boolean") this.#sink.uint8(value ? 0x54 : 0x46);
    else if (typeof value === "string") this.#sink.string(value);
    else if (typeof value === "bigint") this.#sink.long(value);
    else if (type === "float" || type === "double") this.#sink.double(value);
    else this.#sink.int(value);
  }

  #bytes(value: unknown): void {
    if (!(value instanceof Uint8Array)) throw new TypeError(`${show(value)} is not a Uint8Array`);
    this.#sink.binary(value);
  }

  #text(text: string): Steps<void> | undefined {
    if (text.length > CHUNK) return this.#sink.longString(text);
    this.#sink.string(text);
    return undefined;
  }

  #builtIn(type: JavaPrimitive | JavaBuiltIn, value: unknown): Steps<void> | undefined {
    if (type === "java.lang.String") {
      if (typeof value !== "string") throw new TypeError(`${show(value)} is not a valid string`);
      return this.#text(value);
    }
    if (type === "java.lang.Object") return this.#any(value);
    if (type === "java.util.Date") this.#sink.date(toDate(value).getTime());
    else if (type === "java.math.BigDecimal") {
      this.#object(type, ["value"], () => this.#sink.string(toDigits(type, value)));
    } else if (type === "java.math.BigInteger") this.#bigInteger(toDigits(type, value));
    else throw new TypeError(`no value has the type ${type}`);
    return undefined;
  }

  /**
   * Writes a value without a declared type. If the value has already been written, under any declared type, writes a
   * reference to it.
   */
  #any(value: unknown): Steps<void> | undefined {
    const [index] = (typeof value === "object" && value !== null && this.#written.get(value)?.values()) || [];
    if (index === undefined) {
      if (value instanceof JavaException) return this.exception(value);
      return this.#write(runtimeType(value), value instanceof TypedValue ? value.value : value);
    }
    this.#reference(index);
    return undefined;
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

  #container(type: Exclude<JavaType, string | { readonly enum: unknown }>, value: unknown): Steps<void> | undefined {
    if (isChars(type)) return this.#chars(toItems(value));
    if (this.#refer(value as object, structureName(type))) return undefined;
    this.#depth += 1;
    if (this.#depth > this.#maxDepth) throw new TypeError(`the value is more than ${this.#maxDepth} levels deep`);
    if ("class" in type) return this.#fields(type.class(), value);
    if ("map" in type) return this.#map(type.map, value);
    if ("list" in type) return this.#items(undefined, type.list, toItems(value));
    if ("set" in type) return this.#items("java.util.HashSet", type.set, toItems(value));
    return this.#items(hessianName(type), type.array, toItems(value));
  }

  *#chars(items: readonly unknown[]): Steps<void> {
    yield* this.#sink.longString(yield* joinChars(items, this.#counter));
  }

  /** Writes a reference if the value has already been written as this type. Otherwise assigns a reference number to it. */
  #refer(value: object, as: string): boolean {
    const written = this.#written.get(value);
    const index = written?.get(as);
    if (index !== undefined) {
      this.#reference(index);
      return true;
    }
    if (written === undefined) this.#written.set(value, new Map([[as, this.#references]]));
    else written.set(as, this.#references);
    this.#number();
    return false;
  }

  #reference(index: number): void {
    this.#sink.uint8(0x51);
    this.#sink.int(index);
  }

  #number(): void {
    this.#cost.addContainer(this.#limits);
    this.#references += 1;
  }

  *#items(name: string | undefined, type: JavaType, items: readonly unknown[]): Steps<void> {
    const { length } = items;
    this.#listHead(name, length);
    // By index: other code may change the length between two steps, and it has been written.
    for (let i = 0; i < length; i += 1) {
      if (this.#pauses()) yield undefined;
      const steps = this.write(type, items[i]);
      if (steps !== undefined) yield* steps;
    }
    this.#depth -= 1;
  }

  #listHead(name: string | undefined, length: number): void {
    const sink = this.#sink;
    const short = length < 8;
    sink.uint8((name === undefined ? (short ? 0x78 : 0x58) : short ? 0x70 : 0x56) + (short ? length : 0));
    if (name !== undefined) this.#numbered(this.#types, name);
    if (!short) this.#sink.int(length);
  }

  *#map([keyType, valueType]: readonly [JavaType, JavaType], value: unknown): Steps<void> {
    this.#sink.uint8(0x48);
    for (const [key, member] of toEntries(value)) {
      if (this.#pauses()) yield undefined;
      const keySteps = this.write(keyType, key);
      if (keySteps !== undefined) yield* keySteps;
      const steps = this.write(valueType, member);
      if (steps !== undefined) yield* steps;
    }
    this.#sink.uint8(0x5a);
    this.#depth -= 1;
  }

  *#fields({ name, fields }: JavaClass, value: unknown): Steps<void> {
    if (!isRecord(value)) throw new TypeError(`${show(value)} is not a valid ${name}`);
    const names = Object.keys(fields);
    this.#head(name, names);
    for (const field of names) {
      if (this.#pauses()) yield undefined;
      try {
        const steps = this.write(fields[field] as JavaType, memberOf(value, field));
        if (steps !== undefined) yield* steps;
      } catch (cause) {
        throw errorIn(`field "${field}"`, cause);
      }
    }
    this.#depth -= 1;
  }

  /** Writes an object to which there are no references. The object still takes a reference number. */
  #object(name: string, fields: readonly string[], writeValues: () => void): void {
    this.#number();
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
  #numbered(names: Map<string, number>, name: string): void {
    const number = names.get(name);
    if (number === undefined) {
      names.set(name, names.size);
      this.#sink.string(name);
    } else this.#sink.int(number);
  }

  /** Writes an exception. Java requires a stack trace; it is empty, because one of this process is meaningless to Java. */
  *exception(exception: JavaException): Steps<void> {
    const { className, detailMessage, fields, cause } = exception;
    if (this.#refer(exception, className)) return;
    const own = Object.entries(fields);
    this.#head(className, ["detailMessage", "cause", "stackTrace", ...own.map(([name]) => name)]);
    const steps = this.write("java.lang.String", detailMessage);
    if (steps !== undefined) yield* steps;
    if (cause instanceof JavaException) yield* this.exception(cause);
    else this.#sink.uint8(0x4e);
    this.#references += 1;
    this.#listHead("[java.lang.StackTraceElement", 0);
    for (const [name, value] of own) {
      try {
        const fieldSteps = this.write(ANY, value);
        if (fieldSteps !== undefined) yield* fieldSteps;
      } catch (reason) {
        throw errorIn(`field "${name}"`, reason);
      }
    }
  }
}
