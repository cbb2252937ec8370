/** Reads the services of a contract: exported interfaces with the tag `@service`. */
import {
  type InterfaceDeclaration,
  type MethodSignature,
  Node,
  type ParameterDeclaration,
  type TypeNode,
} from "ts-morph";
import { unsafeMethodNames } from "../names.ts";
import type { Method, Parameter, Service } from "./contract.ts";
import { isClassName, isJavaName } from "./java-name.ts";
import { boxed, erasure } from "./java-type.ts";
import type { Problems } from "./problem.ts";
import { homeOf, isMerged, resolve } from "./resolve.ts";
import { commentOf, deprecationOf, hasTag, parameterDocs, tagValue } from "./tags.ts";
import type { Place, TypeReader } from "./type-reader.ts";

const signature: Place = { parameters: new Map(), isSignature: true };

/** Reads the service; `undefined` if its name cannot be known. */
export function readService(node: InterfaceDeclaration, types: TypeReader, problems: Problems): Service | undefined {
  const javaName = tagValue(node, "service", problems);
  if (javaName === undefined) return undefined;
  if (!isClassName(javaName)) problems.error(node, `${javaName} is no full name of a Java interface`);
  if (isMerged(node)) problems.error(node, `${node.getName()} is declared in several parts; make it one`);
  if (homeOf(node, {}).name === undefined) {
    problems.error(node, `${node.getName()} is a service and must be exported by its name`);
  }
  if (node.getTypeParameters().length > 0) problems.error(node, "a service has no type parameters");
  const deprecated = hasTag(node, "deprecated");
  const declared = methodsOf(node, problems, []);
  const methods = declared.map((method) => readMethod(method, { javaName, deprecated }, types, problems));
  checkOverloads(declared, methods, problems);
  return {
    name: node.getName(),
    javaName,
    group: tagValue(node, "group", problems),
    version: tagValue(node, "version", problems),
    serialization: tagValue(node, "serialization", problems),
    methods,
    origin: `interface ${javaName}`,
    comment: commentOf(node),
    deprecated,
    deprecation: deprecationOf(node),
  };
}

/** All methods, inherited ones first. */
function methodsOf(
  node: InterfaceDeclaration,
  problems: Problems,
  path: readonly InterfaceDeclaration[],
): MethodSignature[] {
  if (path.includes(node)) {
    problems.error(node, `${node.getName()} extends what extends it`);
    return [];
  }
  const inherited = node.getExtends().flatMap((clause) => {
    const resolved = resolve(clause.getExpression());
    const base = resolved.kind === "declared" ? resolved.declaration : undefined;
    if (Node.isInterfaceDeclaration(base) && base.getTypeParameters().length === 0) {
      return methodsOf(base, problems, [...path, node]);
    }
    problems.error(clause, `a service can extend interfaces without type parameters; ${clause.getText()} is none`);
    return [];
  });
  const own = node.getMembers().filter((member): member is MethodSignature => {
    if (Node.isMethodSignature(member)) return true;
    const { name, form } = Node.isPropertySignature(member)
      ? { name: member.getName(), form: "name(parameters): Promise<Result>" }
      : { name: "this", form: "nothing but methods" };
    problems.error(member, `a service has methods only: write ${name} as ${form}`);
    return false;
  });
  const ownNames = new Set(own.map((method) => method.getName()));
  return [...inherited.filter((method) => !ownNames.has(method.getName())), ...own];
}

function readMethod(
  node: MethodSignature,
  service: Pick<Service, "javaName" | "deprecated">,
  types: TypeReader,
  problems: Problems,
): Method {
  const nameNode = node.getNameNode();
  const name = nameNode.getText();
  if (!Node.isIdentifier(nameNode)) {
    problems.error(nameNode, "a method has a plain name; what it is called in Java, @method can say");
  } else if (unsafeMethodNames.has(name) || name in Object.prototype || name === "toJSON") {
    problems.error(
      nameNode,
      `a client cannot have a method ${name}: give it another name, and the tag @method ${name}`,
    );
  }
  const javaName = tagValue(node, "method", problems) ?? name;
  if (Node.isIdentifier(nameNode) && !isJavaName(javaName)) {
    problems.error(nameNode, `Java cannot have a method called ${javaName}`);
  }
  if (node.getTypeParameters().length > 0) {
    problems.error(
      node,
      "what a type parameter stands for is not known on the wire; use a type of its own, or unknown",
    );
  }
  if (node.hasQuestionToken()) problems.error(node, "a method of a service cannot be optional");
  const given = node.getParameters();
  checkOptional(given, problems);
  const streamed = given.filter((parameter) => isStream(parameter.getTypeNode()));
  if (streamed.length > 0 && given.length > 1) {
    problems.error(streamed[0] as Node, "a stream is the only parameter of its method");
  }
  const { isStream: answersStream, result } = readResult(node, types, problems);
  if (answersStream && given.length > 1) {
    problems.error(node, "in Java, a method that answers with a stream has one parameter at most");
  }
  const takesStream = streamed.length > 0;
  return {
    name,
    javaName,
    kind: takesStream
      ? answersStream
        ? "bidi_streaming"
        : "client_streaming"
      : answersStream
        ? "server_streaming"
        : "unary",
    parameters: given.map((parameter) => readParameter(parameter, types, problems)),
    result,
    origin: `method ${service.javaName}.${javaName}`,
    comment: [...commentOf(node), ...blankBefore(commentOf(node), parameterDocs(node))],
    deprecated: service.deprecated || hasTag(node, "deprecated"),
    deprecation: deprecationOf(node),
  };
}

