/** Services in code of ts-proto for nice-grpc: definitions, implementations and types of clients. */
import { ts } from "ts-morph";
import { anyService, type Generated, generatedOf, serviceMember, servicePart, useGenerated } from "./generated.ts";
import type { Migration, Rule } from "./migration.ts";

/** Names of generated code: definitions, implementations and clients. */
export const generated: Rule = (node, migration) => {
  if (ts.isTypeReferenceNode(node) || ts.isExpressionWithTypeArguments(node)) return generatedType(node, migration);
  if (ts.isPropertyAccessExpression(node) && node.name.text === "fullName" && definitionOf(node.expression, migration))
    return `${migration.print(node.expression)}.typeName`;
  if (!ts.isIdentifier(node) && !ts.isPropertyAccessExpression(node)) return undefined;
  if (ts.isImportSpecifier(node.parent) || ts.isExportSpecifier(node.parent)) return undefined;
  const of = definitionOf(node, migration);
  if (!of || ts.isInterfaceDeclaration(of.declaration)) return undefined;
  const name = useGenerated(`${of.name}Def`, "triple", of, node, migration);
  return ts.isShorthandPropertyAssignment(node.parent) ? `${node.getText()}: ${name}` : name;
};

const generatedType: Rule = (node, migration) => {
  const reference = node as ts.TypeReferenceNode | ts.ExpressionWithTypeArguments;
  const name = ts.isTypeReferenceNode(reference) ? reference.typeName : reference.expression;
  const [argument] = reference.typeArguments ?? [];
  const old = migration.nameOf(name);
  if (old === "CompatServiceDefinition") return anyService(node, migration);
  if ((old === "Client" || old === "ServiceImplementation") && argument) {
    if (!ts.isTypeQueryNode(argument))
      return serviceMember(migration.print(argument), old === "Client" ? "client" : "handler");
    const of = definitionOf(argument.exprName, migration);
    return of && useGenerated(`${of.name}${old === "Client" ? "Client" : "Handler"}`, "triple", of, node, migration);
  }
  const of = generatedOf(name, migration);
  if (of?.by !== "ts-proto") return undefined;
  if (of.name === "ServerStreamingMethodResult" && argument) return `AsyncIterable<${migration.print(argument)}>`;
  if (
    !ts.isInterfaceDeclaration(of.declaration) ||
    of.declaration.members.length === 0 ||
    of.declaration.members.some((one) => !ts.isMethodSignature(one))
  )
    return undefined;
  const part = servicePart(of);
  if (!part) return undefined;
  if (argument) migration.todo(node, "values of middleware are in context.values");
  return useGenerated(part, "triple", of, node, migration);
};

/** The service of a definition, such as `GreeterDefinition`. */
export function definitionOf(node: ts.Node, migration: Migration): Generated | undefined {
  const of = generatedOf(node, migration);
  if (of?.by !== "ts-proto" || !of.name.endsWith("Definition")) return undefined;
  return { ...of, name: of.name.slice(0, -"Definition".length) };
}
