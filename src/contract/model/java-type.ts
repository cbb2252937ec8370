/** The Java types of contracts, and their literals in generated code. */
import type { Node } from "ts-morph";
import { literal } from "../../print/literal.ts";

export type JavaTypeModel =
  /** A primitive type or a class of the JDK, as `Class.getName` writes it. */
  | { readonly kind: "named"; readonly name: string }
  | { readonly kind: "list" | "set" | "array"; readonly element: JavaTypeModel }
  /** `isRecord` is true if the TypeScript type is an object instead of a `Map`. */
  | { readonly kind: "map"; readonly key: JavaTypeModel; readonly value: JavaTypeModel; readonly isRecord: boolean }
  /** `args` are the type arguments of a generic class. */
  | { readonly kind: "class"; readonly shape: ClassShape; readonly args: readonly JavaTypeModel[] }
  | { readonly kind: "enum"; readonly shape: EnumShape }
  /** A type parameter inside its generic class. */
  | { readonly kind: "variable"; readonly name: string };

/** The module and the name from which to import a type. */
export interface Home {
  /** The absolute path of the file that declares it. */
  readonly file: string;
  /** The exported name, which may be `default`; `undefined` if it is not exported. */
  readonly name: string | undefined;
  /** The declared name. */
  readonly declaredName: string;
  /** The package from which the contract imports the type; absent for a relative import. */
  readonly specifier?: string;
}

/** A Java class whose objects are data. */
export interface ClassShape {
  readonly kind: "class";
  /** The declaration, for the positions of errors. */
  readonly node: Node;
  readonly home: Home;
  readonly name: string;
  readonly javaName: string;
  readonly comment: readonly string[];
  /** The type arguments. In the declaration for Java, these are the type parameters. */
  readonly args: readonly JavaTypeModel[];
  /** The class it extends in Java. */
  readonly base: JavaTypeModel | undefined;
  /** The fields without those of the base. */
  readonly ownFields: readonly Field[];
  /** All fields; inherited fields come first. */
  readonly fields: readonly Field[];
}

export interface Field {
  readonly name: string;
  readonly comment: readonly string[];
  readonly java: JavaTypeModel;
}

export interface EnumShape {
  readonly kind: "enum";
  /** The declaration, for the positions of errors. */
  readonly node: Node;
  readonly home: Home;
  readonly name: string;
  readonly javaName: string;
  readonly comment: readonly string[];
  readonly values: readonly string[];
}

/** The boxed classes of primitive types. */
const boxes: ReadonlyMap<string, string> = new Map([
  ["boolean", "java.lang.Boolean"],
  ["byte", "java.lang.Byte"],
  ["short", "java.lang.Short"],
  ["int", "java.lang.Integer"],
  ["long", "java.lang.Long"],
  ["float", "java.lang.Float"],
  ["double", "java.lang.Double"],
  ["char", "java.lang.Character"],
]);

export function named(name: string): JavaTypeModel {
  return { kind: "named", name };
}

export const objectType: JavaTypeModel = named("java.lang.Object");

/** Returns the boxed type, for positions where null is possible or Java requires an object. */
export function boxed(type: JavaTypeModel): JavaTypeModel {
  return type.kind === "named" ? named(boxes.get(type.name) ?? type.name) : type;
}

export function listOf(element: JavaTypeModel): JavaTypeModel {
  return { kind: "list", element: boxed(element) };
}

export function setOf(element: JavaTypeModel): JavaTypeModel {
  return { kind: "set", element: boxed(element) };
}

export function mapOf(key: JavaTypeModel, value: JavaTypeModel, isRecord = false): JavaTypeModel {
  return { kind: "map", key: boxed(key), value: boxed(value), isRecord };
}

/** Returns the erasure of a type (JLS, section 4.6). Overloads must differ in their erasures. */
export function erasure(type: JavaTypeModel): string {
  switch (type.kind) {
    case "named":
      return type.name;
    case "list":
    case "set":
      return type.kind === "list" ? "java.util.List" : "java.util.Set";
    case "map":
      return "java.util.Map";
    case "array":
      return `${erasure(type.element)}[]`;
    case "class":
    case "enum":
      return type.shape.javaName;
    case "variable":
      return "java.lang.Object";
  }
}

/** Returns a key that identifies a type, including its type arguments. */
export function typeKey(type: JavaTypeModel): string {
  switch (type.kind) {
    case "list":
    case "set":
    case "array":
      return `${type.kind}<${typeKey(type.element)}>`;
    case "map":
      return `${type.isRecord ? "record" : "map"}<${typeKey(type.key)}, ${typeKey(type.value)}>`;
    case "class":
      return type.args.length === 0 ? erasure(type) : `${erasure(type)}<${type.args.map(typeKey).join(", ")}>`;
    case "variable":
      return `<${type.name}>`;
    default:
      return erasure(type);
  }
}

/** Sizes that are already computed. Types share their parts, so each size is computed once. */
const sizes = new WeakMap<JavaTypeModel, number>();

/** Returns the number of types in a type, including the type itself. */
export function sizeOf(type: JavaTypeModel): number {
  const known = sizes.get(type) ?? partsOf(type).reduce((sum, part) => sum + sizeOf(part), 1);
  sizes.set(type, known);
  return known;
}

/** Returns the types that a type refers to directly. */
export function partsOf(type: JavaTypeModel): readonly JavaTypeModel[] {
  switch (type.kind) {
    case "list":
    case "set":
    case "array":
      return [type.element];
    case "map":
      return [type.key, type.value];
    case "class":
      return type.args;
    default:
      return [];
  }
}

/** Returns the classes and enums that a type refers to. */
export function* shapesOf(type: JavaTypeModel): Generator<ClassShape | EnumShape> {
  if (type.kind === "class" || type.kind === "enum") yield type.shape;
  else for (const part of partsOf(type)) yield* shapesOf(part);
}

/** Prints the type as generated code passes it to the runtime: a name, or an object with its parts. */
export function typeLiteral(type: JavaTypeModel, constantOf: (shape: ClassShape | EnumShape) => string): string {
  const inner = (of: JavaTypeModel): string => typeLiteral(of, constantOf);
  switch (type.kind) {
    case "named":
      return literal(type.name);
    case "list":
    case "set":
    case "array":
      return `{ ${type.kind}: ${inner(type.element)} }`;
    case "map":
      return `{ map: [${inner(type.key)}, ${inner(type.value)}]${type.isRecord ? ", record: true" : ""} }`;
    case "class":
      return `{ class: () => ${constantOf(type.shape)} }`;
    case "enum":
      return `{ enum: ${constantOf(type.shape)} }`;
    case "variable":
      throw new Error(`the type parameter ${type.name} has no value`);
  }
}
