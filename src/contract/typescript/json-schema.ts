/** JSON Schemas (draft 2020-12) of the messages of contracts. */
import { BIGINT, DATE, INTEGER } from "../../triple-contract.ts";
import type { NamedType, ValueRules, WireType } from "./wire-type.ts";

/** Base64 in the standard alphabet (RFC 4648, section 4). */
const BASE64_PATTERN = "^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$";

export type JsonSchema = { [key: string]: unknown };

/** Returns the schema of a type. `refer` returns the reference to that of a declared type. */
export function jsonSchema(type: WireType, refer: (shape: NamedType) => JsonSchema): JsonSchema {
  const of = (inner: WireType): JsonSchema => jsonSchema(inner, refer);
  switch (type.kind) {
    case "string":
      return {
        type: "string",
        ...lengths(type.rules, "Length"),
        ...(type.rules.pattern && { pattern: type.rules.pattern }),
      };
    case "number": {
      const { min, max, int } = type.rules;
      return {
        type: int ? "integer" : "number",
        ...(min !== undefined && { minimum: min }),
        ...(max !== undefined && { maximum: max }),
      };
    }
    case "boolean":
      return { type: "boolean" };
    case "bigint":
      return { type: "string", pattern: BIGINT.source };
    case "date":
      return { type: "string", format: "date-time", pattern: DATE.source };
    case "bytes":
      return { type: "string", contentEncoding: "base64", pattern: BASE64_PATTERN };
    case "constant":
      return type.values.length === 1 ? { const: type.values[0] } : { enum: type.values };
    case "array":
      return { type: "array", items: of(type.item), ...lengths(type.rules, "Items") };
    case "tuple": {
      const { length } = type.items;
      return {
        type: "array",
        ...(length > 0 && { prefixItems: type.items.map(of) }),
        minItems: length,
        maxItems: length,
      };
    }
    case "record":
    case "map": {
      const { kind: key } = type.key;
      const pattern = key === "string" ? type.key.pattern : { number: INTEGER, bigint: BIGINT }[key].source;
      return { type: "object", additionalProperties: of(type.value), ...(pattern && { propertyNames: { pattern } }) };
    }
    case "object": {
      const required = type.fields.filter(({ isOptional }) => !isOptional).map(({ name }) => name);
      return {
        type: "object",
        properties: Object.fromEntries(
          type.fields.map((field) => [field.name, { ...of(field.type), ...descriptionOf(field.comment) }]),
        ),
        ...(required.length > 0 && { required }),
      };
    }
    case "union":
      return { anyOf: Array.from(type.types.values(), of) };
    case "tagged":
      return { oneOf: Array.from(new Set(type.types.map(([, one]) => one)), of) };
    case "named":
      return refer(type.shape);
  }
}

/** Returns the member with the text of a comment. */
export function descriptionOf(comment: readonly string[]): JsonSchema {
  return comment.length === 0 ? {} : { description: comment.join("\n") };
}

function lengths({ min, max }: ValueRules, unit: "Length" | "Items"): JsonSchema {
  return { ...(min !== undefined && { [`min${unit}`]: min }), ...(max !== undefined && { [`max${unit}`]: max }) };
}
