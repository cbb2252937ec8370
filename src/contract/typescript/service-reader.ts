/** Reads the services of contracts in TypeScript: exported interfaces with methods. */
import {
  type InterfaceDeclaration,
  type MethodSignature,
  Node,
  type SourceFile,
  SyntaxKind,
  type TypeNode,
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
  const reader = new ServiceReader(problems);
  const sorted = [...files].sort((a, b) => (a.getFilePath() < b.getFilePath() ? -1 : 1));
  const contracts = sorted.map((file): TypeScriptContract => {
    const read = (): ContractService[] => (isParsed ? readServices(file, reader) : []);
    return { file: file.getFilePath(), services: readDeep(file, problems, read) ?? [] };
  });
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

function isService(node: InterfaceDeclaration): boolean {
  return (
    hasTag(node, "service") ||
    (node.isExported() &&
      node
        .getType()
        .getProperties()
        .some((one) => one.getDeclarations().some((other) => Node.isMethodSignature(other) && !isOfLibrary(other))))
  );
}

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
    if (node.getTypeParameters().length > 0) this.#problems.error(node, "a service cannot have type parameters");
    for (const clause of node.getHeritageClauses()) this.#names.check(clause);
    const type = node.getType();
    const signatures = [...type.getCallSignatures(), ...type.getConstructSignatures()].map((one) =>
      one.getDeclaration(),
    );
    for (const one of [...signatures, ...node.getIndexSignatures()]) this.#problems.error(one, METHODS_ONLY);
    const deprecated = hasTag(node, "deprecated");
    const methods = type.getProperties().flatMap((property) => {
      const [declaration, again] = property.getDeclarations();
      if (declaration !== undefined && Node.isMethodSignature(declaration) && again === undefined) {
        return [this.#method(declaration, wireName, deprecated)];
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

  #method(node: MethodSignature, service: string, deprecated: boolean): ContractMethod {
    const name = node.getName();
    const [parameter, more] = node.getParameters();
    if (isUnsafeMethodName(name) || !isAscii(name) || !/^[\w$]+$/.test(name)) {
      this.#problems.error(node.getNameNode(), `a method cannot be called ${name}; use another name`);
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
      request: requestNode && this.#message(streamed ?? requestNode),
      response:
        response === undefined || (response.getText() === "void" && !answers) ? undefined : this.#message(response),
      origin: `method ${service}.${name}`,
      comment: commentOf(node),
      deprecated: deprecated || hasTag(node, "deprecated"),
      deprecation: deprecationOf(node),
    };
  }

  #message(node: TypeNode): MessageType {
    return { wire: this.#types.readMessage(node, node), text: this.#text(node) };
  }

  /** Returns the text of a type with the declarations of its names. */
  #text(node: TypeNode): TypeText {
    const start = node.getStart();
    const names = [node, ...node.getDescendants()].flatMap((one) => {
      if (Node.isTypeQuery(one) || Node.isImportTypeNode(one)) this.#problems.error(one, unnamed(one));
      if (Node.isComputedPropertyName(one) && !Node.isLiteralLike(one.getExpression()))
        this.#problems.error(one, `${one.getText()} is not known to generated code; write the name itself`);
      const name = nameIn(one);
      if (name === undefined) return [];
      const home = this.#homeOf(name);
      return home === undefined ? [] : [{ start: name.getStart() - start, end: name.getEnd() - start, home }];
    });
    return { text: node.getText(), names };
  }

  #homeOf(name: Node): TypeHome | undefined {
    const resolved = resolve(name);
    if (resolved.kind !== "declared" || isOfLibrary(resolved.declaration)) return undefined;
    // The type reader refuses type parameters.
    if (Node.isTypeParameterDeclaration(resolved.declaration)) return undefined;
    const { file, name: exported, declaredName, specifier } = homeOf(resolved.declaration, resolved);
    if (exported === undefined) {
      const isForeign = resolved.declaration.getSourceFile().isInNodeModules();
      const isNested = resolved.declaration.getFirstAncestorByKind(SyntaxKind.ModuleDeclaration) !== undefined;
      const problem = isNested ? "must be declared outside of a namespace" : "must be exported";
      this.#problems.error(
        name,
        isForeign ? unnamed(name) : `${declaredName} ${problem}, because generated code imports it`,
      );
    }
    return { module: specifier ?? file, name: exported ?? declaredName, localName: declaredName };
  }
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
