/**
 * Conversion of messages between TypeScript values and JSON, with validation in both directions. Generated code of
 * `triple-es contract` imports this module, which the command copies into the output folder.
 */

/** Converts a value, or reports that the value at the key is invalid. */
export type Convert = (value: unknown, key: string | number, at: Conversion) => unknown;

/** An invalid value: its path below the message, and a text that begins with the whole path. */
export type Issue = readonly [field: string, text: string];

/** The conversion of one message. */
export interface Conversion {
  /** True from JSON to values, false from values to JSON. */
  readonly reads: boolean;
  /** The keys of the objects and arrays around the current value. */
  readonly path: (string | number)[];
  readonly issues: Issue[];
}

/** Rules of a value. `min` and `max` of a string or an array limit its length. */
export interface Rules {
  readonly min?: number;
  readonly max?: number;
  readonly int?: boolean;
  readonly pattern?: RegExp;
  /** The name of the pattern. */
  readonly format?: string;
}

/** Maximum number of issues. The conversion ends with the last one. */
const MAX_ISSUES = 32;
/** Maximum depth of a value. A value that contains itself exceeds it. */
const MAX_DEPTH = 100;

/** An instant of RFC 3339. `Date` accepts 31 days in each month. */
export const DATE: RegExp =
  /^\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])T([01]\d|2[0-3])(:[0-5]\d){2}(\.\d{1,9})?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$/;
/** An integer in text. The time to parse it is not linear, so the number of digits is limited. */
export const BIGINT: RegExp = /^(0|-?[1-9]\d{0,999})$/;
/** An integer in text that a number represents exactly. */
export const INTEGER: RegExp = /^(0|-?[1-9]\d{0,14})$/;
/** Matches each key. */
const ANY: RegExp = /(?:)/;
/** The characters of base64 (RFC 4648, section 4). A repeated group would exceed the stack of engines at 2.8 MB of bytes. */
const BASE64: RegExp = /^[A-Za-z0-9+/]*={0,2}$/;

/** The error of an invalid message. */
export class ContractError extends TypeError {
  readonly issues: readonly Issue[];
  constructor(issues: readonly Issue[]) {
    const shown = issues.slice(0, 3).map(([, text]) => text);
    super(shown.join("; ") + (issues.length > 3 ? `; and ${issues.length - 3} more` : ""));
    this.issues = issues;
  }
}

/** Creates the type of a message. Its name begins the paths in errors. */
export function message(
  name: string,
  convert: Convert,
): { toJson: (value: unknown) => unknown; fromJson: (json: unknown) => unknown } {
  const run = (value: unknown, reads: boolean): unknown => {
    const at: Conversion = { reads, path: [], issues: [] };
    const converted = convert(value, name, at);
    if (at.issues.length > 0) throw new ContractError(at.issues);
    return converted;
  };
  return { toJson: (value) => run(value, false), fromJson: (json) => run(json, true) };
}

/** The message of a method without a parameter or a result. */
export const nothing: ReturnType<typeof message> = { toJson: () => ({}), fromJson: () => ({}) };

export function string(value: unknown, key: string | number, at: Conversion, rules?: Rules): unknown {
  if (typeof value !== "string") return wrong(value, key, at, "a string");
  if (rules === undefined) return value;
  const { min = 0, max = Infinity, pattern, format } = rules;
  const { length } = value;
  // As in JSON Schema, the length is the number of code points, which are counted only where they decide.
  const isClear = length >= 2 * min && length <= max;
  const isLong = length > 2 * max;
  if (!isClear && isOutside(isLong ? length : [...value].length, key, at, min, max, "character")) return undefined;
  if (pattern?.test(value) === false) return wrong(value, key, at, format ?? `text that matches ${pattern}`);
  return value;
}

export function number(value: unknown, key: string | number, at: Conversion, rules?: Rules): unknown {
  if (typeof value !== "number") return wrong(value, key, at, "a number");
  if (!Number.isFinite(value)) return wrong(value, key, at, "a finite number");
  if (rules === undefined) return value;
  const { min = -Infinity, max = Infinity, int } = rules;
  if (int && !Number.isInteger(value)) return wrong(value, key, at, "an integer");
  if (value < min) return wrong(value, key, at, `at least ${min}`);
  return value > max ? wrong(value, key, at, `at most ${max}`) : value;
}

