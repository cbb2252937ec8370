/** Reads the classes and enums of contracts, each of them once. References between them may be circular. */
import {
  type ClassDeclaration,
  type EnumDeclaration,
  type InterfaceDeclaration,
  Node,
  type TypeAliasDeclaration,
} from "ts-morph";
import type { DataType } from "../model/contract.ts";
import type { Problems } from "../model/diagnostics.ts";
import { isClassName } from "../model/java-name.ts";
import {
  boxed,
  type ClassShape,
  type EnumShape,
  type Field,
  type Home,
  type JavaTypeModel,
  objectType,
  typeKey,
} from "../model/java-type.ts";
import { enumValues } from "./enum-values.ts";
import { ownFields } from "./field-reader.ts";
import { MAX_DEPTH } from "./nesting.ts";
import { homeOf, isMerged, resolve } from "./resolve.ts";
import { commentOf, hasTag, tagValue } from "./tags.ts";
import { type Declarations, type DeclaredType, type TypeContext, TypeReader } from "./type-reader.ts";

/** A declaration that can be tagged as a class or an enum of Java. */
export type ShapeDeclaration = InterfaceDeclaration | ClassDeclaration | TypeAliasDeclaration | EnumDeclaration;

type Shape = ClassShape | EnumShape;
type Filling = { -readonly [K in keyof ClassShape]: ClassShape[K] };

/** Maximum length of type arguments as text, in characters. It ends cycles whose type arguments grow with each step. */
const MAX_ARGUMENTS_LENGTH = 2_000;
/** Maximum number of type arguments. A chain of generic classes can double their number with each step. */
const MAX_ARGUMENTS = 500;

export class ShapeReader implements Declarations {
  readonly types: TypeReader;
  readonly #problems: Problems;
  readonly #shapes = new Map<ShapeDeclaration, Map<string, Shape | undefined>>();
  readonly #javaNames = new Map<string, Node>();
  /** Functions that read the fields of classes of which only the names have been read. */
  readonly #unread = new Map<Shape, () => void>();
  /** Classes whose fields are being read. None of them can be the base class of another. */
  readonly #open = new Set<Shape>();

  constructor(problems: Problems) {
    this.#problems = problems;
    this.types = new TypeReader(problems, this);
  }

  read(declared: DeclaredType, args: readonly DataType[], place: TypeContext, node: Node): DataType | undefined {
    const declaration = declared.declaration as ShapeDeclaration;
    const isAlias = Node.isTypeAliasDeclaration(declaration);
    if (isAlias && !hasTag(declaration, "class") && !hasTag(declaration, "enum")) return undefined;
    const home = homeOf(declaration, declared);
    if (place.isSignature && home.name === undefined) {
      const hint = "export it from its file, and outside of any namespace";
      this.#problems.error(node, `${declaration.getName()} cannot be imported as generated code must: ${hint}`);
    }
    const text: DataType["text"] = (names) =>
      args.length === 0
        ? names.exported(home)
        : `${names.exported(home)}<${args.map((arg) => arg.text(names)).join(", ")}>`;
    const java = args.map((arg) => boxed(arg.java));
    const shape = this.shapeOf(declaration, java, home);
    if (shape === undefined) return { java: objectType, text };
    return { java: shape.kind === "class" ? { kind: "class", shape, args: java } : { kind: "enum", shape }, text };
  }

  /** Iterates over all declarations, including those that are read during the iteration. */
  declarations(): Iterable<ShapeDeclaration> {
    return this.#shapes.keys();
  }

  /** Returns the shape of a declaration; `undefined` if it has none, which is reported as an error. */
  shapeOf(declaration: ShapeDeclaration, args: readonly JavaTypeModel[], home: Home): Shape | undefined {
    const known = this.#shapes.get(declaration) ?? new Map<string, Shape | undefined>();
    this.#shapes.set(declaration, known);
    const key = args.map(typeKey).join(", ");
    if (key.length > MAX_ARGUMENTS_LENGTH) {
      this.#problems.error(declaration, `${declaration.getName()} contains itself with ever longer type arguments`);
      return undefined;
    }
    if (known.has(key)) return known.get(key);
    if (known.size >= MAX_ARGUMENTS) {
      const limit = `more than ${MAX_ARGUMENTS} different type arguments`;
      this.#problems.error(
        declaration,
        `${declaration.getName()} is used with ${limit}; split it into several classes`,
      );
      return undefined;
    }
    known.set(key, undefined);
    if (Node.isEnumDeclaration(declaration) || hasTag(declaration, "enum")) {
      const shape = this.#enumShape(declaration, home);
      known.set(key, shape);
      return shape;
    }
    const shape = this.#classShape(declaration, home, args);
    known.set(key, shape);
    if (shape === undefined) return undefined;
    this.#unread.set(shape, () => this.#fill(shape, declaration, args));
    // Classes are read one after another instead of recursively, because a long chain of classes would overflow the
    // stack.
    if (this.#open.size === 0) for (const [one] of this.#unread) this.#readFields(one);
    return shape;
  }

