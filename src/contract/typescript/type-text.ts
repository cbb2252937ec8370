/** Descriptions of types in comments. */
import type { WireType } from "./wire-type.ts";

/** Prints a type of TypeScript. */
export function typeText(type: WireType): string {
  const inside = (inner: WireType): string => {
    const text = typeText(inner);
    return text.includes(" | ") ? `(${text})` : text;
  };
  switch (type.kind) {
    case "date":
      return "Date";
    case "bytes":
      return "Uint8Array";
    case "constant":
      return type.values.map((value) => JSON.stringify(value)).join(" | ");
    case "array":
      return `${inside(type.item)}[]`;
    case "tuple":
      return `[${type.items.map(typeText).join(", ")}]`;
    case "record":
      return `Record<${type.key.kind}, ${typeText(type.value)}>`;
    case "map":
      return `Map<${type.key.kind}, ${typeText(type.value)}>`;
    case "object":
      return `{ ${type.fields.map((one) => `${one.name}${one.isOptional ? "?" : ""}: ${typeText(one.type)}`).join("; ")} }`;
    case "union":
      return Array.from(type.types.values(), typeText).join(" | ");
    case "tagged":
      return Array.from(new Set(type.types.map(([, one]) => one)), typeText).join(" | ");
    case "named":
      return type.shape.name;
    default:
      return type.kind;
  }
}

/** Describes the rules of a value. */
export function limitsOf(type: WireType): string[] {
  if (type.kind === "record" || type.kind === "map") {
    return type.key.pattern === undefined ? [] : [`keys match ${type.key.pattern}`];
  }
  if (type.kind !== "string" && type.kind !== "number" && type.kind !== "array") return [];
  const { min, max, int, pattern, format } = type.rules;
  const what = { string: "length ", number: "", array: "items " }[type.kind];
  return [
    ...(int ? ["an integer"] : []),
    ...(min === undefined ? [] : [`${what}at least ${min}`]),
    ...(max === undefined ? [] : [`${what}at most ${max}`]),
    ...(pattern === undefined ? [] : [format ?? `matches ${pattern}`]),
  ];
}
