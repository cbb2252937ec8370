/** Contracts: services declared as TypeScript interfaces, and the data that they exchange. */
import type { Node } from "ts-morph";
import type { Documented } from "../../print/jsdoc.ts";
import type { ClassShape, EnumShape, Home, JavaTypeModel } from "./java-type.ts";
import type { MethodKind } from "./service-interfaces.ts";

/** The declarations of one file. */
export interface Contract {
  /** The absolute path of the file. */
  readonly file: string;
  readonly services: readonly Service[];
  /** Enums and non-generic classes, in the order of the file. */
  readonly shapes: readonly (ClassShape | EnumShape)[];
  /** Types that Java has to declare. They include generic classes, and types of other files that this contract uses first. */
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
  /** Its name in Java and on the wire. Overloads share this name. */
  readonly javaName: string;
  readonly kind: MethodKind;
  /** The parameters. A method that takes a stream has one parameter, whose type is that of one value. */
  readonly parameters: readonly MethodParameter[];
  /** The type of the result, or of one value of a resulting stream. `undefined` stands for `void`. */
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
  /** Returns the type as TypeScript text. */
  readonly text: (names: TypeNames) => string;
  /** True if the text needs parentheses before an operator such as `[]`. */
  readonly isCompound?: boolean;
  /** True if the text includes null. */
  readonly hasNull?: boolean;
}

/** The local names of imported types. */
export interface TypeNames {
  /** Returns the local name of a type of `triple-es-dubbo/java`, such as `int`. */
  brand(name: string): string;
  /** Returns the local name of a type of a contract. */
  exported(home: Home): string;
}
