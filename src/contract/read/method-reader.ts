/**
 * Reads the methods of services: names, parameters and results.
 */
import { type MethodSignature, Node, type ParameterDeclaration, type TypeNode } from "ts-morph";
import { isUnsafeMethodName } from "../../print/names.ts";
import type { DataType, Method, MethodParameter, Service } from "../model/contract.ts";
import type { Problems } from "../model/diagnostics.ts";
import { isAscii, isJavaName, notAscii } from "../model/java-name.ts";
import { boxed } from "../model/java-type.ts";
import { kindOf } from "../model/service-interfaces.ts";
import { resolve } from "./resolve.ts";
import { commentOf, deprecationOf, exceptionsOf, hasTag, parameterDocs, tagValue } from "./tags.ts";
import { type TypeContext, type TypeReader, unreadable } from "./type-reader.ts";

const signature: TypeContext = { parameters: new Map(), isSignature: true };

export class MethodReader {
  readonly #types: TypeReader;
  readonly #problems: Problems;

  constructor(types: TypeReader, problems: Problems) {
    this.#types = types;
    this.#problems = problems;
  }

  read(node: MethodSignature, service: Pick<Service, "javaName" | "deprecated">): Method {
    this.#checkForm(node);
    const { name, javaName } = this.#names(node);
    const parameters = node.getParameters().map((parameter) => this.#parameter(parameter));
    const takesStream = node.getParameters().some((parameter) => streamed(parameter.getTypeNode()) !== undefined);
    const answersStream = streamed(node.getReturnTypeNode()) !== undefined;
    return {
      node,
      name,
      javaName,
      kind: kindOf(takesStream, answersStream),
      parameters,
      result: this.#result(node),
      exceptions: exceptionsOf(node),
      origin: `method ${service.javaName}.${javaName}`,
      comment: paragraphs(commentOf(node), parameterDocs(node)),
      deprecated: service.deprecated || hasTag(node, "deprecated"),
      deprecation: deprecationOf(node),
    };
  }

  #checkForm(node: MethodSignature): void {
    if (node.hasQuestionToken()) this.#problems.error(node, "a method of a service cannot be optional");
    if (node.getTypeParameters().length > 0) {
      const hint = "use a type of its own, or unknown";
      this.#problems.error(node, `the type that a type parameter stands for is unknown on the wire; ${hint}`);
    }
    const parameters = node.getParameters();
    const stream = parameters.find((parameter) => streamed(parameter.getTypeNode()) !== undefined);
    if (stream !== undefined && parameters.length > 1) {
      this.#problems.error(stream, "a stream must be the only parameter of its method");
    }
    if (stream?.hasQuestionToken()) this.#problems.error(stream, "a stream cannot be optional");
    if (streamed(node.getReturnTypeNode()) !== undefined && parameters.length > 1) {
      this.#problems.error(node, "in Java, a method that returns a stream has at most one parameter");
    }
    const optional = parameters.findIndex((parameter) => parameter.hasQuestionToken());
    const required = parameters.find((parameter, i) => i > optional && !parameter.hasQuestionToken());
    if (optional >= 0 && required !== undefined) {
      const before = parameters[optional]?.getName();
      this.#problems.error(required, `${required.getName()} is required, but ${before} before it is not`);
    }
  }

  #names(node: MethodSignature): Pick<Method, "name" | "javaName"> {
    const nameNode = node.getNameNode();
    const name = nameNode.getText();
    const javaName = tagValue(node, "method", this.#problems) ?? name;
    if (!Node.isIdentifier(nameNode)) {
      this.#problems.error(nameNode, "a method needs a plain name; set another name for Java with @method");
    } else if (isUnsafeMethodName(name)) {
      const hint = `give it another name, and the tag @method ${name}`;
      this.#problems.error(nameNode, `a client cannot have a method ${name}: ${hint}`);
    } else if (!isJavaName(javaName)) {
      this.#problems.error(nameNode, `Java cannot have a method called ${javaName}`);
    } else if (!isAscii(javaName)) {
      this.#problems.error(nameNode, notAscii(javaName, "give it another name in Java, with the tag @method sayHi"));
    }
    return { name, javaName };
  }

  #parameter(node: ParameterDeclaration): MethodParameter {
    const name = node.getName();
    if (!Node.isIdentifier(node.getNameNode()) || name === "this" || node.isRestParameter()) {
      this.#problems.error(node, "a parameter needs a plain name, which is its name in Java");
    }
    const typeNode = node.getTypeNode();
    const value = streamed(typeNode);
    if (value !== undefined) return { name, isOptional: false, type: this.#streamedType(value) };
    if (typeNode === undefined) this.#problems.error(node, `${name} needs a type`);
    const type = typeNode === undefined ? unreadable : this.#types.read(typeNode, signature);
    const isOptional = node.hasQuestionToken();
    return { name, isOptional, type: isOptional ? { ...type, java: boxed(type.java) } : type };
  }

  #result(node: MethodSignature): DataType | undefined {
    const typeNode = node.getReturnTypeNode();
    const value = streamed(typeNode);
    if (value !== undefined) return this.#streamedType(value);
    if (typeNode?.getText() === "void") return undefined;
    const promised = argumentOf(typeNode, "Promise");
    if (promised === undefined) {
      const allowed = "a Promise<…>, an AsyncIterable<…> where it is a stream, or void";
      this.#problems.error(typeNode ?? node, `the result of a method is ${allowed}`);
    }
    return promised === undefined || promised.getText() === "void" ? undefined : this.#types.read(promised, signature);
  }

  /**
   * Reads the type of one value of a stream. Values of a stream are objects in Java, so the type is never primitive.
   */
  #streamedType(node: TypeNode): DataType {
    const type = this.#types.read(node, signature);
    return { ...type, java: boxed(type.java) };
  }
}

/** Returns the type of one value of a stream; `undefined` if the type is not a stream. */
function streamed(node: TypeNode | undefined): TypeNode | undefined {
  return argumentOf(node, "AsyncIterable");
}

/** Returns the type argument of a global generic type. */
function argumentOf(node: TypeNode | undefined, name: string): TypeNode | undefined {
  if (!Node.isTypeReference(node)) return undefined;
  const resolved = resolve(node.getTypeName());
  const [argument, ...others] = node.getTypeArguments();
  return resolved.kind === "global" && resolved.name === name && others.length === 0 ? argument : undefined;
}

function paragraphs(comment: readonly string[], tags: readonly string[]): string[] {
  return comment.length > 0 && tags.length > 0 ? [...comment, "", ...tags] : [...comment, ...tags];
}
