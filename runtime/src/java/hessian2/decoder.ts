/**
 * Decodes raw data into values of declared types. Only classes that a signature or the registry declares become objects, with
 * their declared fields. Any other class name is refused, so that data cannot choose which class is instantiated.
 */
import { addAll, setAll } from "../collision-guard.ts";
import { Cost, type CostLimits } from "../cost.ts";
import type { JavaException } from "../exception.ts";
import type { JavaBuiltIn, JavaClass, JavaEnum, JavaPrimitive, JavaType } from "../signature.ts";
import {
  ANY,
  ANY_LIST,
  ANY_MAP,
  ANY_SET,
  type DeclaredTypes,
  initialValue,
  isBytes,
  isChars,
  isPrimitive,
  nameOf,
  scalarOf,
  setMember,
  toDate,
  toDigits,
  toEnum,
  toScalar,
  within,
} from "../type.ts";
import { ValueMemo } from "./memo.ts";
import { RawList, RawMap, RawObject, type RawValue } from "./raw.ts";
import { readThrowable } from "./throwable.ts";

/** The declared type of values in untyped arrays, lists, sets and maps. */

export class Hessian2Decoder {
  readonly #declared: DeclaredTypes;
  readonly #limits: CostLimits;
  readonly #cost: Cost;
  /** Decoded containers, so that an object that occurs twice in the data is decoded to one object. */
  #made = new ValueMemo();
  /** Errors of containers that could not be decoded. */
  readonly #failed = new ValueMemo();
  /** Decoded numbers and dates that are encoded as objects, so that references do not decode them again. */
  readonly #numbers = new ValueMemo();
  #depth = 0;

  constructor(declared: DeclaredTypes, limits: CostLimits = {}, cost: Cost = new Cost()) {
    this.#declared = declared;
    this.#limits = limits;
    this.#cost = cost;
  }

  decode(type: JavaType, raw: RawValue): unknown {
    this.#cost.addMade(1, this.#limits);
    if (raw === null) {
      if (type === "void") return undefined;
      if (isPrimitive(type)) throw new TypeError(`null is not a valid ${type}`);
      return null;
    }
    const scalar = scalarOf(type);
    if (scalar !== undefined) return toScalar(scalar, raw);
    if (isBytes(type)) return toBytes(raw);
    if (typeof type === "string") return this.#builtIn(type, raw);
    if ("enum" in type) return this.#enum(type.enum, raw);
    if (isChars(type) && typeof raw === "string") return raw.split("");
    return this.#container(type, raw);
  }

