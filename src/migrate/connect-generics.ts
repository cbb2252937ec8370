/** Functions and types of Connect for ECMAScript for any service, by a type parameter: `<T extends DescService>`. */
import { ts } from "ts-morph";
import { anyService, generatedOf, serviceMember } from "./generated.ts";
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
  const isDescriptor = parameter ? !isOfClients(parameter.parent, migration) : of.getText() === "DescService";
  const service = isDescriptor ? undefined : migration.verbatim(of);
  return service === undefined ? "object" : serviceMember(service, name);
}

/** A service, or the descriptor of one that is known at run time, for which there is no code. */
export function printService(service: ts.Expression, migration: Migration): string {
  const text = migration.print(service);
  const type = migration.checker.getTypeAtLocation(service).getNonNullableType();
  const parameter = parameterOf(service, migration);
  const isDescriptor = parameter ? !isOfClients(parameter.parent, migration) : isDescriptorType(type);
  if (generatedOf(service, migration) || !isDescriptor) return text;
  migration.todo(
    service,
    `${service.getText()} is a descriptor: add the definition that is generated, such as GreetServiceDef`,
  );
  const as = migration.typed(` as unknown as ${anyService(service, migration)}`);
  return `${text}${as}`;
}

/** Reports whether a type is that of services or methods as descriptors, and of no one in particular. */
export function isDescriptorType({ symbol, aliasSymbol }: ts.Type): boolean {
  const name = aliasSymbol?.name ?? symbol?.name;
  return name === "DescService" || name === "GenService" || name?.startsWith("DescMethod") === true;
}

/** The type parameter that a type refers to, if it is one for services. */
function parameterOf(node: ts.Node, { checker }: Migration): ts.TypeParameterDeclaration | undefined {
  const declaration = checker.getTypeAtLocation(node).symbol?.declarations?.[0];
  const isOne = declaration && ts.isTypeParameterDeclaration(declaration);
  return isOne && declaration.constraint?.getText() === "DescService" ? declaration : undefined;
}

/** Reports whether a function has clients of its type parameter, and nothing else of it. */
function isOfClient(scope: ts.Node, migration: Migration): boolean {
  if (!ts.isFunctionLike(scope) || !isOfClients(scope, migration)) return false;
  return has(scope, CLIENTS, migration) && !has(scope, ["ServiceImpl"], migration);
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
  const isFound = has(scope, [...CLIENTS, "ServiceImpl"], migration) || contains(scope, isOther);
  const found = isFound && !(ts.isFunctionLike(scope) && contains(scope, (node) => isOfDescriptor(node, migration)));
  known.set(scope, found);
  return found;
}

/** Reports whether a type has a type parameter for services, and stays one of descriptors: `StrictClient<T>`. */
function isOfDescriptor(node: ts.Node, migration: Migration): boolean {
  if (!ts.isTypeReferenceNode(node) || !node.typeArguments?.some((one) => parameterOf(one, migration))) return false;
  const declaration = migration.declared(node.typeName);
  return declaration !== undefined && !migration.isDeclaredOld(declaration) && !isOfClients(declaration, migration);
}

function has(scope: ts.Node, names: readonly string[], migration: Migration): boolean {
  return contains(scope, (node) => {
    const name = ts.isTypeReferenceNode(node) ? node.typeName : ts.isCallExpression(node) ? node.expression : undefined;
    return names.includes(migration.nameOf(name) ?? "");
  });
}
