/** Services of grpc-js, whose definitions tell the messages of handlers also where the types of these differ. */
import { ts } from "ts-morph";
import { generatedOf, useInit } from "./generated.ts";
import { ERRORS } from "./grpc-errors.ts";
import { handlerNames } from "./grpc-loader.ts";
import { isLoaded, loadedMethod, siblingOf } from "./loader-names.ts";
import type { Migration, Rule } from "./migration.ts";

export interface HandlerMethod {
  readonly request: ts.Type;
  readonly response: ts.Type;
  /** True for a stream; undefined if generated code does not tell. */
  readonly requests: boolean | undefined;
  readonly responses: boolean | undefined;
  /** True for a service that is loaded at run time, whose handlers need no types. */
  readonly isLoaded: boolean;
}

/** The methods by the functions that are added to a server. */
const methods = new WeakMap<ts.Node, HandlerMethod>();

export function methodOf(handler: ts.Node): HandlerMethod | undefined {
  return methods.get(handler) ?? methods.get(handler.parent);
}

/** Finds the handlers of a file's calls of `addService`. */
export function findHandlers(migration: Migration): void {
  const { checker } = migration;
  const visit = (node: ts.Node): void => {
    node.forEachChild(visit);
    if (!ts.isCallExpression(node) || migration.nameOf(node.expression) !== "Server.addService") return;
    const [service, given] = node.arguments;
    if (!service || !given) return;
    const definition = checker.getTypeAtLocation(service);
    const implementation = bareExpression(migration.initializer(given) ?? given);
    for (const one of checker.getPropertiesOfType(checker.getTypeAtLocation(implementation))) {
      const of = definition.getProperties().find(({ name }) => [name, loadedMethod(name)].includes(one.name));
      if (of?.declarations?.some(isLoaded))
        for (const declaration of one.declarations ?? []) handlerNames.set(declaration, loadedMethod(of.name));
      const handler = one.declarations?.[0] && handlerOf(one.declarations[0], migration);
      const method =
        of && (readLoaded(of, checker) ?? read(checker.getTypeOfSymbolAtLocation(of, service), service, checker));
      if (handler && method) methods.set(handler, method);
    }
  };
  visit(migration.file);
}

/** An expression without the assertions around it. */
export function bareExpression(node: ts.Expression): ts.Expression {
  return ts.isAsExpression(node) || ts.isParenthesizedExpression(node) || ts.isSatisfiesExpression(node)
    ? bareExpression(node.expression)
    : node;
}

/** The declaration of a handler that a property names. */
function handlerOf(property: ts.Declaration, migration: Migration): ts.Node | undefined {
  if (ts.isShorthandPropertyAssignment(property))
    return migration.checker.getShorthandAssignmentValueSymbol(property)?.declarations?.[0];
  const value = ts.isPropertyAssignment(property) ? property.initializer : undefined;
  return value && ts.isIdentifier(value) ? migration.declared(value) : (value ?? property);
}

function read(definition: ts.Type, at: ts.Node, checker: ts.TypeChecker): HandlerMethod | undefined {
  const typeOf = (name: string): ts.Type | undefined => {
    const member = definition.getProperty(name);
    return member && checker.getTypeOfSymbolAtLocation(member, at);
  };
  const [request, response] = ["requestDeserialize", "responseDeserialize"].map((name) =>
    typeOf(name)?.getCallSignatures()[0]?.getReturnType(),
  );
  const [requests, responses] = ["requestStream", "responseStream"].map((name) => {
    const type = typeOf(name);
    const text = type && checker.typeToString(type);
    return text === "true" || (text === "false" ? false : undefined);
  });
  if (!request?.symbol || !response?.symbol) return undefined;
  return { request, response, requests, responses, isLoaded: false };
}

