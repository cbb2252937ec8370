/** The types of messages of contracts in TypeScript, as they travel in JSON. */
import type { Node } from "ts-morph";
import type { Documented } from "../../print/jsdoc.ts";
import type { MethodKind } from "../model/service-interfaces.ts";

export type Constant = string | number | boolean | null;

/** The forms of values in JSON. */
export type Form = "null" | "boolean" | "number" | "string" | "array" | "object";

/** The rules of a value, from tags of comments. `min` and `max` of a string or an array limit its length. */
export interface ValueRules {
  readonly min?: number;
  readonly max?: number;
  readonly int?: boolean;
  readonly pattern?: string;
  /** The name of the format whose pattern it is. */
  readonly format?: string;
}

export type WireType =
  | { readonly kind: "string" | "number"; readonly rules: ValueRules }
  | { readonly kind: "boolean" | "bigint" | "date" | "bytes" }
  /** Constants of one form. */
  | { readonly kind: "constant"; readonly values: readonly Constant[] }
  | { readonly kind: "array"; readonly item: WireType; readonly rules: ValueRules }
  | { readonly kind: "tuple"; readonly items: readonly WireType[] }
  | { readonly kind: "record" | "map"; readonly key: KeyType; readonly value: WireType }
  | { readonly kind: "object"; readonly fields: readonly WireField[] }
  /** Types that differ in their form. */
  | { readonly kind: "union"; readonly types: ReadonlyMap<Form, WireType> }
  /** Objects that differ in the constant of one field. */
  | { readonly kind: "tagged"; readonly tag: string; readonly types: readonly (readonly [Constant, WireType])[] }
  | { readonly kind: "named"; readonly shape: NamedType };

/** The type of the keys of a record or a map. */
export interface KeyType {
  readonly kind: "string" | "number" | "bigint";
  /** The expression that keys of strings match. */
  readonly pattern?: string | undefined;
}

export interface WireField {
  readonly name: string;
  readonly type: WireType;
  readonly isOptional: boolean;
  readonly comment: readonly string[];
}

/** A declared type. It may contain itself. */
export interface NamedType {
  /** The name, with those of type arguments. Several types may have the same. */
  readonly name: string;
  readonly comment: readonly string[];
  /** Set when the declaration has been read. */
  type: WireType;
}

/** The text of a type in a contract, with the names that it refers to. */
export interface TypeText {
  readonly text: string;
  /** The names, with their offsets in the text, in order. */
  readonly names: readonly { readonly start: number; readonly end: number; readonly home: TypeHome }[];
}

/** The module and the name from which to import a type. */
export interface TypeHome {
  /** A package, or the absolute path of a file. */
  readonly module: string;
  /** The exported name, which may be `default`. */
  readonly name: string;
  readonly localName: string;
}

/** A message: the parameter of a method, its result, or one value of a stream. */
export interface MessageType {
  readonly wire: WireType;
  readonly text: TypeText;
}

export interface ContractMethod extends Documented {
  readonly name: string;
  readonly kind: MethodKind;
  /** The name of the parameter. */
  readonly parameter: string;
  /** `undefined`: the method has no parameter. */
  readonly request: MessageType | undefined;
  /** `undefined`: the method returns nothing. */
  readonly response: MessageType | undefined;
}

export interface ContractService extends Documented {
  readonly node: Node;
  /** The name of the interface. */
  readonly name: string;
  /** The name on the wire. */
  readonly wireName: string;
  readonly methods: readonly ContractMethod[];
}

/** The services of one file. */
export interface TypeScriptContract {
  /** The absolute path of the file. */
  readonly file: string;
  readonly services: readonly ContractService[];
}

/** Returns the form of values of a type. Every type has one, except for a union. */
export function formOf(type: WireType): Form | "union" {
  switch (type.kind) {
    case "string":
    case "bigint":
    case "date":
    case "bytes":
      return "string";
    case "number":
    case "boolean":
    case "union":
      return type.kind;
    case "constant":
      return type.values[0] === null ? "null" : (typeof type.values[0] as Form);
    case "array":
    case "tuple":
      return "array";
    case "record":
    case "map":
    case "object":
    case "tagged":
      return "object";
    case "named":
      return formOf(type.shape.type);
  }
}
