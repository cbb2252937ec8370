/** Reads the services of a contract: exported interfaces with the tag `@service`. */
import { type InterfaceDeclaration, type MethodSignature, Node } from "ts-morph";
import type { Method, Service } from "../model/contract.ts";
import type { Problems } from "../model/diagnostics.ts";
import { isAscii, isClassName, notAscii } from "../model/java-name.ts";
import { erasedSignature, methodKey, ofObject } from "../model/java-signature.ts";
import { MethodReader } from "./method-reader.ts";
import { MAX_DEPTH } from "./nesting.ts";
import { homeOf, isMerged, resolve } from "./resolve.ts";
import { commentOf, deprecationOf, hasTag, tagValue } from "./tags.ts";
import type { TypeReader } from "./type-reader.ts";

/** Reads a service. Returns `undefined` if its name is invalid. */
export function readService(node: InterfaceDeclaration, types: TypeReader, problems: Problems): Service | undefined {
  const javaName = tagValue(node, "service", problems);
  if (javaName === undefined) return undefined;
  if (!isClassName(javaName)) problems.error(node, `${javaName} is not the full name of a Java interface`);
  else if (!isAscii(javaName)) problems.error(node, notAscii(javaName, "give the Java interface another name"));
  if (isMerged(node)) problems.error(node, `${node.getName()} is declared in several parts; merge them`);
  if (homeOf(node, {}).name === undefined) {
    problems.error(node, `${node.getName()} is a service and must be exported`);
  }
  if (node.getTypeParameters().length > 0) problems.error(node, "a service cannot have type parameters");
  const deprecated = hasTag(node, "deprecated");
  const declared = methodsOf(node, problems, []);
  const reader = new MethodReader(types, problems);
  const read = declared.map((method) => ({ node: method, method: reader.read(method, { javaName, deprecated }) }));
  const distinct = read.filter((one, i) => !read.slice(0, i).some((other) => isInheritedTwice(one, other)));
  checkOverloads(distinct, problems);
  return {
    node,
    name: node.getName(),
    javaName,
    group: tagValue(node, "group", problems),
    version: tagValue(node, "version", problems),
    serialization: tagValue(node, "serialization", problems),
    methods: distinct.map(({ method }) => method),
    origin: `interface ${javaName}`,
    comment: commentOf(node),
    deprecated,
    deprecation: deprecationOf(node),
  };
}

/** Returns all methods; inherited methods come first. */
function methodsOf(
  node: InterfaceDeclaration,
  problems: Problems,
  path: readonly InterfaceDeclaration[],
): MethodSignature[] {
  if (path.includes(node)) {
    problems.error(node, `${node.getName()} extends itself in a cycle`);
    return [];
  }
  if (path.length > MAX_DEPTH) {
    problems.error(node, `more than ${MAX_DEPTH} interfaces extend each other here; use fewer of them`);
    return [];
  }
  const inherited = node.getExtends().flatMap((clause) => {
    const resolved = resolve(clause.getExpression());
    const base = resolved.kind === "declared" ? resolved.declaration : undefined;
    if (Node.isInterfaceDeclaration(base) && base.getTypeParameters().length === 0) {
      return methodsOf(base, problems, [...path, node]);
    }
    problems.error(
      clause,
      `a service can extend interfaces without type parameters, and ${clause.getText()} is not one`,
    );
    return [];
  });
  const own = node.getMembers().filter((member): member is MethodSignature => {
    if (Node.isMethodSignature(member)) return true;
    const name = Node.isPropertySignature(member) ? member.getName() : "name";
    problems.error(member, `a service has methods only, in the form ${name}(parameters): Promise<Result>`);
    return false;
  });
  const ownNames = new Set(own.map((method) => method.getName()));
  return [...new Set([...inherited.filter((method) => !ownNames.has(method.getName())), ...own])];
}

interface Read {
  readonly node: MethodSignature;
  readonly method: Method;
}

/** Reports whether a service inherits the same method from two interfaces, which TypeScript allows. */
function isInheritedTwice(one: Read, other: Read): boolean {
  if (one.method.name !== other.method.name || one.node.getParent() === other.node.getParent()) return false;
  return methodKey(one.method) === methodKey(other.method);
}

/** Reports invalid overloads: several methods with one name in TypeScript, or with the same parameters in Java. */
function checkOverloads(methods: readonly Read[], problems: Problems): void {
  const names = new Set<string>();
  const overloads = new Map<string, string>();
  for (const { node, method } of methods) {
    const { name, javaName, kind } = method;
    if (names.has(name)) {
      const hint = `give each overload a name of its own, and the tag @method ${javaName}`;
      problems.error(node, `${name} is already declared: ${hint}`);
      continue;
    }
    names.add(name);
    const isOverload = methods.some(({ method: other }) => other.javaName === javaName && other.name !== name);
    if (isOverload && kind !== "unary")
      problems.error(node, "overloads are distinguished by their arguments, and a stream has none");
    const key = erasedSignature(method);
    if (ofObject.has(key) && !(name in Object.prototype)) {
      problems.error(node, `every object of Java has ${key}, so no interface can declare it; rename it`);
    }
    const other = overloads.get(key);
    if (other !== undefined) problems.error(node, `${name} and ${other} are the same method in Java: ${key}`);
    overloads.set(key, name);
  }
}