  #builtIn(type: JavaPrimitive | JavaBuiltIn, raw: RawValue): unknown {
    if (type === "java.lang.Object") return this.#any(raw);
    if (type === "java.lang.String" && typeof raw === "string") return raw;
    if (type !== "java.util.Date" && type !== "java.math.BigDecimal" && type !== "java.math.BigInteger") {
      throw mismatch(type, raw);
    }
    if (!(raw instanceof RawObject)) return type === "java.util.Date" ? toDate(raw) : toDigits(type, raw);
    return this.#once<string | Date>(raw, type, () => {
      if (type === "java.util.Date") return toDate(raw.get("value"));
      const digits = raw.get("value");
      if (type === "java.math.BigInteger" && digits === undefined) return this.#bigInteger(raw);
      return toDigits(type, digits);
    });
  }

  /**
   * Decodes a `BigInteger`. Java sends the fields of its class, the sign and the words of the magnitude; other peers send
   * digits.
   */
  #bigInteger(raw: RawObject): string {
    const [sign, words] = [raw.get("signum"), raw.get("mag")];
    if (!(words instanceof RawList) || words.items.length > MAX_WORDS) throw mismatch("java.math.BigInteger", raw);
    const digits = this.#once(words, "digits", () => {
      const hex = words.items.map((word) => ((toScalar("int", word) as number) >>> 0).toString(16).padStart(8, "0"));
      return String(BigInt(`0x0${hex.join("")}`));
    });
    return sign === -1 && digits !== "0" ? `-${digits}` : digits;
  }

  #once<T extends string | Date>(raw: RawObject | RawList, as: string, make: () => T): T {
    const known = this.#numbers.get(raw, as);
    if (known !== undefined) return known as T;
    const made = make();
    this.#numbers.set(raw, as, made);
    return made;
  }

  /** Decodes a value without a declared type. Objects of classes that are neither declared nor built in are refused. */
  #any(raw: RawValue): unknown {
    if (raw instanceof RawList) return this.#container(isSet(raw) ? ANY_SET : ANY_LIST, raw);
    if (raw instanceof RawMap) {
      const declared = raw.type === undefined ? undefined : this.#declared.classes.get(raw.type);
      return this.#container(declared === undefined ? ANY_MAP : { class: () => declared }, raw);
    }
    if (!(raw instanceof RawObject)) return raw;
    const { name } = raw.definition;
    const { classes, enums } = this.#declared;
    const declared = classes.get(name);
    if (declared !== undefined) return this.#container({ class: () => declared }, raw);
    const values = enums.get(name);
    if (values !== undefined) return this.#enum(values, raw);
    if (name === ENUM_SET) return this.#container(ANY_SET, raw);
    if (VALUE_CLASSES.has(name)) return this.#builtIn(VALUE_CLASSES.get(name) as JavaBuiltIn, raw);
    throw undeclared(name);
  }

  #enum(declared: JavaEnum, raw: RawValue): string {
    if (!(raw instanceof RawObject)) return toEnum(declared, raw);
    if (raw.definition.name === declared.name) return toEnum(declared, raw.get("name"));
    throw undeclared(raw.definition.name);
  }

  #container(type: Exclude<JavaType, string | { readonly enum: unknown }>, raw: RawValue): unknown {
    if (!(raw instanceof RawList || raw instanceof RawMap || raw instanceof RawObject)) throw mismatch(type, raw);
    const key = "class" in type ? type.class() : type;
    const known = this.#made.get(raw, key);
    if (known !== undefined) return known;
    const failed = this.#failed.get(raw, key);
    if (failed !== undefined) throw failed;
    if (this.#depth >= MAX_REFERENCE_DEPTH) throw new TypeError("the data refers to itself too deeply");
    this.#depth += 1;
    try {
      return this.#make(type, raw, (value) => {
        this.#made.set(raw, key, value);
        return value;
      });
    } catch (reason) {
      this.#failed.set(raw, key, reason);
      throw reason;
    } finally {
      this.#depth -= 1;
    }
  }

  /** Decodes a container. `keep` registers the container before its contents are decoded, because they may refer to it. */
  #make(
    type: Exclude<JavaType, string | { readonly enum: unknown }>,
    raw: RawList | RawMap | RawObject,
    keep: <T>(value: T) => T,
  ): unknown {
    if ("class" in type) return this.#object(type.class(), raw, keep);
    if ("map" in type) return this.#map(type, raw, keep);
    if ("set" in type) {
      const items = raw instanceof RawObject && raw.definition.name === ENUM_SET ? raw.get("objects") : raw;
      if (!(items instanceof RawList)) throw mismatch(type, raw);
      return addAll(keep(new Set<unknown>()), items.items, (item) => this.decode(type.set, item));
    }
    if (!(raw instanceof RawList)) throw mismatch(type, raw);
    const list = keep<unknown[]>([]);
    const itemType = "list" in type ? type.list : type.array;
    for (const item of raw.items) list.push(this.decode(itemType, item));
    return list;
  }

  #map(
    type: Extract<JavaType, { readonly map: unknown }>,
    raw: RawList | RawMap | RawObject,
    keep: <T>(value: T) => T,
  ): unknown {
    if (!(raw instanceof RawMap)) throw mismatch(type, raw);
    if (raw.type !== undefined && !raw.type.startsWith("java.util.")) throw undeclared(raw.type);
    const [keyType, valueType] = type.map;
    const entries = function* (this: Hessian2Decoder): Iterable<[unknown, unknown]> {
      for (const [key, value] of raw.entries) yield [this.decode(keyType, key), this.decode(valueType, value)];
    }.bind(this);
    if (type.record !== true) {
      return setAll(keep(new Map<unknown, unknown>()), entries());
    }
    const record = keep({});
    for (const [key, value] of entries()) setMember(record, String(key), value);
    return record;
  }

  /** Decodes an object of the declared class, or of a subclass that is declared too. */
  #object(declared: JavaClass, raw: RawList | RawMap | RawObject, keep: <T>(value: T) => T): unknown {
    const name = raw instanceof RawObject ? raw.definition.name : raw.type;
    const actual = name === undefined || name === declared.name ? declared : this.#declared.classes.get(name);
    if (raw instanceof RawList) throw mismatch({ class: () => declared }, raw);
    if (actual === undefined) throw undeclared(name ?? "");
    const object = keep({});
    for (const [field, type] of Object.entries(actual.fields)) {
      const value = raw instanceof RawObject ? raw.get(field) : findEntry(raw, field);
      // A peer with another version of the class may not send the field. It gets Java's initial value.
      if (value === undefined) this.#cost.addMade(1, this.#limits);
      const decoded =
        value === undefined ? initialValue(type) : within(`field "${field}"`, () => this.decode(type, value));
      setMember(object, field, decoded);
    }
    return object;
  }

  /** Decodes an exception. The fields of its class are not declared; those that are not plain data are left out. */
  decodeException(raw: RawValue): JavaException {
    return readThrowable(raw, (field) => {
      try {
        return this.decode(ANY, field);
      } catch {
        // Containers that were being decoded are incomplete, and decoded containers may refer to them.
        this.#made = new ValueMemo();
        return undefined;
      }
    });
  }
}

