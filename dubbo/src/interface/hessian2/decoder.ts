/**
 * Decodes raw data into values of declared types. Only classes that a signature or the registry declares become objects, with
 * their declared fields. Any other class name is refused, so that data cannot choose which class is instantiated.
 */
import { setEntry } from "triple-es/internal";
import { type Cost, LEAF, OBJECT } from "../cost.ts";
import type { JavaException } from "../exception.ts";
import type { JavaBuiltIn, JavaClass, JavaEnum, JavaPrimitive, JavaType } from "../signature.ts";
import {
  ANY,
  ANY_LIST,
  ANY_MAP,
  ANY_SET,
  createRecord,
  type DeclaredTypes,
  errorIn,
  initialValue,
  isBytes,
  isChars,
  isPrimitive,
  nameOf,
  scalarOf,
  toDate,
  toDigits,
  toEnum,
  toScalar,
} from "../type.ts";
import { ValueMemo } from "./memo.ts";
import { RawList, RawMap, RawObject, type RawValue } from "./raw.ts";
import { readThrowable } from "./throwable.ts";

export class Hessian2Decoder {
  readonly #declared: DeclaredTypes;
  readonly #cost: Cost;
  /** Decoded containers, so that an object that occurs twice in the data is decoded to one object. */
  #made = new ValueMemo();
  /** Errors of containers that could not be decoded. */
  readonly #failed = new ValueMemo();
  /** Decoded numbers and dates that are encoded as objects, so that references do not decode them again. */
  readonly #numbers = new ValueMemo();
  #depth = 0;

  constructor(declared: DeclaredTypes, cost: Cost) {
    this.#declared = declared;
    this.#cost = cost;
  }

  /** Decodes a value. The types of values that Java encodes as objects are not containers here. */
  value(type: JavaType, raw: RawValue): unknown {
    const container = isStructured(raw) ? this.#containerType(type, raw) : undefined;
    return container === undefined
      ? this.#plain(type, raw)
      : this.#container(container, raw as RawList | RawMap | RawObject);
  }