function checkOptional(given: readonly ParameterDeclaration[], problems: Problems): void {
  const first = given.findIndex((parameter) => parameter.hasQuestionToken());
  for (const parameter of first < 0 ? [] : given.slice(first)) {
    if (!parameter.hasQuestionToken()) {
      problems.error(parameter, `${parameter.getName()} is required, but ${given[first]?.getName()} before it is not`);
    }
    if (isStream(parameter.getTypeNode())) problems.error(parameter, "a stream cannot be left out");
  }
}

function blankBefore(comment: readonly string[], lines: readonly string[]): string[] {
  return comment.length > 0 && lines.length > 0 ? ["", ...lines] : [...lines];
}

function readParameter(node: ParameterDeclaration, types: TypeReader, problems: Problems): Parameter {
  const name = node.getName();
  const typeNode = node.getTypeNode();
  if (!Node.isIdentifier(node.getNameNode()) || name === "this" || node.isRestParameter()) {
    problems.error(node, "a parameter has a plain name, which is its name in Java");
  }
  if (typeNode === undefined) problems.error(node, `${name} needs a type`);
  const value = streamed(typeNode) ?? typeNode;
  const type = value === undefined ? undefined : types.read(value, signature);
  const isOptional = node.hasQuestionToken();
  const unknown = { java: { kind: "named", name: "java.lang.Object" }, text: () => "unknown" } as const;
  // A stream hands out objects in Java, so its values are never primitive.
  const isObject = isOptional || isStream(typeNode);
  const read = type ?? unknown;
  return { name, isOptional, type: isObject ? { ...read, java: boxed(read.java) } : read };
}

function readResult(
  node: MethodSignature,
  types: TypeReader,
  problems: Problems,
): { isStream: boolean; result: Method["result"] } {
  const typeNode = node.getReturnTypeNode();
  const streamedValue = streamed(typeNode);
  if (streamedValue !== undefined) {
    const of = types.read(streamedValue, signature);
    return { isStream: true, result: { ...of, java: boxed(of.java) } };
  }
  if (typeNode?.getText() === "void") return { isStream: false, result: undefined };
  const promised = argumentOf(typeNode, "Promise");
  if (promised === undefined) {
    problems.error(
      typeNode ?? node,
      "the result of a method is a Promise<…>, an AsyncIterable<…> where it is a stream, or void",
    );
    return { isStream: false, result: undefined };
  }
  return { isStream: false, result: promised.getText() === "void" ? undefined : types.read(promised, signature) };
}

function isStream(node: TypeNode | undefined): boolean {
  return streamed(node) !== undefined;
}

/** The type of one value of a stream. */
function streamed(node: TypeNode | undefined): TypeNode | undefined {
  return argumentOf(node, "AsyncIterable");
}

/** The argument of a type of the language. */
function argumentOf(node: TypeNode | undefined, name: string): TypeNode | undefined {
  if (!Node.isTypeReference(node)) return undefined;
  const resolved = resolve(node.getTypeName());
  const [argument, ...others] = node.getTypeArguments();
  return resolved.kind === "global" && resolved.name === name && others.length === 0 ? argument : undefined;
}

/** Methods of one name in TypeScript would be one, and overloads with the same parameters cannot be told apart in Java. */
function checkOverloads(nodes: readonly MethodSignature[], methods: readonly Method[], problems: Problems): void {
  const names = new Set<string>();
  const overloads = new Map<string, string>();
  for (const [i, { name, javaName, kind, parameters }] of methods.entries()) {
    const node = nodes[i] as MethodSignature;
    if (names.has(name)) {
      const hint = `give each overload a name of its own, and the tag @method ${javaName}`;
      problems.error(node, `${name} is declared before: ${hint}`);
      continue;
    }
    names.add(name);
    const isOverload = methods.some((other) => other.javaName === javaName && other.name !== name);
    if (isOverload && kind !== "unary")
      problems.error(node, "overloads are told apart by arguments; streams have none");
    const key = `${javaName}(${parameters.map(({ type }) => erasure(type.java)).join(", ")})`;
    const other = overloads.get(key);
    if (other !== undefined) problems.error(node, `${name} is in Java what ${other} is: ${key}`);
    overloads.set(key, name);
  }
}
