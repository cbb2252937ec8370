/** Reads the services of contracts in TypeScript: exported interfaces with methods. */
import {
  type ExpressionWithTypeArguments,
  type InterfaceDeclaration,
  type MethodSignature,
  Node,
  type SourceFile,
  SyntaxKind,
  type Type,
  type TypeNode,
  type TypeReferenceNode,
} from "ts-morph";
import { isUnsafeMethodName } from "../../print/names.ts";
import type { Problems } from "../model/diagnostics.ts";
import { isAscii } from "../model/java-name.ts";
import { kindOf } from "../model/service-interfaces.ts";
import { homeOf, resolve } from "../read/resolve.ts";
import { checkSyntax, readDeep } from "../read/syntax.ts";
import { checkPlaces } from "../read/tag-check.ts";
import { commentOf, deprecationOf, hasTag, tagValue } from "../read/tags.ts";
import { isOfLibrary, isOfLibraryType } from "./compiler-types.ts";
import { DeclaredNames, nameIn } from "./declared-names.ts";
import { WireReader } from "./wire-reader.ts";
import type {
  ContractMethod,
  ContractService,
  MessageType,
  TypeHome,
  TypeScriptContract,
  TypeText,
} from "./wire-type.ts";

/** Reads the contracts of the files, ordered by path. Errors are added to `problems`. */
export function readTypeScriptContracts(files: readonly SourceFile[], problems: Problems): TypeScriptContract[] {
  for (const project of new Set(files.map((file) => file.getProject()))) project.resolveSourceFileDependencies();
  const all = new Set(files.flatMap((file) => file.getProject().getSourceFiles()));
  const own = [...all].filter((file) => !file.isInNodeModules() && !isOfLibrary(file));
  const isParsed = own.map((file) => checkSyntax(file, problems)).every(Boolean);
  for (const file of own) checkPlaces(file, RULE_TAG, problems);
  for (const node of files.flatMap((file) => [...file.getTypeAliases(), ...file.getClasses()])) {
    if (hasTag(node, "service")) problems.error(node, "@service belongs to an interface; write interface Shop { … }");
  }
  const reader = new ServiceReader(problems);
  const sorted = [...files].sort((a, b) => (a.getFilePath() < b.getFilePath() ? -1 : 1));
  const contracts = sorted.map((file): TypeScriptContract => {
    const read = (): ContractService[] => (isParsed ? readServices(file, reader) : []);
    return { file: file.getFilePath(), services: readDeep(file, problems, read) ?? [] };
  });
  if (contracts.every(({ services }) => services.length === 0)) {
    const all = sorted.flatMap((file) => file.getInterfaces());
    const isGeneric = (one: InterfaceDeclaration): boolean =>
      one.isExported() && one.getTypeParameters().length > 0 && one.getMethods().length > 0;
    for (const one of all.filter(isGeneric)) problems.error(one, GENERIC);
  }
  const known = new Set<string>();
  for (const { node, wireName } of contracts.flatMap(({ services }) => services)) {
    if (known.has(wireName)) problems.error(node, `another service is called ${wireName}; name one with @service`);
    known.add(wireName);
  }
  return contracts;
}