  /** Returns the type of the container to decode a value to; `undefined` for other values. */
  #containerType(type: JavaType, raw: RawList | RawMap | RawObject): ContainerType | undefined {
    if (type === "java.lang.Object") return this.#containerTypeOf(raw);
    return typeof type === "string" || "enum" in type || isBytes(type) ? undefined : type;
  }

  /** Decodes a value that contains no others. */
  #plain(type: JavaType, raw: RawValue): unknown {
    this.#cost.make(LEAF);
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
    if (isChars(type) && typeof raw === "string") {
      this.#cost.make(raw.length * LEAF);
      return raw.split("");
    }
    throw mismatch(type, raw);
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

  /** Returns the type of a container without a declared type; `undefined` for objects that represent other values. */
  #containerTypeOf(raw: RawList | RawMap | RawObject): ContainerType | undefined {
    if (raw instanceof RawList) return isSet(raw) ? ANY_SET : ANY_LIST;
    const name = raw instanceof RawMap ? raw.type : raw.definition.name;
    const declared = name === undefined ? undefined : this.#declared.classes.get(name);
    if (declared !== undefined) return { class: () => declared };
    if (raw instanceof RawMap) return ANY_MAP;
    return name === ENUM_SET && !this.#declared.enums.has(ENUM_SET) ? ANY_SET : undefined;
  }

  /** Decodes a value without a declared type. Objects of classes that are neither declared nor built in are refused. */
  #any(raw: RawValue): unknown {
    if (!(raw instanceof RawObject)) return raw;
    const { name } = raw.definition;
    const values = this.#declared.enums.get(name);
    if (values !== undefined) return this.#enum(values, raw);
    if (VALUE_CLASSES.has(name)) return this.#builtIn(VALUE_CLASSES.get(name) as JavaBuiltIn, raw);
    throw undeclared(name);
  }

  #enum(declared: JavaEnum, raw: RawValue): string {
    if (!(raw instanceof RawObject)) return toEnum(declared, raw);
    if (raw.definition.name === declared.name) return toEnum(declared, raw.get("name"));
    throw undeclared(raw.definition.name);
  }

  #container(type: ContainerType, raw: RawList | RawMap | RawObject): unknown {
    const key = "class" in type ? type.class() : type;
    this.#cost.make(LEAF);
    const known = this.#made.get(raw, key);
    if (known !== undefined) return known;
    const failed = this.#failed.get(raw, key);
    if (failed !== undefined) throw failed;
    if (this.#depth >= MAX_REFERENCE_DEPTH) throw new TypeError("the data refers to itself too deeply");
    this.#cost.make(OBJECT - LEAF);
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
  #make(type: ContainerType, raw: RawList | RawMap | RawObject, keep: Keep): unknown {
    if ("class" in type) return this.#object(type.class(), raw, keep);
    if ("map" in type) return this.#map(type, raw, keep);
    if ("set" in type) {
      const items = raw instanceof RawObject && raw.definition.name === ENUM_SET ? raw.get("objects") : raw;
      if (!(items instanceof RawList)) throw mismatch(type, raw);
      return this.#set(type.set, items, keep);
    }
    if (!(raw instanceof RawList)) throw mismatch(type, raw);
    return this.#list("list" in type ? type.list : type.array, raw, keep);
  }

  #list(type: JavaType, { items }: RawList, keep: Keep): unknown[] {
    const list = keep<unknown[]>([]);
    for (const item of items) list.push(this.value(type, item));
    return list;
  }

  #set(type: JavaType, { items }: RawList, keep: Keep): Set<unknown> {
    const set = keep(new Set<unknown>());
    for (const item of items) {
      const value = this.value(type, item);
      this.#cost.makeEntry(value, set.size);
      set.add(value);
    }
    return set;
  }

  #map(
    { map: [keyType, valueType], record }: Extract<JavaType, { readonly map: unknown }>,
    raw: RawList | RawMap | RawObject,
    keep: Keep,
  ): object {
    if (!(raw instanceof RawMap)) throw mismatch({ map: [keyType, valueType] }, raw);
    if (raw.type !== undefined && !raw.type.startsWith("java.util.")) throw undeclared(raw.type);
    const object = record === true ? keep(createRecord()) : undefined;
    const map = object === undefined ? keep(new Map<unknown, unknown>()) : new Map<unknown, unknown>();
    for (let i = 0; i < raw.entries.length; i += 2) {
      const key = this.value(keyType, raw.entries[i] as RawValue);
      this.#cost.makeEntry(object === undefined ? key : undefined, map.size);
      const value = this.value(valueType, raw.entries[i + 1] as RawValue);
      if (object === undefined) map.set(key, value);
      else setEntry(object, String(key), value);
    }
    return object ?? map;
  }

  /** Decodes an object of the declared class, or of a subclass that is declared too. */
  #object(declared: JavaClass, raw: RawList | RawMap | RawObject, keep: Keep): object {
    const name = raw instanceof RawObject ? raw.definition.name : raw.type;
    const actual = name === undefined || name === declared.name ? declared : this.#declared.classes.get(name);
    if (raw instanceof RawList) throw mismatch({ class: () => declared }, raw);
    if (actual === undefined) throw undeclared(name ?? "");
    const object = keep({});
    for (const [field, type] of Object.entries(actual.fields)) {
      const value = raw.get(field);
      // A peer with another version of the class may not send the field. It gets Java's initial value.
      if (value === undefined) {
        this.#cost.make(LEAF);
        setEntry(object, field, initialValue(type));
        continue;
      }
      try {
        setEntry(object, field, this.value(type, value));
      } catch (cause) {
        throw errorIn(`field "${field}"`, cause);
      }
    }
    return object;
  }

  /** Decodes an exception. The fields of its class are not declared; those that are not plain data are left out. */
  exception(raw: RawValue): JavaException {
    return readThrowable(raw, (field) => {
      try {
        return this.value(ANY, field);
      } catch {
        // Containers that were being decoded are incomplete, and decoded containers may refer to them.
        this.#made = new ValueMemo();
        return undefined;
      }
    });
  }
}

/** A type whose values contain others. */
type ContainerType = Exclude<JavaType, string | { readonly enum: unknown }>;

/** Registers a container and returns it. */
type Keep = <T>(container: T) => T;

function isStructured(raw: RawValue): raw is RawList | RawMap | RawObject {
  return raw instanceof RawList || raw instanceof RawMap || raw instanceof RawObject;
}

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
