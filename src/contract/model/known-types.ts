/** Types that need no declaration: those of TypeScript, and Java types that TypeScript lacks. */
import { SyntaxKind } from "ts-morph";
import { type JavaTypeModel, listOf, mapOf, named, setOf } from "./java-type.ts";

/** Type keywords, each with its text in generated code and its Java type. */
export const keywords: ReadonlyMap<SyntaxKind, readonly [text: string, java: string]> = new Map([
  [SyntaxKind.StringKeyword, ["string", "java.lang.String"]],
  [SyntaxKind.BooleanKeyword, ["boolean", "boolean"]],
  [SyntaxKind.NumberKeyword, ["number", "double"]],
  [SyntaxKind.BigIntKeyword, ["bigint", "long"]],
  [SyntaxKind.UnknownKeyword, ["unknown", "java.lang.Object"]],
  [SyntaxKind.AnyKeyword, ["unknown", "java.lang.Object"]],
]);

/** The module of {@link brands}. The reader recognizes it by its name, so it need not be installed. */
export const JAVA_MODULE = "triple-es-dubbo/java";

/** The Java types of the brands in that module, except `JavaArray`. */
export const brands: ReadonlyMap<string, string> = new Map([
  ["byte", "byte"],
  ["short", "short"],
  ["int", "int"],
  ["long", "long"],
  ["float", "float"],
  ["double", "double"],
  ["char", "char"],
  ["BigDecimal", "java.math.BigDecimal"],
  ["BigInteger", "java.math.BigInteger"],
]);

type Make = (first: JavaTypeModel, second: JavaTypeModel) => JavaTypeModel;

/** Global types, each with its number of type arguments and its Java type. */
export const globals: Readonly<Record<string, readonly [count: 0 | 1 | 2, java: Make]>> = {
  Date: [0, () => named("java.util.Date")],
  Uint8Array: [0, () => named("[B")],
  Array: [1, listOf],
  ReadonlyArray: [1, listOf],
  Set: [1, setOf],
  ReadonlySet: [1, setOf],
  Map: [2, (key, value) => mapOf(key, value)],
  ReadonlyMap: [2, (key, value) => mapOf(key, value)],
  Record: [2, (key, value) => mapOf(key, value, true)],
};
