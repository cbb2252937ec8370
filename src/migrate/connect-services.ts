/** Services of Connect for ECMAScript: as values, and as type arguments of clients and implementations. */
import { ts } from "ts-morph";
import { isDescriptorType, isOfClients, serviceParameter, typeOfService } from "./connect-generics.ts";
import { generatedOf, useGenerated } from "./generated.ts";
import type { Migration, Rule } from "./migration.ts";

/** `ReturnType<typeof createClient<typeof GreetService>>`. */
const returnType: Rule = (node, migration) => {
  if (!ts.isTypeReferenceNode(node) || node.typeName.getText() !== "ReturnType") return undefined;
  const [of] = node.typeArguments ?? [];
  if (!of || !ts.isTypeQueryNode(of) || migration.nameOf(of.exprName) !== "createClient") return undefined;
  const [service] = of.typeArguments ?? [];
  const generated = service && ts.isTypeQueryNode(service) ? generatedOf(service.exprName, migration) : undefined;
  return generated && useGenerated(`${generated.name}Client`, "triple", generated, node, migration);
};

/** `Client<typeof GreetService>`, `ServiceImpl<typeof GreetService>`, and both of a type parameter. */
const serviceType: Rule = (node, migration) => {
  if (!ts.isTypeReferenceNode(node) && !ts.isExpressionWithTypeArguments(node)) return undefined;
  const name = migration.nameOf(ts.isTypeReferenceNode(node) ? node.typeName : node.expression);
  const [of] = node.typeArguments ?? [];
  if (name === "MethodImpl") return methodType(of, migration);
  if (name !== "Client" && name !== "ServiceImpl") return serviceParameter(node, migration);
  if (of === undefined) return undefined;
  const generated = ts.isTypeQueryNode(of) ? generatedOf(of.exprName, migration) : undefined;
  if (generated === undefined) {
    if (!ts.isTypeQueryNode(of)) return typeOfService(of, name === "Client" ? "client" : "handler", migration);
    migration.leave(node, `${of.exprName.getText()} is not found in generated code`);
    return migration.verbatim(node);
  }
  const suffix = name === "Client" ? "Client" : "Handler";
  return useGenerated(`${generated.name}${suffix}`, "triple", generated, node, migration);
};

/** `MethodImpl<typeof GreetService.method.greet>`, which is a member of the handler. */
function methodType(of: ts.TypeNode | undefined, migration: Migration): string | undefined {
  if (!of || !ts.isTypeQueryNode(of) || !ts.isQualifiedName(of.exprName)) return undefined;
  const { left, right } = of.exprName;
  const generated = ts.isQualifiedName(left) ? generatedOf(left.left, migration) : undefined;
  return (
    generated && `${useGenerated(`${generated.name}Handler`, "triple", generated, of, migration)}["${right.text}"]`
  );
}

/** A service as a value, and its methods: `GreetService.method.greet`. */
const service: Rule = (node, migration) => {
  if (
    ts.isPropertyAccessExpression(node) &&
    ts.isPropertyAccessExpression(node.expression) &&
    node.expression.name.text === "method"
  ) {
    const of = generatedOf(node.expression.expression, migration);
    if (of && isService(of.declaration))
      return ts.isVariableDeclaration(node.parent) || isDescriptor(node, migration)
        ? migration.verbatim(node)
        : useGenerated(`${of.name}_${node.name.text}`, "triple", of, node, migration);
  }
  // A name, also in a namespace: `v1.GreetService`.
  if (!ts.isIdentifier(node) && !ts.isPropertyAccessExpression(node) && !ts.isQualifiedName(node)) return undefined;
  if (ts.isImportSpecifier(node.parent) || ts.isExportSpecifier(node.parent)) return undefined;
  const of = generatedOf(node, migration);
  if (of === undefined || !isService(of.declaration) || isDescriptor(node, migration)) return undefined;
  const name = useGenerated(`${of.name}Def`, "triple", of, node, migration);
  return ts.isShorthandPropertyAssignment(node.parent) ? `${node.getText()}: ${name}` : name;
};

/** Reports whether a service or a method is passed as a descriptor, which it stays: `createRegistry(GreetService)`. */
function isDescriptor(
  node: ts.Identifier | ts.PropertyAccessExpression | ts.QualifiedName,
  migration: Migration,
): boolean {
  const { parent } = node;
  if (ts.isTypeQueryNode(parent)) return isTypeOfDescriptor(parent, migration);
  // A value in an object or an array.
  const isInside = ts.isPropertyAssignment(parent) || ts.isArrayLiteralExpression(parent);
  const literal = ts.isPropertyAssignment(parent) ? parent.parent : parent;
  if (isInside && isExpected(migration.checker.getContextualType(node as ts.Expression))) return true;
  const type = parameterType(isInside ? literal : node, migration);
  return isInside ? isExpected(type?.getStringIndexType() ?? type?.getNumberIndexType()) : isExpected(type, true);
}

/** Reports whether a type is that of any descriptor, or may be that of one in particular. */
function isExpected(type: ts.Type | undefined, isAnyway = false): boolean {
  const types = type?.isUnion() ? type.types : type ? [type] : [];
  return types.some((one) => isDescriptorType(one) && (isAnyway || one.symbol?.name === "DescService"));
}

/** The type of the parameter that an argument is given for, or the one that a type parameter extends. */
function parameterType(node: ts.Node, migration: Migration): ts.Type | undefined {
  const { checker } = migration;
  const { parent } = node;
  if (!ts.isCallExpression(parent) || parent.expression === node) return undefined;
  const declaration = checker.getResolvedSignature(parent)?.declaration;
  if (!declaration || migration.isDeclaredOld(declaration) || isOfClients(declaration, migration)) return undefined;
  const { parameters } = declaration;
  const parameter = parameters[parent.arguments.indexOf(node as ts.Expression)] ?? parameters.at(-1);
  if (!parameter || !ts.isParameter(parameter)) return undefined;
  const written = checker.getTypeAtLocation(parameter);
  const given = parameter.dotDotDotToken ? (written.getNumberIndexType() ?? written) : written;
  return checker.getBaseConstraintOfType(given) ?? given;
}

/** Reports whether a service is given to a type that is no one of clients: `MyService<typeof GreetService>`. */
function isTypeOfDescriptor(query: ts.TypeQueryNode, migration: Migration): boolean {
  const { parent } = query;
  if (!ts.isTypeReferenceNode(parent) && !ts.isExpressionWithTypeArguments(parent)) return false;
  const declaration = migration.declared(ts.isTypeReferenceNode(parent) ? parent.typeName : parent.expression);
  const { typeParameters } = (declaration ?? {}) as { typeParameters?: ts.NodeArray<ts.TypeParameterDeclaration> };
  const constraint = typeParameters?.[parent.typeArguments?.indexOf(query) ?? 0]?.constraint;
  if (!declaration || !constraint || migration.isDeclaredOld(declaration)) return false;
  return isDescriptorType(migration.checker.getTypeAtLocation(constraint)) && !isOfClients(declaration, migration);
}

function isService(declaration: ts.Declaration): boolean {
  return ts.isVariableDeclaration(declaration) && (declaration.type?.getText().startsWith("GenService<") ?? false);
}

export const connectServiceRules: readonly Rule[] = [returnType, serviceType, service];
