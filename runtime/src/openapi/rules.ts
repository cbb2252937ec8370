/**
 * The standard rules of protovalidate (`buf/validate/validate.proto`) as keywords of JSON Schema. The extension is that of the
 * file which the proto file imports, so that this package need not contain protovalidate.
 */
import {
  type DescEnum,
  type DescField,
  type DescFile,
  type DescOneof,
  getOption,
  hasOption,
  type JsonObject,
  type JsonValue,
  type Message,
  toJson,
} from "@bufbuild/protobuf";
import { FeatureSet_FieldPresence as Presence } from "@bufbuild/protobuf/wkt";
import { jsonNameOf, zeroOf } from "../codec/json-fields.ts";
import { isValid, joinSchemas, keywordsOf } from "./rule-keywords.ts";

/** The rules of the values of a field, or of its elements. */
export interface Rules {
  /** The keywords of the value. */
  readonly keywords: JsonObject;
  /** True if an absent value breaks a rule. */
  readonly isNeeded: boolean;
  /** The examples among the rules. */
  readonly examples: readonly JsonValue[];
  /** The rules of the elements of a list, or of the values of a map. */
  readonly elements: Rules | undefined;
  /** The rules of the keys of a map. */
  readonly keys: Rules | undefined;
}

/** Returns the rules of a field; `undefined` if it has none. */
export function rulesOf(field: DescField): Rules | undefined {
  const rules = optionOf(field, field.parent.file);
  if (rules === undefined || rules["ignore"] === "IGNORE_ALWAYS") return undefined;
  const isImplicit = field.fieldKind !== "message" && field.presence === Presence.IMPLICIT;
  return read(rules, field.enum, zeroOf(field), isImplicit);
}

/** Reports whether a member of a oneof must be set. */
export function isOneofNeeded(oneof: DescOneof): boolean {
  return optionOf(oneof, oneof.parent.file)?.["required"] === true;
}

/** Returns the option `(buf.validate.field)` or `(buf.validate.oneof)` in JSON, whose extension the file imports. */
function optionOf(described: DescField | DescOneof, file: DescFile): JsonObject | undefined {
  const extension = importedBy(file)?.extensions.find(({ typeName }) => typeName === `buf.validate.${described.kind}`);
  if (extension?.message === undefined || !hasOption(described, extension)) return undefined;
  return toJson(extension.message, getOption(described, extension) as Message) as JsonObject;
}

/** Finds the file of protovalidate among the imports of a file, and what they import publicly. */
function importedBy({ dependencies }: DescFile): DescFile | undefined {
  for (const file of dependencies) {
    if (file.proto.name === "buf/validate/validate.proto") return file;
    if (file.proto.publicDependency.length === 0) continue;
    const found = importedBy(file);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** The kinds of rules that JSON Schema can express. Those of bytes and of times have other values in JSON. */
const KINDS = /^(?:string|bool|enum|repeated|map|float|double|(?:u|s)?int(?:32|64)|s?fixed(?:32|64))$/;

function read(rules: JsonObject, type: DescEnum | undefined, zero: JsonValue | undefined, isImplicit: boolean): Rules {
  const kind = Object.keys(rules).find((name) => KINDS.test(name)) ?? "";
  const { items, keys, values, example = [], ...own } = (rules[kind] ?? {}) as JsonObject;
  const named = kind === "enum" ? inNames(own, type) : own;
  let keywords = keywordsOf(named);
  const required = rules["required"] === true;
  if (required && isImplicit && zero !== undefined) keywords = joinSchemas(keywords, nonZero(zero, keywords));
  // The other values of the option `ignore` are of zero values.
  if (rules["ignore"] !== undefined && !required && Object.keys(keywords).length > 0) {
    keywords = zero === undefined ? {} : { anyOf: [{ const: zero }, keywords] };
  }
  const inner = (items ?? values) as JsonObject | undefined;
  return {
    keywords,
    isNeeded: required || (isImplicit && zero !== undefined && !isValid(zero, keywords)),
    examples: example as JsonValue[],
    elements: inner && read(inner, type, undefined, false),
    keys: keys === undefined ? undefined : read(keys as JsonObject, undefined, undefined, false),
  };
}

/** Returns the keyword of a field whose zero value counts as absent, unless another keyword excludes it. */
function nonZero(zero: JsonValue, keywords: JsonObject): JsonObject {
  if (!isValid(zero, keywords)) return {};
  if (zero === "") return { minLength: 1 };
  if (Array.isArray(zero)) return { minItems: 1 };
  return typeof zero === "object" ? { minProperties: 1 } : { not: { const: zero } };
}

/** Replaces the numbers in the rules of an enum by their names. */
function inNames(rules: JsonObject, type: DescEnum | undefined): JsonObject {
  const names = new Map(type?.values.map((value) => [value.number, jsonNameOf(value)]));
  const nameOf = (value: JsonValue): JsonValue => names.get(Number(value)) ?? value;
  return Object.fromEntries(
    Object.entries(rules).map(([name, value]) => [name, Array.isArray(value) ? value.map(nameOf) : nameOf(value)]),
  );
}