export function boolean(value: unknown, key: string | number, at: Conversion): unknown {
  return typeof value === "boolean" ? value : wrong(value, key, at, "a boolean");
}

/** An integer of any size: a string in JSON. */
export function bigint(value: unknown, key: string | number, at: Conversion): unknown {
  const text = at.reads ? value : typeof value === "bigint" && String(value);
  if (typeof text === "string" && BIGINT.test(text)) return at.reads ? BigInt(text) : text;
  return wrong(value, key, at, at.reads ? "a string with an integer" : "a bigint");
}

/** An instant: a date-time of RFC 3339 in JSON. */
export function date(value: unknown, key: string | number, at: Conversion): unknown {
  const isValid = value instanceof Date && !Number.isNaN(value.getTime());
  const text = at.reads ? value : isValid && value.toISOString();
  if (typeof text === "string" && DATE.test(text) && isDay(text.slice(0, 10))) return at.reads ? new Date(text) : text;
  return wrong(value, key, at, at.reads ? "a string with a date-time of RFC 3339" : "a Date of the years 0 to 9999");
}

/** Reports whether a month has the day. Engines take February 30 for March 2, or for no date. */
const isDay = (text: string): boolean => new Date(text).toJSON()?.startsWith(text) === true;

/** Bytes: base64 in JSON. */
export function bytes(value: unknown, key: string | number, at: Conversion): unknown {
  if (at.reads) {
    const isBase64 = typeof value === "string" && value.length % 4 === 0 && BASE64.test(value);
    if (!isBase64) return wrong(value, key, at, "a string with base64");
    return Uint8Array.from(atob(value), (character) => character.charCodeAt(0));
  }
  if (!(value instanceof Uint8Array)) return wrong(value, key, at, "a Uint8Array");
  let binary = "";
  for (const byte of value) binary += String.fromCharCode(byte);
  return btoa(binary);
}

/** Reports whether a value is null, or read from a field that is absent. */
export function isNull(value: unknown, at: Conversion): boolean {
  return value === null || isAbsent(value, at);
}

function nil(value: unknown, key: string | number, at: Conversion): unknown {
  return isNull(value, at) ? null : wrong(value, key, at, "null");
}

export { nil as null };

/** One of some constants. */
export function oneOf(value: unknown, key: string | number, at: Conversion, values: readonly unknown[]): unknown {
  if (values.includes(value)) return value;
  return wrong(value, key, at, values.map((one) => JSON.stringify(one)).join(" or "));
}

export function array(value: unknown, key: string | number, at: Conversion, item: Convert, rules: Rules = {}): unknown {
  const list = isAbsent(value, at) ? [] : value;
  if (!Array.isArray(list)) return wrong(value, key, at, "an array");
  const { min = 0, max = Infinity } = rules;
  if (isOutside(list.length, key, at, min, max, "item")) return undefined;
  return inside(key, at, () => Array.from(list, (one, index) => item(one, index, at)));
}

export function tuple(value: unknown, key: string | number, at: Conversion, items: readonly Convert[]): unknown {
  if (!Array.isArray(value)) return wrong(value, key, at, "an array");
  if (isOutside(value.length, key, at, items.length, items.length, "item")) return undefined;
  return inside(key, at, () => items.map((item, index) => item(value[index], index, at)));
}

/** An object with declared fields, which the function converts. It ignores others. */
export function object(
  value: unknown,
  key: string | number,
  at: Conversion,
  convert: (fields: Readonly<Record<string, unknown>>) => object,
): unknown {
  return isObject(value) ? inside(key, at, () => convert(value)) : wrong(value, key, at, "an object");
}

/** An optional field, to be spread into an object. */
export function optional(value: unknown, key: string, at: Conversion, convert: Convert): object | undefined {
  return value === undefined ? undefined : { [key]: convert(value, key, at) };
}

/** An object whose keys are not declared. They match the pattern. */
export function record(
  value: unknown,
  key: string | number,
  at: Conversion,
  item: Convert,
  pattern: RegExp = ANY,
): unknown {
  return object(isAbsent(value, at) ? {} : value, key, at, (fields) => {
    for (const name of Object.keys(fields)) isKey(name, at, pattern);
    return toRecord(Object.entries(fields), at, item);
  });
}

