/** JSON Schemas of interface methods: of the Java types in their signatures, in the JSON of sub-protocol A. */
import type { JsonObject } from "@bufbuild/protobuf";
import type { Method } from "triple-es";
import type { MessageSchemas, SharedSchemas } from "triple-es/internal";
import {
  type JavaClass,
  type JavaPrimitive,
  type JavaType,
  type Parameter,
  type Signature,
  signatureOf,
} from "./signature.ts";
import { isBytes, isChars, isPrimitive, scalarOf } from "./type.ts";

const integer = (bits: number): JsonObject => ({
  type: "integer",
  minimum: -(2 ** (bits - 1)),
  maximum: 2 ** (bits - 1) - 1,
});
const number = { anyOf: [{ type: "number" }, { type: "string", enum: ["NaN", "Infinity", "-Infinity"] }] };

const PRIMITIVES: Readonly<Record<JavaPrimitive, JsonObject>> = {
  boolean: { type: "boolean" },
  byte: integer(8),
  short: integer(16),
  int: integer(32),
  // Integers beyond 2^53 are texts, because most parsers lose their digits.
  long: { anyOf: [{ type: "integer" }, { type: "string", pattern: "^-?[0-9]+$" }] },
  float: number,
  double: number,
  char: { type: "string", minLength: 1, maxLength: 1 },
  void: { type: "null" },
};

/** Returns the schemas of a method's arguments and result. */
export function describeSignature(method: Method, shared: SharedSchemas): MessageSchemas {
  const signature = signatureOf(method);
  return {
    request: requestSchema(signature, shared),
    response: typeSchema(signature.result, shared),
    example: exampleOf(signature.parameters),
    note: "The method of an interface: its exceptions and attachments are not described.",
  };
}

/** Returns the schema of a request: all arguments by position, or by the names of the parameters. */
function requestSchema({ parameters }: Signature, shared: SharedSchemas): JsonObject {
  const { length } = parameters;
  const types = parameters.map(({ type }) => typeSchema(type, shared));
  const list: JsonObject = { type: "array", minItems: length, maxItems: length };
  if (length === 0) return list;
  const properties = Object.fromEntries(parameters.map(({ name }, index) => [name, types[index] as JsonObject]));
  const required = parameters.filter(({ type }) => isPrimitive(type)).map(({ name }) => name);
  return {
    anyOf: [
      { ...list, description: "All arguments by position.", prefixItems: types },
      {
        type: "object",
        description: "All arguments by the names of the parameters.",
        properties,
        ...(required.length > 0 ? { required } : {}),
      },
    ],
  };
}

/** Returns the schema of a value. All values but primitive ones can be null. */
function typeSchema(type: JavaType, shared: SharedSchemas): JsonObject {
  const schema = valueSchema(type, shared);
  const isAny = Object.keys(schema).length === 0;
  return isPrimitive(type) || isAny ? schema : { anyOf: [schema, { type: "null" }] };
}

function valueSchema(type: JavaType, shared: SharedSchemas): JsonObject {
  const scalar = scalarOf(type);
  if (scalar !== undefined) return PRIMITIVES[scalar];
  if (isBytes(type)) return { type: "array", items: PRIMITIVES.byte };
  if (isChars(type)) return { type: "string" };
  if (type === "java.lang.Object") return {};
  if (type === "java.util.Date") {
    return { type: "integer", format: "int64", description: "Milliseconds since 1970-01-01T00:00:00Z." };
  }
  if (typeof type === "string") return { type: "string" };
  if ("enum" in type) return { type: "string", enum: [...type.enum.values] };
  if ("map" in type) return { type: "object", additionalProperties: typeSchema(type.map[1], shared) };
  if ("class" in type) return classSchema(type.class(), shared);
  if ("set" in type) return { type: "array", items: typeSchema(type.set, shared), uniqueItems: true };
  return { type: "array", items: typeSchema("list" in type ? type.list : type.array, shared) };
}

function classSchema(type: JavaClass, shared: SharedSchemas): JsonObject {
  // Names of components have no dollar sign. Classes with type arguments share one name in Java.
  return shared.refer(type, type.name.replaceAll(/[^\w.-]/g, "."), () => {
    const fields = Object.entries(type.fields).map(([field, one]) => [field, typeSchema(one, shared)]);
    return { type: "object", properties: Object.fromEntries(fields) };
  });
}

/** Returns an example of a request: all arguments by position. */
function exampleOf(parameters: readonly Parameter[]): (string | number | boolean | null)[] {
  return parameters.map(({ type }) => {
    const scalar = scalarOf(type);
    if (scalar === "boolean") return false;
    if (scalar === "char") return "a";
    if (scalar !== undefined) return 0;
    return type === "java.lang.String" ? "" : null;
  });
}
