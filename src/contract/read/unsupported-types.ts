/** The reasons why a type has no counterpart in Java, with the type to use instead. */
import { type Node, SyntaxKind } from "ts-morph";
import { suggestion } from "../../print/did-you-mean.ts";
import { brands, globals, JAVA_MODULE } from "../model/known-types.ts";

/** Returns the reason for a name that no contract declares. */
export function globalObjection(name: string): string {
  if (["Promise", "AsyncIterable"].includes(name)) return `${name} can only enclose the whole type`;
  if (["Function", "Symbol"].includes(name)) return "a function or symbol is not data";
  if (name === "Error")
    return "an exception is thrown, not passed; a method says so with @throws com.acme.SoldOutException";
  const instead = Object.hasOwn(replacements, name) ? replacements[name] : undefined;
  if (instead !== undefined) return `${name} is not a type of contracts; use ${instead}`;
  const close = suggestion(name, Object.keys(globals));
  if (brands.has(name) || name === "JavaArray") return `${name} must be imported from ${JAVA_MODULE}`;
  return `${name} is neither imported nor a type with a counterpart in Java${close}`;
}

/** Global types, each with the type that contracts use instead. */
const replacements: Readonly<Record<string, string>> = {
  ArrayBuffer: "Uint8Array",
  BigInt: "long",
  BigInt64Array: "JavaArray<long>",
  Boolean: "boolean",
  Buffer: "Uint8Array",
  Float32Array: "JavaArray<float>",
  Float64Array: "JavaArray<double>",
  Int16Array: "JavaArray<short>",
  Int32Array: "JavaArray<int>",
  Int8Array: "Uint8Array",
  Number: "double",
  Object: "unknown",
  String: "string",
};

/** Returns the reason for a kind of type syntax. */
export function objection(node: Node): string {
  switch (node.getKind()) {
    case SyntaxKind.VoidKeyword:
    case SyntaxKind.UndefinedKeyword:
      return `${node.getText()} can only be the result of a method: Promise<void>`;
    case SyntaxKind.LiteralType:
      return "Java has no literal types; for an enum, declare a union of strings with the tag @enum com.acme.Color";
    case SyntaxKind.TupleType:
      return "Java has no tuples; use an array, or an interface with the tag @class";
    case SyntaxKind.IntersectionType:
      return "Java has no intersections; declare an interface that extends both, with the tag @class";
    case SyntaxKind.FunctionType:
    case SyntaxKind.ConstructorType:
      return "a function is not data";
    case SyntaxKind.ObjectKeyword:
      return "object does not declare its contents; use unknown for java.lang.Object";
    case SyntaxKind.ImportType:
      return "import the type in a statement at the top of the file";
    default:
      return `Java has no counterpart of the type ${node.getText()}`;
  }
}