/** Matches a comment with a rule. */
const RULE_TAG = /^[/* \t]*@(min|max|int|minLength|maxLength|minItems|maxItems|pattern|format)\b/m;

function readServices(file: SourceFile, reader: ServiceReader): ContractService[] {
  return file
    .getInterfaces()
    .filter(isService)
    .filter((node, _, all) => {
      const same = all.filter((one) => one.getName() === node.getName());
      return node === (same.find((one) => hasTag(one, "service")) ?? same[0]);
    })
    .map((node) => reader.read(node));
}

/** Reports whether an interface is a service. A generic one is the base of others. */
function isService(node: InterfaceDeclaration): boolean {
  return (
    hasTag(node, "service") ||
    (node.isExported() &&
      node.getTypeParameters().length === 0 &&
      node
        .getType()
        .getProperties()
        .some((one) => one.getDeclarations().some((other) => Node.isMethodSignature(other) && !isOfLibrary(other))))
  );
}

const EXTEND = "give each type parameter a type: interface Users extends Crud<User> {}";
const GENERIC = `a service cannot have type parameters; ${EXTEND}`;
const METHODS_ONLY = "a service has methods only: write order(request: Order): Promise<Receipt>";

class ServiceReader {
  readonly #problems: Problems;
  readonly #names: DeclaredNames;
  readonly #types: WireReader;

  constructor(problems: Problems) {
    this.#problems = problems;
    this.#names = new DeclaredNames(problems);
    this.#types = new WireReader(problems, this.#names);
  }

  read(node: InterfaceDeclaration): ContractService {
    const name = node.getName();
    const wireName = hasTag(node, "service") ? (tagValue(node, "service", this.#problems) ?? name) : name;
    if (!/^[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*$/.test(wireName)) {
      this.#problems.error(node, `a service is called like shop.v1.Shop, not ${wireName}`);
    }
    if (homeOf(node, {}).name === undefined) this.#problems.error(node, `${name} is a service and must be exported`);
    if (node.getTypeParameters().length > 0) this.#problems.error(node, GENERIC);
    for (const clause of node.getHeritageClauses()) this.#names.check(clause);
    const type = node.getType();
    const given = argumentsOfBases(node);
    for (const argument of given.values()) this.#types.checkArgument(argument);
    const signatures = [...type.getCallSignatures(), ...type.getConstructSignatures()].map((one) =>
      one.getDeclaration(),
    );
    for (const one of [...signatures, ...node.getIndexSignatures()]) this.#problems.error(one, METHODS_ONLY);
    const deprecated = hasTag(node, "deprecated");
    const methods = type.getProperties().flatMap((property) => {
      const [declaration, again] = property.getDeclarations();
      if (declaration !== undefined && Node.isMethodSignature(declaration) && again === undefined) {
        return [this.#method(declaration, property.getTypeAtLocation(node), given, wireName, deprecated)];
      }
      const problem =
        again === undefined ? METHODS_ONLY : "a method cannot have overloads; give each a name of its own";
      this.#problems.error(again ?? declaration ?? node, problem);
      return [];
    });
    return {
      node,
      name,
      wireName,
      methods,
      origin: `interface ${name}`,
      comment: commentOf(node),
      deprecated,
      deprecation: deprecationOf(node),
    };
  }

  #method(node: MethodSignature, type: Type, given: Given, service: string, deprecated: boolean): ContractMethod {
    const nameNode = node.getNameNode();
    const name = Node.isStringLiteral(nameNode) ? nameNode.getLiteralValue() : node.getName();
    const [parameter, more] = node.getParameters();
    if (isUnsafeMethodName(name) || !isAscii(name) || !/^[\w$-][\w$.-]*$/.test(name)) {
      this.#problems.error(nameNode, `a method cannot be called ${name}; use another name`);
    }
    if (node.hasQuestionToken()) this.#problems.error(node, "a method of a service cannot be optional");
    if (node.getTypeParameters().length > 0) {
      this.#problems.error(node, "a method cannot have type parameters, which are unknown on the wire; name the types");
    }
    if (more !== undefined) {
      const fields = node
        .getParameters()
        .map((one) => one.getText())
        .join("; ");
      this.#problems.error(more, `a method has one parameter, its message: write ${name}(request: { ${fields} })`);
    }
    if (parameter?.isRestParameter() || parameter?.hasQuestionToken()) {
      this.#problems.error(parameter, "the parameter of a method is required; use optional fields");
    }
    const requestNode = parameter?.getTypeNode();
    if (parameter !== undefined && requestNode === undefined)
      this.#problems.error(parameter, `${parameter.getName()} needs a type`);
    const streamed = argumentOf(requestNode, "AsyncIterable");
    const returnNode = node.getReturnTypeNode();
    const answers = argumentOf(returnNode, "AsyncIterable");
    const response = answers ?? argumentOf(returnNode, "Promise");
    if (response === undefined) {
      const wanted = "a method returns Promise<T>, or AsyncIterable<T> for a stream";
      this.#problems.error(returnNode ?? node, wanted);
    }
    return {
      name,
      kind: kindOf(streamed !== undefined, answers !== undefined),
      parameter: Node.isIdentifier(parameter?.getNameNode()) ? parameter.getName() : "request",
      request: requestNode && this.#message(streamed ?? requestNode, parameterOf(type, streamed !== undefined), given),
      response:
        response === undefined || (response.getText() === "void" && !answers)
          ? undefined
          : this.#message(response, resultOf(type), given),
      origin: `method ${service}.${name}`,
      comment: commentOf(node),
      deprecated: deprecated || hasTag(node, "deprecated"),
      deprecation: deprecationOf(node),
    };
  }

  #message(node: TypeNode, type: Type | undefined, given: Given): MessageType {
    const argument = Node.isTypeReference(node) ? given.get(declarationOfName(node)) : undefined;
    if (argument !== undefined) return this.#message(argument, type, given);
    return { wire: this.#types.readMessage(node, node, type), text: this.#text(node, given) };
  }

  /** Returns the text of a type with the declarations of its names. Type parameters become the types given for them. */
  #text(node: TypeNode, given: Given): TypeText {
    const start = node.getStart();
    const inside: { node: TypeNode; argument: TypeNode }[] = [];
    const nodes = [node, ...node.getDescendants()];
    for (const one of nodes) {
      const argument = Node.isTypeReference(one) ? given.get(declarationOfName(one)) : undefined;
      if (argument !== undefined) inside.push({ node: one as TypeNode, argument });
    }
    const names = nodes.flatMap((one) => {
      if (Node.isTypeQuery(one) || Node.isImportTypeNode(one)) this.#problems.error(one, unnamed(node));
      if (Node.isComputedPropertyName(one) && !Node.isLiteralLike(one.getExpression()))
        this.#problems.error(one, `${one.getText()} is not known to generated code; write the name itself`);
      const name = nameIn(one);
      if (name === undefined) return [];
      const home = this.#homeOf(name, node, given);
      return home === undefined ? [] : [{ start: name.getStart() - start, end: name.getEnd() - start, home }];
    });
    return inside.reduceRight(
      (text, { node: one, argument }) =>
        replaced(text, one.getStart() - start, one.getEnd() - start, this.#text(argument, given)),
      { text: node.getText(), names } satisfies TypeText as TypeText,
    );
  }

  /** Returns the declaration of a name in a type. */
  #homeOf(name: Node, type: TypeNode, given: Given): TypeHome | undefined {
    const resolved = resolve(name);
    if (resolved.kind !== "declared" || isOfLibrary(resolved.declaration)) return undefined;
    if (Node.isTypeParameterDeclaration(resolved.declaration)) {
      const isKnown = given.has(resolved.declaration) || resolved.declaration.getAncestors().includes(type);
      if (!isKnown) this.#problems.error(name, `${name.getText()} is not known here; ${EXTEND}`);
      return undefined;
    }
    const { file, name: exported, declaredName, specifier } = homeOf(resolved.declaration, resolved);
    if (exported === undefined) {
      const isForeign = resolved.declaration.getSourceFile().isInNodeModules();
      const isNested = resolved.declaration.getFirstAncestorByKind(SyntaxKind.ModuleDeclaration) !== undefined;
      const problem = isNested ? "must be declared outside of a namespace" : "must be exported";
      this.#problems.error(
        name,
        isForeign ? unnamed(type) : `${declaredName} ${problem}, because generated code imports it`,
      );
    }
    return { module: specifier ?? file, name: exported ?? declaredName, localName: declaredName };
  }
}

/** The types that an interface gives for the type parameters of its bases. */
type Given = ReadonlyMap<Node | undefined, TypeNode>;

function argumentsOfBases(
  node: InterfaceDeclaration,
  given = new Map<Node | undefined, TypeNode>(),
  seen = new Set<Node>(),
): Given {
  seen.add(node);
  for (const clause of node.getExtends()) {
    const { name, args } = baseOf(clause);
    const resolved = resolve(name);
    const base = resolved.kind === "declared" ? resolved.declaration : undefined;
    if (!Node.isInterfaceDeclaration(base)) continue;
    const isAgain = seen.has(base);
    for (const [index, parameter] of base.getTypeParameters().entries()) {
      const argument = args[index] ?? parameter.getDefault();
      // Two parts of a base may have different arguments. Which one a method has is not known then.
      if (isAgain && name.getParent() !== clause) given.delete(parameter);
      else if (argument !== undefined && !given.has(parameter)) given.set(parameter, argument);
    }
    if (!isAgain) argumentsOfBases(base, given, seen);
  }
  return given;
}

/** Returns the interface whose methods a base has: that inside of `Omit` and `Pick`. */
function baseOf(base: ExpressionWithTypeArguments | TypeReferenceNode): { name: Node; args: TypeNode[] } {
  const name = Node.isTypeReference(base) ? base.getTypeName() : base.getExpression();
  const args = base.getTypeArguments();
  const [inner] = args;
  return /^(?:Omit|Pick)$/.test(name.getText()) && Node.isTypeReference(inner) ? baseOf(inner) : { name, args };
}

function declarationOfName(node: TypeReferenceNode): Node | undefined {
  return node.getTypeName().getSymbol()?.getDeclarations().find(Node.isTypeParameterDeclaration);
}

/** Replaces a part of a text by that of another type. */
function replaced({ text, names }: TypeText, start: number, end: number, by: TypeText): TypeText {
  const inner = /^[\w.]+$/.test(by.text) ? by : moved({ ...by, text: `(${by.text})` }, 1);
  const after = inner.text.length - (end - start);
  return {
    text: text.slice(0, start) + inner.text + text.slice(end),
    names: [
      ...names.filter((one) => one.end <= start),
      ...moved(inner, start).names,
      ...moved({ text, names: names.filter((one) => one.start >= end) }, after).names,
    ],
  };
}

function moved({ text, names }: TypeText, by: number): TypeText {
  return { text, names: names.map((one) => ({ ...one, start: one.start + by, end: one.end + by })) };
}

/** Returns the type of the message in the parameter of a method, with the types given for type parameters. */
function parameterOf(type: Type, isStream: boolean): Type | undefined {
  const declared = type.getCallSignatures()[0]?.getParameters()[0];
  const [declaration] = declared?.getDeclarations() ?? [];
  const own = declaration && declared?.getTypeAtLocation(declaration);
  return isStream ? own?.getTypeArguments()[0] : own;
}

/** Returns the type of the message in the result of a method. */
function resultOf(type: Type): Type | undefined {
  return type.getCallSignatures()[0]?.getReturnType().getTypeArguments()[0];
}

/** Returns the error for a type that generated code cannot import by a name. */
function unnamed(type: Node): string {
  const text = type.getText();
  return `${text} needs a name that generated code imports: export type Name = ${text}`;
}

/** Returns the argument of a type of the standard library, such as `T` of `Promise<T>`. */
function argumentOf(node: TypeNode | undefined, name: string): TypeNode | undefined {
  if (!Node.isTypeReference(node) || node.getTypeName().getText() !== name) return undefined;
  return isOfLibraryType(node) ? node.getTypeArguments()[0] : undefined;
}
