/** Prints the functions that convert and validate the values of types: calls of the functions of `triple-contract.ts`. */
import { literal, propertyKey } from "../../print/literal.ts";
import { type Constant, formOf, type NamedType, type ValueRules, type WireField, type WireType } from "./wire-type.ts";

/** Returns the name of the function of a declared type. */
type FunctionNames = (shape: NamedType) => string;

/** Prints a function that converts values of a type. */
export function converter(type: WireType, nameOf: FunctionNames, indent = ""): string {
  switch (type.kind) {
    case "named":
      return nameOf(type.shape);
    case "string":
    case "number":
      if (rulesOf(type.rules) === "") return `t.${type.kind}`;
      break;
    case "constant":
      if (type.values[0] === null) return "t.null";
      break;
    case "boolean":
    case "bigint":
    case "date":
    case "bytes":
      return `t.${type.kind}`;
  }
  return `(value, key, at) => ${conversion(type, "value", "key", nameOf, indent)}`;
}

/** Prints the conversion of a value. `value` and `key` are expressions. */
function conversion(type: WireType, value: string, key: string, nameOf: FunctionNames, indent: string): string {
  const of = (inner: WireType): string => converter(inner, nameOf, indent);
  const call = (name: string, ...more: string[]): string =>
    `${name}(${[value, key, "at", ...more.filter((one) => one !== "")].join(", ")})`;
  switch (type.kind) {
    case "string":
    case "number":
      return call(`t.${type.kind}`, rulesOf(type.rules));
    case "constant":
      if (type.values[0] === null) return call("t.null");
      return call("t.oneOf", `[${type.values.map(constant).join(", ")}]`);
    case "array":
      return call("t.array", of(type.item), rulesOf(type.rules));
    case "tuple":
      return call("t.tuple", `[${type.items.map(of).join(", ")}]`);
    case "record":
    case "map": {
      const { kind: key, pattern } = type.key;
      const keys = key === "string" ? expression(pattern) : { number: "t.INTEGER", bigint: "t.BIGINT" }[key];
      const toKey = type.kind === "record" ? "" : { string: "", number: "Number", bigint: "BigInt" }[key];
      return call(`t.${type.kind}`, of(type.value), keys, toKey);
    }
    case "object": {
      const fields = type.fields.map((field) => `${indent}  ${fieldCode(field, nameOf, `${indent}  `)},\n`);
      return call(
        "t.object",
        `(${fields.length === 0 ? "" : "fields"}) => ({${fields.length === 0 ? "" : `\n${fields.join("")}${indent}`}})`,
      );
    }
    case "union": {
      const [other, ...others] = [...type.types].filter(([form]) => form !== "null");
      if (type.types.has("null") && other !== undefined && others.length === 0) {
        return `t.isNull(${value}, at) ? null : ${conversion(other[1], value, key, nameOf, indent)}`;
      }
      const types = Array.from(type.types, ([form, one]) => `${form}: ${of(one)}`);
      return call("t.union", `{ ${types.join(", ")} }`, literal(describe(type)));
    }
    case "tagged": {
      const types = type.types.map(
        ([tag, one]) => `${indent}  [${constant(tag)}, ${converter(one, nameOf, `${indent}  `)}],\n`,
      );
      return call("t.tagged", literal(type.tag), `[\n${types.join("")}${indent}]`);
    }
    default:
      return call(of(type));
  }
}

function fieldCode({ name, type, isOptional }: WireField, nameOf: FunctionNames, indent: string): string {
  const key = literal(name);
  // An absent field must not be read from the prototype.
  const value =
    name in Object.prototype ? `(Object.hasOwn(fields, ${key}) ? fields[${key}] : undefined)` : `fields[${key}]`;
  if (isOptional) return `...t.optional(${value}, ${key}, at, ${converter(type, nameOf, indent)})`;
  return `${propertyKey(name)}: ${conversion(type, value, key, nameOf, indent)}`;
}

/** Prints rules as an object; an empty string without rules. */
function rulesOf({ min, max, int, pattern, format }: ValueRules): string {
  const rules = [
    min === undefined ? "" : `min: ${min}`,
    max === undefined ? "" : `max: ${max}`,
    int === undefined ? "" : "int: true",
    pattern === undefined ? "" : `pattern: ${expression(pattern)}`,
    format === undefined ? "" : `format: ${literal(format)}`,
  ].filter((rule) => rule !== "");
  return rules.length === 0 ? "" : `{ ${rules.join(", ")} }`;
}

function expression(pattern: string | undefined): string {
  return pattern === undefined ? "" : String(new RegExp(pattern, "u"));
}

function constant(value: Constant): string {
  return typeof value === "string" ? literal(value) : String(value);
}

const FORM_NAMES = {
  array: "an array",
  boolean: "a boolean",
  null: "null",
  number: "a number",
  object: "an object",
  string: "a string",
};

/** Describes the types of a union in an error. */
function describe(type: WireType): string {
  if (type.kind === "union") {
    const names = Array.from(type.types.values(), describe).sort((a, b) => Number(a === "null") - Number(b === "null"));
    return `${names.slice(0, -1).join(", ")} or ${names.at(-1)}`;
  }
  if (type.kind === "constant") return type.values.map(constant).join(" or ");
  return FORM_NAMES[formOf(type) as keyof typeof FORM_NAMES];
}
