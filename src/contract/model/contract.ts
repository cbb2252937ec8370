/** Contracts: services declared as interfaces of TypeScript, and the data they exchange. */
import type { Node } from "ts-morph";
import type { Documented } from "../../print/jsdoc.ts";
import type { ClassShape, EnumShape, Home, JavaTypeModel } from "./java-type.ts";

/** The declarations of one file. */
export interface Contract {
  /** The absolute path of the file. */
  readonly file: string;
  readonly services: readonly Service[];
  /** Classes, without the generic ones, and enums, in the order of the file. */
  readonly shapes: readonly (ClassShape | EnumShape)[];
  /**
   * Types that Java has to declare: also generic classes, and types of other files that this contract is the first to
   * use.
   */
  readonly declared: readonly (ClassShape | EnumShape)[];
}

export interface Service extends Documented {
  /** The declaration, for the positions of errors. */
  readonly node: Node;
  readonly name: string;
  /** The full name of the Java interface, which is the name on the wire. */
  readonly javaName: string;
  readonly group: string | undefined;
  readonly version: string | undefined;
  readonly serialization: string | undefined;
  readonly methods: readonly Method[];
}

export interface Method extends Documented {
  /** The declaration, for the positions of errors. */
  readonly node: Node;
  /** Its name in TypeScript. */
  readonly name: string;
  /** Its name in Java and on the wire. Overloads share it. */
  readonly javaName: string;
  readonly kind: "unary" | "server_streaming" | "client_streaming" | "bidi_streaming";
  /** A method that takes a stream has one parameter, with the type of one value. */
  readonly parameters: readonly MethodParameter[];
  /** `undefined` stands for `void`. For a stream, the type of one value. */
  readonly result: DataType | undefined;
  /** The full names of the exceptions that Java declares. */
  readonly exceptions: readonly string[];
}

export interface MethodParameter {
  readonly name: string;
  readonly isOptional: boolean;
  readonly type: DataType;
}

/** A type of a contract. */
export interface DataType {
  readonly java: JavaTypeModel;
  /** The type in TypeScript. */
  readonly text: (names: TypeNames) => string;
  /** True if the text needs parentheses before an operator such as `[]`. */
  readonly isCompound?: boolean;
  /** True if the text includes null. */
  readonly hasNull?: boolean;
}

/** Local names of imported types. */
export interface TypeNames {
  /** A type of `triple-es/java`, such as `int`. */
  brand(name: string): string;
  /** A type of a contract. */
  exported(home: Home): string;
}