  #readFields(shape: Shape): void {
    const fill = this.#unread.get(shape);
    this.#unread.delete(shape);
    fill?.();
  }

  #enumShape(declaration: ShapeDeclaration, home: Home): EnumShape | undefined {
    const javaName = this.#javaName(declaration, "enum");
    if (javaName === undefined) return undefined;
    const name = declaration.getName() ?? "";
    const values = enumValues(declaration, this.#problems);
    return { kind: "enum", node: declaration, home, name, javaName, comment: commentOf(declaration), values };
  }

  #classShape(declaration: ShapeDeclaration, home: Home, args: readonly JavaTypeModel[]): Filling | undefined {
    const javaName = this.#javaName(declaration, "class");
    const name = declaration.getName();
    if (name === undefined) this.#problems.error(declaration, "a class of the contracts needs a name");
    if (javaName === undefined || name === undefined) return undefined;
    const comment = commentOf(declaration);
    return {
      kind: "class",
      node: declaration,
      home,
      name,
      javaName,
      comment,
      args,
      base: undefined,
      ownFields: [],
      fields: [],
    };
  }

  #fill(shape: Filling, declaration: ShapeDeclaration, args: readonly JavaTypeModel[]): void {
    const parameters = Node.isEnumDeclaration(declaration) ? [] : declaration.getTypeParameters();
    const known = parameters.map((one, i): [Node, DataType] => [
      one,
      { java: args[i] ?? objectType, text: () => one.getName() },
    ]);
    this.#open.add(shape);
    const own = this.#fieldsOf(declaration, { parameters: new Map(known), isSignature: false }, shape);
    this.#open.delete(shape);
    const inherited = shape.base?.kind === "class" ? shape.base.shape.fields : [];
    const ownNames = new Set(own.map(({ name }) => name));
    shape.fields = [...inherited.filter(({ name }) => !ownNames.has(name)), ...own];
    const isInherited = (field: Field): boolean =>
      inherited.some(({ name, java }) => name === field.name && typeKey(java) === typeKey(field.java));
    shape.ownFields = own.filter((field) => !isInherited(field));
    for (const { name } of shape.ownFields.filter((field) => inherited.some((one) => one.name === field.name))) {
      this.#problems.error(declaration, `${shape.name} declares ${name} with another type than what it extends`);
    }
  }

  /** Returns the fields, including those of base types, but without those of the base class in Java. */
  #fieldsOf(declaration: Node, place: TypeContext, into: Filling): Field[] {
    const fields = new Map<string, Field>();
    for (const field of [
      ...this.#inheritedFields(declaration, place, into),
      ...ownFields(declaration, place, this.types, this.#problems),
    ]) {
      fields.set(field.name, field);
    }
    return [...fields.values()];
  }

  #inheritedFields(declaration: Node, place: TypeContext, into: Filling): readonly Field[] {
    const heritage = Node.isInterfaceDeclaration(declaration)
      ? declaration.getExtends()
      : Node.isClassDeclaration(declaration)
        ? [declaration.getExtends() ?? []].flat()
        : [];
    const { bases = [] } = place;
    return heritage.flatMap((clause) => {
      if (bases.length + this.#open.size > MAX_DEPTH) {
        this.#problems.error(clause, `more than ${MAX_DEPTH} classes extend each other here; use fewer of them`);
        return [];
      }
      const resolved = resolve(clause.getExpression());
      const base = resolved.kind === "declared" ? resolved.declaration : undefined;
      if (resolved.kind !== "declared" || !(Node.isInterfaceDeclaration(base) || Node.isClassDeclaration(base))) {
        this.#problems.error(clause, `${clause.getText()} is not an interface or class of a contract`);
        return [];
      }
      if (bases.includes(base)) {
        this.#problems.error(clause, `${base.getName()} extends itself in a cycle`);
        return [];
      }
      const args = this.types.readArguments(clause, resolved, clause.getTypeArguments(), place);
      if (args === undefined) return [];
      if (!hasTag(base, "class")) {
        return this.#fieldsOf(base, { ...place, parameters: args, bases: [...bases, declaration] }, into);
      }
      const java = this.read(resolved, [...args.values()], place, clause)?.java;
      if (java?.kind !== "class") return [];
      this.#readFields(java.shape);
      if (this.#open.has(java.shape)) {
        this.#problems.error(clause, `${base.getName()} extends itself in a cycle`);
        return [];
      }
      if (into.base !== undefined) return java.shape.fields;
      into.base = java;
      return [];
    });
  }

  #javaName(declaration: ShapeDeclaration, tag: "class" | "enum"): string | undefined {
    const name = declaration.getName() ?? "a class";
    const example = `@${tag} com.acme.${name}`;
    if (hasTag(declaration, "service")) {
      this.#problems.error(declaration, `${name} is a service, which cannot be passed or returned`);
      return undefined;
    }
    if (!hasTag(declaration, tag)) {
      this.#problems.error(declaration, `${name} is used as data, but has no tag with its Java name: ${example}`);
      return undefined;
    }
    const javaName = tagValue(declaration, tag, this.#problems);
    if (javaName === undefined) return undefined;
    if (!isClassName(javaName)) {
      this.#problems.error(declaration, `${javaName} is not the full name of a Java class, such as in ${example}`);
      return undefined;
    }
    if (isMerged(declaration)) this.#problems.error(declaration, `${name} is declared in several parts; merge them`);
    const before = this.#javaNames.get(javaName);
    if (before !== undefined && before !== declaration) {
      this.#problems.error(declaration, `${javaName} is already the name of another type of the contracts`);
    }
    this.#javaNames.set(javaName, before ?? declaration);
    return javaName;
  }
}