/** A `Map`: an object in JSON. `toKey` converts a key of JSON that matches the pattern. */
export function map(
  value: unknown,
  key: string | number,
  at: Conversion,
  item: Convert,
  pattern: RegExp = ANY,
  toKey: (key: string) => unknown = String,
): unknown {
  if (!at.reads) {
    if (!(value instanceof Map)) return wrong(value, key, at, "a Map");
    const entries = Array.from(value, ([one, content]): [string, unknown] => [String(one), content]);
    const invalid = entries.find(([one]) => !pattern.test(one));
    if (invalid !== undefined) return report(key, at, `must not have the key ${JSON.stringify(invalid[0])}`);
    return inside(key, at, () => toRecord(entries, at, item));
  }
  return object(isAbsent(value, at) ? {} : value, key, at, (fields) => {
    const names = Object.keys(fields);
    return new Map(names.map((name) => [isKey(name, at, pattern) && toKey(name), item(fields[name], name, at)]));
  });
}

/** Reports whether a name matches the pattern of keys, as an issue if not. */
function isKey(name: string, at: Conversion, pattern: RegExp): boolean {
  if (pattern.test(name)) return true;
  const isInteger = pattern === INTEGER || pattern === BIGINT;
  report(name, at, `must not be a key: it ${isInteger ? "is no integer" : `does not match ${pattern}`}`);
  return false;
}

/** A union of types of which each has another form in JSON. */
export function union(
  value: unknown,
  key: string | number,
  at: Conversion,
  types: Readonly<Record<string, Convert>>,
  names: string,
): unknown {
  const convert = types[isNull(value, at) ? "null" : formOf(value)];
  return convert === undefined ? wrong(value, key, at, names) : convert(value, key, at);
}

/** A union of objects, each with another constant in the field `tag`. */
export function tagged(
  value: unknown,
  key: string | number,
  at: Conversion,
  tag: string,
  types: readonly (readonly [constant: unknown, convert: Convert])[],
): unknown {
  if (!isObject(value)) return wrong(value, key, at, "an object");
  const given = Object.hasOwn(value, tag) ? value[tag] : undefined;
  const found = types.find(([constant]) => constant === given);
  if (found !== undefined) return found[1](value, key, at);
  const constants = types.map(([constant]) => constant);
  return inside(key, at, () => oneOf(given, tag, at, constants));
}

/** Reports whether a field is absent in JSON: ProtoJSON omits null, and arrays and maps without entries. */
function isAbsent(value: unknown, { reads, path }: Conversion): boolean {
  return value === undefined && reads && path.length > 0;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Returns the form of a value in JSON. */
function formOf(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  const isText = typeof value === "bigint" || value instanceof Date || value instanceof Uint8Array;
  return isText ? "string" : typeof value;
}

/** Creates an object with own properties. An assignment to `__proto__` would set its prototype. */
function toRecord(entries: readonly (readonly [string, unknown])[], at: Conversion, item: Convert): object {
  return Object.fromEntries(entries.map(([key, value]) => [key, item(value, key, at)]));
}

function inside<T>(key: string | number, at: Conversion, convert: () => T): T | undefined {
  if (at.path.length === MAX_DEPTH) return report(key, at, `is nested more than ${MAX_DEPTH} levels deep`);
  at.path.push(key);
  const converted = convert();
  at.path.pop();
  return converted;
}

function isOutside(
  length: number,
  key: string | number,
  at: Conversion,
  min: number,
  max: number,
  unit: string,
): boolean {
  const say = (limit: string, count: number): undefined =>
    report(key, at, `must have ${limit} ${count} ${unit}${count === 1 ? "" : "s"}`);
  if (length < min) say(min === max ? "exactly" : "at least", min);
  else if (length > max) say(min === max ? "exactly" : "at most", max);
  return length < min || length > max;
}

function wrong(value: unknown, key: string | number, at: Conversion, wanted: string): undefined {
  return report(key, at, value === undefined ? "is missing" : `must be ${wanted}`);
}

function report(key: string | number, { path, issues }: Conversion, problem: string): undefined {
  const [name, ...keys] = [...path, key];
  const field = keys
    .map((one) => (typeof one === "string" && /^[a-z_$][\w$]*$/i.test(one) ? `.${one}` : `[${JSON.stringify(one)}]`))
    .join("")
    .slice(0, 300);
  issues.push([field.replace(/^\./, ""), `${name}${field} ${problem}`]);
  if (issues.length === MAX_ISSUES) throw new ContractError(issues);
}
