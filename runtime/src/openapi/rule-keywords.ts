/** The names of standard rules of protovalidate, and the keywords of JSON Schema (draft 2020-12) with the same meaning. */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";

const escaped = (text: JsonValue): string => String(text).replaceAll(/[\\^$.*+?()[\]{}|/]/g, "\\$&");

const limit =
  (keyword: string) =>
  (value: JsonValue): JsonObject =>
    Number.isFinite(Number(value)) ? { [keyword]: Number(value) } : {};
const format = (name: string) => (): JsonObject => ({ format: name });

/** The keywords by the JSON names of rules. The others, such as those in CEL, are not described. */
const KEYWORDS: Readonly<Record<string, (value: JsonValue) => JsonObject>> = {
  const: (value) => ({ const: value }),
  in: (values) => ({ enum: values }),
  notIn: (values) => ({ not: { enum: values } }),
  gt: limit("exclusiveMinimum"),
  gte: limit("minimum"),
  lt: limit("exclusiveMaximum"),
  lte: limit("maximum"),
  len: (value) => ({ ...limit("minLength")(value), ...limit("maxLength")(value) }),
  minLen: limit("minLength"),
  maxLen: limit("maxLength"),
  // Patterns are those of RE2, of which some are no patterns of JavaScript, and so none of JSON Schema.
  pattern: (value) => (regexOf(String(value)) === undefined ? {} : { pattern: value }),
  prefix: (value) => ({ pattern: `^${escaped(value)}` }),
  suffix: (value) => ({ pattern: `${escaped(value)}$` }),
  contains: (value) => ({ pattern: escaped(value) }),
  notContains: (value) => ({ not: { pattern: escaped(value) } }),
  email: format("email"),
  hostname: format("hostname"),
  ipv4: format("ipv4"),
  ipv6: format("ipv6"),
  uri: format("uri"),
  uriRef: format("uri-reference"),
  uuid: format("uuid"),
  ip: () => ({ anyOf: [{ format: "ipv4" }, { format: "ipv6" }] }),
  address: () => ({ anyOf: [{ format: "hostname" }, { format: "ipv4" }, { format: "ipv6" }] }),
  minItems: limit("minItems"),
  maxItems: limit("maxItems"),
  unique: () => ({ uniqueItems: true }),
  minPairs: limit("minProperties"),
  maxPairs: limit("maxProperties"),
};

/** Returns the keywords of the rules of one kind. */
export function keywordsOf(rules: JsonObject): JsonObject {
  const known = Object.entries(rules).filter(([name, value]) => Object.hasOwn(KEYWORDS, name) && value !== false);
  const keywords = known.map(([name, value]) => KEYWORDS[name]?.(value) ?? {}).reduce(joinSchemas, {});
  const lower = Math.max(Number(keywords["minimum"] ?? -Infinity), Number(keywords["exclusiveMinimum"] ?? -Infinity));
  const upper = Math.min(Number(keywords["maximum"] ?? Infinity), Number(keywords["exclusiveMaximum"] ?? Infinity));
  if (lower <= upper) return keywords;
  // protovalidate then requires a value outside of the range.
  const { minimum: _1, exclusiveMinimum: _2, maximum: _3, exclusiveMaximum: _4, ...others } = keywords;
  return others;
}

/** Keywords of which a schema can have one; the bounds of a rule replace those of a type. */
const SINGLE = ["pattern", "not", "anyOf", "allOf", "enum"];

/** Joins two schemas, whose constraints both apply. */
export function joinSchemas(one: JsonObject, other: JsonObject): JsonObject {
  if (!SINGLE.some((name) => name in one && name in other)) return { ...one, ...other };
  return { ...one, allOf: [...((one["allOf"] as JsonObject[] | undefined) ?? []), other] };
}

/** Returns the regular expression of a pattern; `undefined` if it is none of JavaScript. */
export function regexOf(pattern: string): RegExp | undefined {
  try {
    return new RegExp(pattern, "u");
  } catch {
    return undefined;
  }
}

const lengthOf = (value: JsonValue): number => (Array.isArray(value) ? value.length : [...String(value)].length);
const equals = (one: JsonValue, other: JsonValue | undefined): boolean => JSON.stringify(one) === JSON.stringify(other);

/** Whether a value agrees with a keyword. Numbers of 64 bits are text. */
const CHECKS: Readonly<Record<string, (value: JsonValue, argument: never) => boolean>> = {
  const: equals,
  enum: (value, values: JsonValue[]) => values.some((one) => equals(value, one)),
  not: (value, schema: JsonObject) => !isValid(value, schema),
  allOf: (value, schemas: JsonObject[]) => schemas.every((schema) => isValid(value, schema)),
  anyOf: (value, schemas: JsonObject[]) => schemas.some((schema) => isValid(value, schema)),
  minimum: (value, bound: number) => Number(value) >= bound,
  exclusiveMinimum: (value, bound: number) => Number(value) > bound,
  maximum: (value, bound: number) => Number(value) <= bound,
  exclusiveMaximum: (value, bound: number) => Number(value) < bound,
  minLength: (value, bound: number) => lengthOf(value) >= bound,
  maxLength: (value, bound: number) => lengthOf(value) <= bound,
  minItems: (value, bound: number) => lengthOf(value) >= bound,
  minProperties: (value, bound: number) => Object.keys(value as object).length >= bound,
  pattern: (value, pattern: string) => regexOf(pattern)?.test(String(value)) === true,
  format: (value, name: string) => value !== "" || name === "uri-reference",
};

/** Reports whether a value agrees with the keywords of rules, except that it only finds empty text for a format. */
export function isValid(value: JsonValue, schema: JsonObject): boolean {
  return Object.entries(schema).every(([name, argument]) => CHECKS[name]?.(value, argument as never) !== false);
}
