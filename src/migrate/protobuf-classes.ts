/** Classes that extend those of google-protobuf: protobuf-es has none, so that they get the fields of a message. */
import { ts } from "ts-morph";
import { type Generated, generatedOf, schemaCall } from "./generated.ts";
import type { Migration, Rule } from "./migration.ts";

/** The clause of a class that names the message which it extends. */
function clauseOf(node: ts.Node | undefined): ts.HeritageClause | undefined {
  // An interface declares the fields, which a class without a name of its own cannot have.
  if (!node || !ts.isClassDeclaration(node) || !node.name || hasModifier(node, ts.SyntaxKind.DefaultKeyword))
    return undefined;
  return node.heritageClauses?.find((one) => one.token === ts.SyntaxKind.ExtendsKeyword);
}

function messageOf(clause: ts.HeritageClause | undefined, migration: Migration): Generated | undefined {
  const of = generatedOf(clause?.types[0]?.expression, migration);
  return of?.by === "google-protobuf" && ts.isClassDeclaration(of.declaration) ? of : undefined;
}

function hasModifier({ modifiers }: ts.ClassDeclaration, kind: ts.SyntaxKind): boolean {
  return modifiers?.some((one) => one.kind === kind) === true;
}

/** `class Order extends messages.Order`. */
export const messageClass: Rule = (node, migration) => {
  const clause = clauseOf(node);
  const of = messageOf(clause, migration);
  if (!clause || !of) return undefined;
  const { name, members, typeParameters = [] } = node as ts.ClassDeclaration;
  const methods = (of.declaration as ts.ClassDeclaration).members.map((one) => one.name?.getText());
  const own = name?.text;
  if (members.some((one) => one.name && methods.includes(one.name.getText())))
    migration.leave(node, `where ${own} is taken for another ${of.name}, its methods are not called: fields are read`);
  const indent = migration.indentOf(node);
  const text = migration.children(node).slice(0, -1).trimEnd();
  const made = members.some(ts.isConstructorDeclaration)
    ? ""
    : `\n${indent}  constructor() {\n${indent}    ${fields(of, node, migration)};\n${indent}  }`;
  const head = hasModifier(node as ts.ClassDeclaration, ts.SyntaxKind.ExportKeyword) ? "export " : "";
  const types = typeParameters.length > 0 ? `<${typeParameters.map((one) => migration.print(one)).join(", ")}>` : "";
  const base = clause.types.map((one) => migration.print(one)).join();
  return `${text}${made}\n${indent}}\n\n${indent}${head}interface ${own}${types} extends ${base} {}`;
};

/** The call that sets the fields of an object. */
function fields(of: Generated, node: ts.Node, migration: Migration): string {
  return `Object.assign(this, ${schemaCall("create", of, [], node, migration)})`;
}

/** The parts that only a class with a base has: its clause, `super`, `super()` and `override`. */
export const messageClassPart: Rule = (node, migration) => {
  if (ts.isHeritageClause(node)) return node === clauseOf(node.parent) && messageOf(node, migration) ? "" : undefined;
  const isCall = ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.SuperKeyword;
  if (!isCall && node.kind !== ts.SyntaxKind.SuperKeyword && node.kind !== ts.SyntaxKind.OverrideKeyword)
    return undefined;
  const of = messageOf(clauseOf(ts.findAncestor(node, ts.isClassLike)), migration);
  if (!of) return undefined;
  if (isCall) return fields(of, node, migration);
  return node.kind === ts.SyntaxKind.SuperKeyword ? "this" : "";
};

/** `Order.deserializeBinaryFromReader(new Order(), new BinaryReader(bytes))`. */
export const readMessage: Rule = (node, migration) => {
  if (!ts.isCallExpression(node) || !ts.isPropertyAccessExpression(node.expression)) return undefined;
  const { expression, name } = node.expression;
  const of = generatedOf(expression, migration);
  const [message, reader] = node.arguments;
  if (of?.by !== "google-protobuf" || name.text !== "deserializeBinaryFromReader" || !message || !reader)
    return undefined;
  const [bytes] = ts.isNewExpression(reader) ? (reader.arguments ?? []) : [];
  if (!ts.isNewExpression(message) || !bytes) return undefined;
  const read = schemaCall("fromBinary", of, [bytes], node, migration);
  return generatedOf(message.expression, migration) ? read : `Object.assign(${migration.print(message)}, ${read})`;
};
