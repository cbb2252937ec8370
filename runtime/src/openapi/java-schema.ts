/**
 * JSON Schemas of interface methods: of the Java types in their signatures, in the JSON of sub-protocol A.
 */
import type { JsonObject } from "@bufbuild/protobuf";
import type { JavaClass, JavaPrimitive, JavaType, Parameter, Signature } from "../java/signature.ts";
import { isBytes, isChars, isPrimitive, scalarOf } from "../java/type.ts";
import { reference } from "./schema.ts";

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

/** Collects the schemas of classes in `schemas` and returns those of types. */
export class JavaSchemas {
  readonly #schemas: Map<string, JsonObject>;
  readonly #names = new Map<JavaClass, string>();

  constructor(schemas: Map<string, JsonObject>) {
    this.#schemas = schemas;
  }

  /** Returns the schema of a request: all arguments by position, or by the names of the parameters. */
  request({ parameters }: Signature): JsonObject {
    const { length } = parameters;
    const types = parameters.map(({ type }) => this.type(type));
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
  type(type: JavaType): JsonObject {
    const schema = this.#valueOf(type);
    const isAny = Object.keys(schema).length === 0;
    return isPrimitive(type) || isAny ? schema : { anyOf: [schema, { type: "null" }] };
  }

  #valueOf(type: JavaType): JsonObject {
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
    if ("map" in type) return { type: "object", additionalProperties: this.type(type.map[1]) };
    if ("class" in type) return this.#class(type.class());
    if ("set" in type) return { type: "array", items: this.type(type.set), uniqueItems: true };
    return { type: "array", items: this.type("list" in type ? type.list : type.array) };
  }

  #class(type: JavaClass): JsonObject {
    const known = this.#names.get(type);
    if (known !== undefined) return reference(known);
    // Names of components have no dollar sign. Classes with type arguments share one name in Java.
    const plain = type.name.replaceAll(/[^\w.-]/g, ".");
    let name = plain;
    for (let count = 2; this.#schemas.has(name); count++) name = `${plain}_${count}`;
    this.#names.set(type, name);
    this.#schemas.set(name, {});
    const fields = Object.entries(type.fields).map(([field, one]) => [field, this.type(one)]);
    this.#schemas.set(name, { type: "object", properties: Object.fromEntries(fields) });
    return reference(name);
  }
}

/** Returns an example of a request: all arguments by position. */
export function exampleOfArguments(parameters: readonly Parameter[]): (string | number | boolean | null)[] {
  return parameters.map(({ type }) => {
    const scalar = scalarOf(type);
    if (scalar === "boolean") return false;
    if (scalar === "char") return "a";
    if (scalar !== undefined) return 0;
    return type === "java.lang.String" ? "" : null;
  });
}
