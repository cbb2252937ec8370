/** Reads types from their syntax, because a compiler resolves `long` and `int` to `bigint` and `number`. */
import { Node, SyntaxKind, type TypeNode, type TypeReferenceNode } from "ts-morph";
import { suggestion } from "../../print/did-you-mean.ts";
import { literal } from "../../print/literal.ts";
import type { DataType } from "../model/contract.ts";
import type { Problems } from "../model/diagnostics.ts";
import { boxed, listOf, mapOf, named, objectType } from "../model/java-type.ts";
import { brands, globals, JAVA_MODULE, keywords } from "../model/known-types.ts";
import { Nesting } from "./nesting.ts";
import { homeOf, type Resolved, resolve } from "./resolve.ts";
import { globalObjection, objection } from "./unsupported-types.ts";

/** The context of a type in a contract. */
export interface TypeContext {
  /** The type arguments for the surrounding type parameters. */
  readonly parameters: ReadonlyMap<Node, DataType>;
  /** True if generated code names the type, so that it must be exported. */
  readonly isSignature: boolean;
  /** Aliases that are being resolved. */
  readonly aliases?: readonly Node[];
  /** The nesting around the type; absent for an outermost type. */
  readonly nesting?: Nesting;
  /** The declarations that extend the current declaration and have no separate class in Java. */
  readonly bases?: readonly Node[];
}

/** Reads the declarations that types refer to. */
export interface Declarations {
  /** Reads a class or an enum. Returns `undefined` for a type alias that is neither. */
  read(declared: DeclaredType, args: readonly DataType[], place: TypeContext, node: Node): DataType | undefined;
}

export type DeclaredType = Extract<Resolved, { kind: "declared" }>;

/** A placeholder for a type with an error, so that reading continues and finds further errors. */
export const unreadable: DataType = { java: objectType, text: () => "unknown" };

export class TypeReader {
  readonly #problems: Problems;
  readonly #declarations: Declarations;

  constructor(problems: Problems, declarations: Declarations) {
    this.#problems = problems;
    this.#declarations = declarations;
  }

  read(node: TypeNode, around: TypeContext): DataType {
    const nesting = Nesting.inside(around.nesting);
    if (nesting.isTooMuch) return nesting.objection === undefined ? unreadable : this.refuse(node, nesting.objection);
    const type = this.#read(node, { ...around, nesting });
    const objection = Nesting.objectionTo(type.java);
    return objection === undefined ? type : this.refuse(node, objection);
  }

  /**
   * Reads the type arguments of a reference, with defaults for omitted ones. Returns `undefined` if there are too few
   * or too many.
   */
  readArguments(
    node: Node,
    { declaration }: DeclaredType,
    given: readonly TypeNode[],
    place: TypeContext,
  ): ReadonlyMap<Node, DataType> | undefined {
    const args = given.map((arg) => this.read(arg, place));
    const wanted = Node.isTypeParametered(declaration) ? declaration.getTypeParameters() : [];
    const required = wanted.filter((one) => one.getDefault() === undefined).length;
    if (args.length < required || args.length > wanted.length) {
      const count = required === wanted.length ? required : `${required} to ${wanted.length}`;
      this.refuse(node, `${node.getText().replace(/<.*/s, "")} takes ${count} type arguments, not ${args.length}`);
      return undefined;
    }
    const parameters = new Map<Node, DataType>();
    for (const [i, one] of wanted.entries()) {
      const left = one.getDefault();
      parameters.set(one, args[i] ?? (left === undefined ? unreadable : this.read(left, { ...place, parameters })));
    }
    return parameters;
  }

