/**
 * Examples of messages in ProtoJSON, with which pages fill their forms: every field with its zero value, or with
 * another one that agrees with its rules, one field of each oneof, and messages up to a small depth.
 */
import {
  type DescEnum,
  type DescField,
  type DescMessage,
  type JsonObject,
  type JsonValue,
  ScalarType,
} from "@bufbuild/protobuf";
import { jsonNameOf, zeroOfEnum, zeroOfScalar } from "../codec/json-fields.ts";
import { exampleOfPattern } from "./pattern-example.ts";
import { isValid } from "./rule-keywords.ts";
import { type Rules, rulesOf } from "./rules.ts";
import { wellKnown } from "./scalar.ts";

/** Maximum number of messages inside each other. */
const MAX_EXAMPLE_DEPTH = 3;
/** Maximum number of items of a list, and of characters for a minimum length. */
const MAX_EXAMPLE_ITEMS = 10;
const MAX_EXAMPLE_LENGTH = 200;

/** Returns an example of a message, or of some of its fields. */
export function exampleOf(
  type: DescMessage,
  fields: readonly DescField[] = type.fields,
  depth: number = MAX_EXAMPLE_DEPTH,
): JsonValue {
  const known = wellKnown(type);
  if (known !== undefined) return known.example;
  const example: JsonObject = {};
  for (const field of fields) {
    if (field.deprecated || (field.oneof !== undefined && field.oneof.fields[0] !== field)) continue;
    const value = exampleOfField(field, depth);
    if (value !== undefined) example[field.jsonName] = value;
  }
  return example;
}

/** Returns an example of the value of a field that agrees with its rules; `undefined` if it is a message that is too deep. */
export function exampleOfField(field: DescField, depth: number = MAX_EXAMPLE_DEPTH): JsonValue | undefined {
  const rules = rulesOf(field);
  const isSingle = field.fieldKind !== "list" && field.fieldKind !== "map";
  const value = exampleOfValue(field, isSingle ? rules : rules?.elements, depth);
  if (isSingle) return value;
  if (field.fieldKind === "map") {
    if (rules?.keywords["minProperties"] === undefined || value === undefined) return {};
    return { [String(conforming(zeroOfScalar(field.mapKey), rules.keys))]: value };
  }
  const least = Number(rules?.keywords["minItems"] ?? (field.listKind === "message" ? 1 : 0));
  return value === undefined ? [] : Array(Math.min(least, MAX_EXAMPLE_ITEMS)).fill(value);
}

/** Returns an example of one value of a field. */
function exampleOfValue(
  { message, enum: type, scalar }: DescField,
  rules: Rules | undefined,
  depth: number,
): JsonValue | undefined {
  if (message !== undefined) {
    return depth > 0 ? conforming(exampleOf(message, message.fields, depth - 1), rules) : undefined;
  }
  return conforming(type === undefined ? zeroOfScalar(scalar ?? ScalarType.STRING) : zeroOfEnum(type), rules, type);
}

const FORMAT_EXAMPLES: Readonly<Record<string, string>> = {
  email: "name@example.com",
  hostname: "example.com",
  ipv4: "192.0.2.1",
  ipv6: "2001:db8::1",
  uri: "https://example.com/",
  "uri-reference": "",
  uuid: "00000000-0000-4000-8000-000000000000",
};

/** Returns the value, or the first other one that agrees with the rules, if one is found. */
function conforming(value: JsonValue, rules: Rules | undefined, type?: DescEnum): JsonValue {
  if (rules === undefined) return value;
  const { keywords, examples } = rules;
  const candidates = [...examples, value, ...(type?.values.map(jsonNameOf) ?? []), ...valuesNear(value, keywords)];
  return candidates.find((candidate) => isValid(candidate, keywords)) ?? value;
}

/** Returns values of the same type as the zero value, some of which may agree with the keywords. */
function valuesNear(zero: JsonValue, keywords: JsonObject): JsonValue[] {
  const { allOf = [], anyOf = [], enum: listed = [], const: fixed } = keywords;
  const inner = [...(allOf as JsonObject[]), ...(anyOf as JsonObject[])];
  return [
    ...(fixed === undefined ? (listed as JsonValue[]) : [fixed]),
    ...inner.flatMap((one) => valuesNear(zero, one)),
    ...(zero === false ? [true] : zero === "" ? textsNear(keywords) : numbersNear(zero, keywords)),
  ];
}

function textsNear({ format, pattern, allOf = [], minLength = 0 }: JsonObject): JsonValue[] {
  const length = Math.min(Number(minLength), MAX_EXAMPLE_LENGTH);
  const named = FORMAT_EXAMPLES[String(format)];
  const patterns = [pattern, ...(allOf as JsonObject[]).map((one) => one["pattern"])].filter(
    (one) => one !== undefined,
  );
  // A prefix first, and a suffix last.
  const place = (one: JsonValue): number => (String(one).startsWith("^") ? 0 : String(one).endsWith("$") ? 2 : 1);
  const inOrder = patterns.map(String).sort((a, b) => place(a) - place(b));
  const matching = [0, 1, length].map((extra) => inOrder.map((one) => exampleOfPattern(one, extra)).join(""));
  const longer = matching.flatMap((text) => [text.padEnd(length, "a"), text.padStart(length, "a")]);
  return [...(named === undefined ? [] : [named]), ...matching, ...longer, "a".repeat(Math.max(length, 1))];
}

function numbersNear(zero: JsonValue, keywords: JsonObject): JsonValue[] {
  const { minimum, exclusiveMinimum, maximum, exclusiveMaximum, not } = keywords;
  const low = Number(minimum ?? exclusiveMinimum ?? 0);
  const high = Number(maximum ?? exclusiveMaximum ?? low);
  const { enum: excluded = [] } = (not ?? {}) as JsonObject;
  const above = Array.from({ length: (excluded as JsonValue[]).length + 2 }, (_, index) => low + index);
  const numbers = [...above, high, high - 1, (low + high) / 2];
  return typeof zero === "string" ? numbers.map(String) : numbers;
}
