/**
 * From inert data to values of declared types. Only classes that a signature or the registry declares become objects, with
 * the fields that are declared; every other name of a class is refused, whatever it is the name of.
 */
import { JavaException } from "../java/exception.ts";
import {
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
} from "../java/type.ts";
import type { JavaBuiltIn, JavaClass, JavaEnum, JavaPrimitive, JavaType } from "../signature.ts";
import { RawList, RawMap, RawObject, type RawValue } from "./raw.ts";

/** What is declared for every object that comes as an array, a list, a set or a map. */
const ANY: JavaType = "java.lang.Object";

export class Decoder {
  readonly #declared: DeclaredTypes;
  /** What containers have become, by what they were declared as: what is there twice stays the same object. */
  readonly #made = new Map<object, Map<unknown, unknown>>();
  #depth = 0;

  constructor(declared: DeclaredTypes) {
    this.#declared = declared;
  }

  decode(type: JavaType, raw: RawValue): unknown {
    if (raw === null) {
      if (type === "void") return undefined;
      if (isPrimitive(type)) throw new TypeError(`null is no ${type}`);
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
    if (type === "java.util.Date") return toDate(raw instanceof RawObject ? raw.get("value") : raw);
    if (type === "java.math.BigDecimal") return toDigits(type, raw instanceof RawObject ? raw.get("value") : raw);
    if (type === "java.math.BigInteger") return toBigInteger(raw);
    if (type === "java.lang.String" && typeof raw === "string") return raw;
    throw mismatch(type, raw);
  }

  /** A value of which nothing is declared: what it says itself, if that is nothing but data. */
  #any(raw: RawValue): unknown {
    if (raw instanceof RawList) return this.#container(ANY_LIST, raw);
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
    const made = this.#made.get(raw) ?? new Map<unknown, unknown>();
    this.#made.set(raw, made);
    const known = made.get(key);
    if (known !== undefined) return known;
    this.#depth += 1;
    if (this.#depth > MAX_DEPTH) throw new TypeError("the data refers to itself too deeply");
    const value = this.#make(type, raw, (value) => {
      made.set(key, value);
      return value;
    });
    this.#depth -= 1;
    return value;
  }

  /** Makes a container of its contents. `keep` makes it known before them, because they may refer to it. */
  #make(
    type: Exclude<JavaType, string | { readonly enum: unknown }>,
    raw: RawList | RawMap | RawObject,
    keep: <T>(value: T) => T,
  ): unknown {
    if ("class" in type) return this.#object(type.class(), raw, keep);
    if ("map" in type) return this.#map(type, raw, keep);
    if (!(raw instanceof RawList)) throw mismatch(type, raw);
    if ("set" in type) {
      const set = keep(new Set<unknown>());
      for (const item of raw.items) set.add(this.decode(type.set, item));
      return set;
    }
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
    const entries = function* (this: Decoder): Iterable<[unknown, unknown]> {
      for (const [key, value] of raw.entries) yield [this.decode(keyType, key), this.decode(valueType, value)];
    }.bind(this);
    if (type.record !== true) {
      const map = keep(new Map<unknown, unknown>());
      for (const [key, value] of entries()) map.set(key, value);
      return map;
    }
    const record = keep({});
    for (const [key, value] of entries()) setMember(record, String(key), value);
    return record;
  }

  /** Peers may send an object of a class that extends the declared one, if they have told us of it. */
  #object(declared: JavaClass, raw: RawList | RawMap | RawObject, keep: <T>(value: T) => T): unknown {
    const name = raw instanceof RawObject ? raw.definition.name : raw.type;
    const actual = name === undefined || name === declared.name ? declared : this.#declared.classes.get(name);
    if (raw instanceof RawList) throw mismatch({ class: () => declared }, raw);
    if (actual === undefined) throw undeclared(name ?? "");
    const object = keep({});
    for (const [field, type] of Object.entries(actual.fields)) {
      const value = raw instanceof RawObject ? raw.get(field) : findEntry(raw, field);
      // A peer whose class does not have the field yet, or any more, leaves it as Java would.
      const decoded =
        value === undefined ? initialValue(type) : within(`field "${field}"`, () => this.decode(type, value));
      setMember(object, field, decoded);
    }
    return object;
  }

  /** An exception and those that led to it. The names of its classes are words, so any will do. */
  decodeException(raw: RawValue, seen: readonly RawObject[] = []): JavaException {
    if (!(raw instanceof RawObject)) throw new TypeError("the data is no exception");
    const message = raw.get("detailMessage");
    const cause = raw.get("cause");
    // An exception that nothing led to is its own cause in Java.
    const chained = cause instanceof RawObject && cause !== raw && !seen.includes(cause) && seen.length < MAX_CAUSES;
    const fields: Record<string, unknown> = {};
    for (const [index, name] of raw.definition.fields.entries()) {
      if (!THROWABLE_FIELDS.has(name)) setMember(fields, name, this.#fieldOfException(raw.values[index] as RawValue));
    }
    return new JavaException(raw.definition.name, typeof message === "string" ? message : null, {
      fields,
      trace: toTrace(raw.get("stackTrace")),
      cause: chained ? this.decodeException(cause, [...seen, raw]) : undefined,
    });
  }

  /** Nobody declares what an exception holds. What is not plain data is left out, and does not hide the exception. */
  #fieldOfException(raw: RawValue): unknown {
    try {
      return this.#any(raw);
    } catch {
      return undefined;
    }
  }
}