  #read(node: TypeNode, place: TypeContext): DataType {
    if (Node.isParenthesizedTypeNode(node)) return this.read(node.getTypeNode(), place);
    if (Node.isUnionTypeNode(node)) return this.#union(node, node.getTypeNodes(), place);
    if (Node.isTypeReference(node)) return this.#reference(node, place);
    if (Node.isArrayTypeNode(node)) return this.#array(node.getElementTypeNode(), place, "");
    if (Node.isTypeOperatorTypeNode(node)) {
      const inner = node.getTypeNode();
      if (node.getOperator() === SyntaxKind.ReadonlyKeyword && Node.isArrayTypeNode(inner)) {
        return this.#array(inner.getElementTypeNode(), place, "readonly ");
      }
    }
    if (Node.isTypeLiteral(node)) return this.#dictionary(node, place);
    const keyword = keywords.get(node.getKind());
    if (keyword === undefined) return this.refuse(node, objection(node));
    if (node.getKind() === SyntaxKind.NumberKeyword) {
      this.#problems.warn(
        node,
        `number is a double in Java; say so with double, or int and the like, of ${JAVA_MODULE}`,
      );
    }
    if (node.getKind() === SyntaxKind.AnyKeyword) {
      this.#problems.warn(
        node,
        "any is treated as unknown, which is java.lang.Object: its contents are not type-checked",
      );
    }
    const [text, java] = keyword;
    return { java: named(java), text: () => text, hasNull: text === "unknown" };
  }

  refuse(node: Node, message: string): DataType {
    this.#problems.error(node, message);
    return unreadable;
  }

  #array(element: TypeNode, place: TypeContext, modifier: "" | "readonly "): DataType {
    const of = this.read(element, place);
    return {
      java: listOf(of.java),
      text: (names) => `${modifier}${of.isCompound ? `(${of.text(names)})` : of.text(names)}[]`,
      isCompound: modifier !== "",
    };
  }

  #union(node: Node, parts: readonly TypeNode[], place: TypeContext): DataType {
    const nothings = parts.filter(isNothing);
    const [one, ...others] = parts.filter((part) => !isNothing(part));
    if (one === undefined) return this.refuse(node, "a type of null alone does not exist in Java; for no result, void");
    if (others.length > 0) {
      const areStrings = [one, ...others].every(
        (part) => Node.isLiteralTypeNode(part) && Node.isStringLiteral(part.getLiteral()),
      );
      return this.refuse(
        node,
        areStrings
          ? "an enum needs a name: declare the strings as a type of their own, with the tag @enum com.acme.Color"
          : "Java has no unions; only null or undefined may be joined to a type",
      );
    }
    const of = this.read(one, place);
    const hasNull = of.hasNull === true || nothings.some((part) => part.getText() === "null");
    if (!hasNull) this.#problems.warn(node, "undefined arrives as null: join null to the type");
    return {
      java: boxed(of.java),
      text: (names) => [of.text(names), ...nothings.map((part) => part.getText())].join(" | "),
      isCompound: true,
      hasNull,
    };
  }

  #dictionary(node: Node, place: TypeContext): DataType {
    const [member, ...others] = Node.isTypeLiteral(node) ? node.getMembers() : [];
    if (others.length > 0 || !Node.isIndexSignatureDeclaration(member)) {
      return this.refuse(node, "an object needs a name: declare it as an interface, with the tag @class com.acme.User");
    }
    if (member.getKeyTypeNode().getKind() !== SyntaxKind.StringKeyword) {
      return this.refuse(member, "an object has keys of string; for others there is Map");
    }
    const valueNode = member.getReturnTypeNode();
    const value = valueNode === undefined ? unreadable : this.read(valueNode, place);
    return {
      java: mapOf(named("java.lang.String"), value.java, true),
      text: (names) => `Record<string, ${value.text(names)}>`,
    };
  }

  #reference(node: TypeReferenceNode, place: TypeContext): DataType {
    const resolved = resolve(node.getTypeName());
    const args = node.getTypeArguments();
    switch (resolved.kind) {
      case "brand":
        return this.#brand(node, resolved.name, args, place);
      case "global":
        return this.#global(node, resolved.name, args, place);
      case "missing":
        return this.refuse(node, `${node.getText()} cannot be found: ${literal(resolved.module)} does not export it`);
      case "circular":
        return this.refuse(
          node,
          `${node.getText()} has no declaration: files re-export it from each other in a cycle that includes ${literal(resolved.module)}; declare it in one of them`,
        );
      case "declared":
        return this.#declared(node, resolved, args, place);
    }
  }

  #brand(node: Node, name: string, args: readonly TypeNode[], place: TypeContext): DataType {
    const java = brands.get(name);
    if (java !== undefined) return { java: named(java), text: (names) => names.brand(name) };
    const [element] = args;
    if (name !== "JavaArray") {
      const known = [...brands.keys(), "JavaArray"];
      return this.refuse(node, `${JAVA_MODULE} has no type ${name} for contracts${suggestion(name, known)}`);
    }
    if (element === undefined) return this.refuse(node, "JavaArray needs the type of its elements: JavaArray<int>");
    const of = this.read(element, place);
    if (of.java.kind === "named" && of.java.name === "byte") {
      return this.refuse(node, "an array of bytes is Uint8Array");
    }
    return {
      java: { kind: "array", element: of.java },
      text: (names) => `${names.brand("JavaArray")}<${of.text(names)}>`,
    };
  }

  #global(node: Node, name: string, args: readonly TypeNode[], place: TypeContext): DataType {
    const known = Object.hasOwn(globals, name) ? globals[name] : undefined;
    if (known === undefined) return this.refuse(node, globalObjection(name));
    const [count, java] = known;
    if (args.length !== count) return this.refuse(node, `${name} takes ${count} type arguments, not ${args.length}`);
    const [key] = args;
    if (name === "Record" && key?.getKind() !== SyntaxKind.StringKeyword) {
      return this.refuse(node, "a Record has keys of string; for others there is Map");
    }
    const of = args.map((arg) => this.read(arg, place));
    return {
      java: java(of[0]?.java ?? objectType, of[1]?.java ?? objectType),
      text: (names) => (of.length === 0 ? name : `${name}<${of.map((arg) => arg.text(names)).join(", ")}>`),
    };
  }

  #declared(node: Node, declared: DeclaredType, argNodes: readonly TypeNode[], place: TypeContext): DataType {
    const { declaration } = declared;
    if (Node.isTypeParameterDeclaration(declaration)) {
      const known = place.parameters.get(declaration);
      return known ?? this.refuse(node, `the type that ${declaration.getName()} stands for is unknown here`);
    }
    const args = this.readArguments(node, declared, argNodes, place);
    if (args === undefined) return unreadable;
    const data = this.#declarations.read(declared, [...args.values()], place, node);
    return data ?? (Node.isTypeAliasDeclaration(declaration) ? this.#alias(declared, args, place) : unreadable);
  }

  #alias(declared: DeclaredType, parameters: TypeContext["parameters"], place: TypeContext): DataType {
    const { declaration } = declared;
    const { aliases = [] } = place;
    const aliased = Node.isTypeAliasDeclaration(declaration) ? declaration.getTypeNode() : undefined;
    if (aliased === undefined || aliases.includes(declaration)) {
      return this.refuse(declaration, "a type alias cannot refer to itself; declare an interface instead");
    }
    const of = this.read(aliased, { ...place, parameters, aliases: [...aliases, declaration] });
    const home = homeOf(declaration, declared);
    return parameters.size > 0 || home.name === undefined
      ? of
      : { java: of.java, text: (names) => names.exported(home), hasNull: of.hasNull === true };
  }
}

function isNothing(node: Node): boolean {
  if (Node.isLiteralTypeNode(node)) return Node.isNullLiteral(node.getLiteral());
  return node.getKind() === SyntaxKind.UndefinedKeyword;
}
