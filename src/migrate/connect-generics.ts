/** Functions and types of Connect for ECMAScript for any service, by a type parameter: `<T extends DescService>`. */
import { ts } from "ts-morph";
import { anyService, serviceMember } from "./generated.ts";
import type { Migration } from "./migration.ts";
import { contains } from "./tree.ts";

const CLIENTS = ["Client", "createClient"];

/**
 * The type parameter of a function for any service, `<T extends DescService>(service: T): Client<T>`, which becomes that of
 * its client. One of another declaration stays that of the service, since other code gives it.
 */
export function serviceParameter(node: ts.Node, migration: Migration): string | undefined {
  if (!ts.isTypeReferenceNode(node)) return undefined;
  const { parent } = node;
  if (migration.text(node) === "DescService" && ts.isTypeParameterDeclaration(parent)) {
    if (isOfClient(parent.parent, migration)) return "object";
    return isOfClients(parent.parent, migration) ? anyService(node, migration) : undefined;
  }
  const declaration = parameterOf(node, migration);
  return declaration && isOfClient(declaration.parent, migration)
    ? `${migration.imports.use("triple-es", "ServiceDef", node)}<${migration.text(node)}, object>`
    : undefined;
}

/** `Client<T>` and `ServiceImpl<T>` of a type parameter, or of any service. */
export function typeOfService(of: ts.TypeNode, name: "client" | "handler", migration: Migration): string {
  const parameter = parameterOf(of, migration);
  if (parameter && isOfClient(parameter.parent, migration)) return migration.text(of);
  const service = parameter || of.getText() !== "DescService" ? migration.verbatim(of) : undefined;
  return service === undefined ? "object" : serviceMember(service, name);
}

/** Reports whether a type is that of services as descriptors, and of no one in particular. */
export function isDescriptorType({ symbol, aliasSymbol }: ts.Type): boolean {
  return symbol?.name === "DescService" || aliasSymbol?.name === "GenService";
}

/** The type parameter that a type refers to, if it is one for services. */
function parameterOf(node: ts.Node, { checker }: Migration): ts.TypeParameterDeclaration | undefined {
  const declaration = checker.getTypeAtLocation(node).symbol?.declarations?.[0];
  const isOne = declaration && ts.isTypeParameterDeclaration(declaration);
  return isOne && declaration.constraint?.getText() === "DescService" ? declaration : undefined;
}

/** Reports whether a function has clients of its type parameter, and nothing else of it. */
function isOfClient(scope: ts.Node, migration: Migration): boolean {
  return ts.isFunctionLike(scope) && has(scope, CLIENTS, migration) && !has(scope, ["ServiceImpl"], migration);
}

const known = new WeakMap<ts.Node, boolean>();

/** Reports whether a declaration has clients or implementations of services, also in the types that it names. */
export function isOfClients(scope: ts.Node, migration: Migration): boolean {
  const before = known.get(scope);
  if (before !== undefined) return before;
  known.set(scope, false);
  const isOther = (node: ts.Node): boolean => {
    if (!ts.isTypeReferenceNode(node) || !node.typeArguments) return false;
    const declaration = migration.declared(node.typeName);
    const isGeneric =
      declaration &&
      (ts.isInterfaceDeclaration(declaration) || ts.isClassLike(declaration) || ts.isTypeAliasDeclaration(declaration));
    return isGeneric === true && !declaration.getSourceFile().isDeclarationFile && isOfClients(declaration, migration);
  };
  const found = has(scope, [...CLIENTS, "ServiceImpl"], migration) || contains(scope, isOther);
  known.set(scope, found);
  return found;
}

function has(scope: ts.Node, names: readonly string[], migration: Migration): boolean {
  return contains(scope, (node) => {
    const name = ts.isTypeReferenceNode(node) ? node.typeName : ts.isCallExpression(node) ? node.expression : undefined;
    return names.includes(migration.nameOf(name) ?? "");
  });
}