/** One object each, because it is by these that containers are known again. */
const ANY_LIST = { list: ANY } as const;
const ANY_MAP = { map: [ANY, ANY] } as const;

/** Deeper than any data is; only references to what was declared as something else before could lead here. */
const MAX_DEPTH = 1000;

/** Classes whose objects are values of a type that TypeScript has as well. */
const VALUE_CLASSES: ReadonlyMap<string, JavaBuiltIn> = new Map<string, JavaBuiltIn>([
  ["java.math.BigDecimal", "java.math.BigDecimal"],
  ["java.math.BigInteger", "java.math.BigInteger"],
  ["java.sql.Date", "java.util.Date"],
  ["java.sql.Time", "java.util.Date"],
  ["java.sql.Timestamp", "java.util.Date"],
]);

/** More exceptions behind each other nobody reads. */
const MAX_CAUSES = 20;
const MAX_TRACE = 200;
const THROWABLE_FIELDS = new Set(["detailMessage", "cause", "stackTrace", "suppressedExceptions"]);

/** One line per call, as Java prints them. */
function toTrace(raw: RawValue | undefined): string[] {
  if (!(raw instanceof RawList)) return [];
  return raw.items.slice(0, MAX_TRACE).flatMap((item) => {
    if (!(item instanceof RawObject)) return [];
    const line = item.get("lineNumber");
    const place = [item.get("fileName") ?? "Unknown Source", ...(Number(line) > 0 ? [line] : [])];
    return [`${item.get("declaringClass")}.${item.get("methodName")}(${place.join(":")})`];
  });
}

function findEntry(raw: RawMap, name: string): RawValue | undefined {
  return raw.entries.find(([key]) => key === name)?.[1];
}

function toBytes(raw: RawValue): Uint8Array {
  if (raw instanceof Uint8Array) return raw;
  throw mismatch("[B", raw);
}

/** As many words of 32 bits as a peer may have a number consist of. */
const MAX_WORDS = 1024;

/** Java sends the fields of its class, the sign and the words of the magnitude; others send digits. */
function toBigInteger(raw: RawValue): string {
  if (!(raw instanceof RawObject)) return toDigits("java.math.BigInteger", raw);
  const [sign, words, digits] = [raw.get("signum"), raw.get("mag"), raw.get("value")];
  if (digits !== undefined) return toDigits("java.math.BigInteger", digits);
  if (!(words instanceof RawList) || words.items.length > MAX_WORDS) throw mismatch("java.math.BigInteger", raw);
  const hex = words.items.map((word) => ((toScalar("int", word) as number) >>> 0).toString(16).padStart(8, "0"));
  const magnitude = BigInt(`0x0${hex.join("")}`);
  return String(sign === -1 ? -magnitude : magnitude);
}

function mismatch(type: JavaType, raw: RawValue): TypeError {
  return new TypeError(`${kindOf(raw)} is no ${nameOf(type)}`);
}

/** Long names are nobody's. */
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