/** Constants, because containers are memoized by the identity of the declared type. */

/**
 * Deepest nesting accepted. It is more than the depth limit of the reader: only references under other declared types nest
 * deeper.
 */
const MAX_REFERENCE_DEPTH = 500;

/** Most 32-bit words accepted in a `BigInteger`. */
const MAX_WORDS = 1024;

/** The class of an encoded `EnumSet` in hessian-lite. Its fields are the type and the values. */
const ENUM_SET = "com.alibaba.com.caucho.hessian.io.EnumSetHandler";

/** Reports whether the type name of a list is that of a set in Java, such as `java.util.HashSet` or `java.util.TreeSet`. */
const isSet = ({ type = "" }: RawList): boolean => type.startsWith("java.util.") && type.endsWith("Set");

/** Java classes whose objects are decoded to a TypeScript value. */
const VALUE_CLASSES: ReadonlyMap<string, JavaBuiltIn> = new Map<string, JavaBuiltIn>([
  ["java.math.BigDecimal", "java.math.BigDecimal"],
  ["java.math.BigInteger", "java.math.BigInteger"],
  ["java.sql.Date", "java.util.Date"],
  ["java.sql.Time", "java.util.Date"],
  ["java.sql.Timestamp", "java.util.Date"],
]);

function findEntry(raw: RawMap, name: string): RawValue | undefined {
  return raw.entries.find(([key]) => key === name)?.[1];
}

function toBytes(raw: RawValue): Uint8Array {
  if (raw instanceof Uint8Array) return raw;
  throw mismatch("[B", raw);
}

function mismatch(type: JavaType, raw: RawValue): TypeError {
  return new TypeError(`${kindOf(raw)} is not a valid ${nameOf(type)}`);
}

/** Longest class name in an error message, in characters. Longer names are truncated. */
const MAX_SHOWN_NAME = 100;

function undeclared(name: string): TypeError {
  return new TypeError(`class ${JSON.stringify(name.slice(0, MAX_SHOWN_NAME))} is not declared`);
}

function kindOf(raw: RawValue): string {
  if (raw instanceof RawList) return "a list";
  if (raw instanceof RawMap) return "a map";
  if (raw instanceof RawObject) return "an object";
  if (raw instanceof Date) return "a date";
  return raw instanceof Uint8Array ? "a value of bytes" : `a value of type ${typeof raw}`;
}