/** The method of a loaded service, which the type of its handler tells more of than its definition. */
function readLoaded({ name, declarations = [] }: ts.Symbol, checker: ts.TypeChecker): HandlerMethod | undefined {
  const [definition] = declarations;
  const of = definition?.parent as ts.InterfaceDeclaration | undefined;
  if (!of || !isLoaded(definition)) return undefined;
  const handlers = siblingOf(of.getSourceFile(), of.name.text.replace(/Definition$/, "Handlers"));
  const type = handlers?.members.filter(ts.isPropertySignature).find((one) => one.name.getText() === name)?.type;
  if (!type || !ts.isTypeReferenceNode(type)) return undefined;
  const kind = HANDLERS[type.typeName.getText().split(".").at(-1) ?? ""];
  const [request, response] = (type.typeArguments ?? []).map((one) => checker.getTypeFromTypeNode(one));
  return kind && request && response ? { request, response, ...kind, isLoaded: true } : undefined;
}

/** The index signature of classes that implement a service. */
const signature: Rule = (node, migration) => {
  const type = (ts.isIndexSignatureDeclaration(node) || ts.isPropertyDeclaration(node)) && node.type;
  if (!type) return undefined;
  const name = ts.isTypeReferenceNode(type) ? type.typeName : ts.isImportTypeNode(type) ? type.qualifier : undefined;
  return ["HandleCall", "UntypedHandleCall"].includes(migration.nameOf(name) ?? "") ? "" : undefined;
};

/** Types of any service. */
const type: Rule = (node, migration) => {
  const name = ts.isTypeReferenceNode(node) ? migration.nameOf(node.typeName) : undefined;
  if (name === "UntypedServiceImplementation") return "any";
  return name === "ServiceDefinition"
    ? `${migration.imports.use("triple-es", "ServiceDef", node)}<any, any>`
    : undefined;
};

/** Types of handlers. */
const HANDLERS: Readonly<Record<string, { readonly requests: boolean; readonly responses: boolean }>> = {
  handleUnaryCall: { requests: false, responses: false },
  handleClientStreamingCall: { requests: true, responses: false },
  handleServerStreamingCall: { requests: false, responses: true },
  handleBidiStreamingCall: { requests: true, responses: true },
};

/** `handleUnaryCall<Order, Receipt>`, as the type of a function. */
const handlerType: Rule = (node, migration) => {
  if (!ts.isTypeReferenceNode(node)) return undefined;
  const kind = HANDLERS[migration.nameOf(node.typeName) ?? ""];
  const [request, response] = node.typeArguments ?? [];
  const of = response && ts.isTypeReferenceNode(response) ? generatedOf(response.typeName, migration) : undefined;
  if (!kind || !request || !response || !of) return undefined;
  const init = useInit(of, response, migration);
  const given = migration.print(request);
  const first = kind.requests ? `requests: AsyncIterable<${given}>` : `request: ${given}`;
  const result = kind.responses ? `AsyncIterable<${init}> | Iterable<${init}>` : `${init} | Promise<${init}>`;
  const text = `(${first}, context: ${migration.imports.use("triple-es", "HandlerContext", node)}) => ${result}`;
  return ts.isTypeNode(node.parent) ? `(${text})` : text;
};

/** A class that implements a type whose counterpart has other members. */
const implemented: Rule = (node, migration) => {
  if (!ts.isHeritageClause(node) || node.token !== ts.SyntaxKind.ImplementsKeyword) return undefined;
  const kept = node.types.filter(({ expression, typeArguments: [given] = [] }) => {
    const name = migration.nameOf(given && ts.isTypeReferenceNode(given) ? given.typeName : expression) ?? "";
    return ![...ERRORS, "UntypedServiceImplementation"].includes(name);
  });
  if (kept.length === node.types.length) return undefined;
  return kept.length === 0 ? "" : `implements ${kept.map((one) => migration.print(one)).join(", ")}`;
};

export const serviceRules: readonly Rule[] = [signature, type, handlerType, implemented];
