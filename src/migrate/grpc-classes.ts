/** Classes of clients that are passed on, to code that creates one of any service: functions that create a client. */
import { ts } from "ts-morph";
import { generatedOf, useGenerated } from "./generated.ts";
import { serviceOf, transportOptions } from "./grpc-names.ts";
import type { Migration, Rule } from "./migration.ts";

/** `pool.get(GreeterClient)` and `typeof GreeterClient`. */
const value: Rule = (node, migration) => {
  if (!ts.isIdentifier(node) && !ts.isPropertyAccessExpression(node)) return undefined;
  if (!isPassed(node)) return undefined;
  const of = generatedOf(node, migration);
  const name = of && ["grpc-tools", "ts-proto"].includes(of.by) ? serviceOf(of.name, "Client") : undefined;
  const isClass = of && (ts.isClassDeclaration(of.declaration) || ts.isVariableDeclaration(of.declaration));
  return isClass && name ? useGenerated(`create${name}Client`, "triple", of, node, migration) : undefined;
};

function isPassed(node: ts.Node): boolean {
  const { parent } = node;
  if (ts.isCallExpression(parent) || ts.isNewExpression(parent)) return parent.expression !== node;
  const isValue = ts.isPropertyAssignment(parent) || ts.isVariableDeclaration(parent);
  return (isValue && parent.initializer === node) || ts.isArrayLiteralExpression(parent) || ts.isTypeQueryNode(parent);
}

/** `new (address: string, credentials: ChannelCredentials) => T`. */
const type: Rule = (node, migration) => {
  if (!ts.isConstructorTypeNode(node) || !isOfClient(node, migration)) return undefined;
  const transport = migration.imports.use("triple-es", "Transport", node);
  const text = `(transport: ${transport}) => ${migration.print(node.type)}`;
  return ts.isTypeAliasDeclaration(node.parent) || ts.isParameter(node.parent) ? text : `(${text})`;
};

function isOfClient({ parameters }: ts.ConstructorTypeNode, migration: Migration): boolean {
  return parameters.some(
    ({ type }) => type && ts.isTypeReferenceNode(type) && migration.nameOf(type.typeName) === "ChannelCredentials",
  );
}

/** `new Client(address, credentials)`, of a class with such a type. */
const created: Rule = (node, migration) => {
  if (!ts.isNewExpression(node)) return undefined;
  const of = migration.checker.getResolvedSignature(node)?.declaration;
  if (!of || !ts.isConstructorTypeNode(of) || !isOfClient(of, migration)) return undefined;
  const create = migration.imports.use("triple-es/node", "createTransport", node);
  const options = transportOptions(node.arguments ?? [], migration);
  return `${migration.print(node.expression)}(${create}(${options}))`;
};

/** The type of any client, which is an object of its methods. */
const any: Rule = (node, migration) =>
  ts.isTypeReferenceNode(node) && migration.nameOf(node.typeName) === "Client" ? "object" : undefined;

/** `GreeterService.greet`, and the type of such a definition. */
const method: Rule = (node, migration) => {
  if (ts.isTypeReferenceNode(node) && migration.nameOf(node.typeName) === "MethodDefinition")
    return migration.imports.use("triple-es", "Method", node);
  if (!ts.isPropertyAccessExpression(node)) return undefined;
  const of = generatedOf(node.expression, migration);
  const name = of && ["grpc-tools", "ts-proto"].includes(of.by) ? serviceOf(of.name, "Service") : undefined;
  if (!of || !name || !ts.isVariableDeclaration(of.declaration)) return undefined;
  return `${useGenerated(`${name}Def`, "triple", of, node, migration)}.methods.${node.name.text}`;
};

export const classRules: readonly Rule[] = [value, type, created, any, method];
