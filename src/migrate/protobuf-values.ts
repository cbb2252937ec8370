/** Classes of messages of google-protobuf as values, which are schemas of protobuf-es. */
import { ts } from "ts-morph";
import { type Generated, generatedBy, generatedOf, schemaOf } from "./generated.ts";
import type { Migration, Rule } from "./migration.ts";

const PROTOBUF = "@bufbuild/protobuf";

/** The class of a message of google-protobuf. */
export function classOf(node: ts.Node, migration: Migration): Generated | undefined {
  const of = generatedOf(node, migration);
  return of?.by === "google-protobuf" && ts.isClassDeclaration(of.declaration) ? of : undefined;
}

/** Reports whether a type is that of messages, or of their classes. */
function isOfMessages(type: ts.Type, { checker }: Migration): boolean {
  const of = checker.getBaseConstraintOfType(type) ?? type;
  return (of.isUnion() ? of.types : [of]).every(({ symbol }) => {
    const declaration = symbol?.declarations?.[0];
    return (
      declaration !== undefined &&
      ts.isClassDeclaration(declaration) &&
      generatedBy(declaration)?.by === "google-protobuf"
    );
  });
}

/** `order instanceof Order`, `typeof Order`, `parse(Order)`, and `new Type()` and `InstanceType<T>` of such a class. */
export const protobufValue: Rule = (node, migration) => {
  const use = (name: string): string => migration.imports.use(PROTOBUF, name, node);
  if (ts.isBinaryExpression(node) && node.operatorToken.kind === ts.SyntaxKind.InstanceOfKeyword) {
    const of = classOf(node.right, migration);
    return of && `${use("isMessage")}(${migration.print(node.left)}, ${schemaOf(of, node, migration)})`;
  }
  if (ts.isNewExpression(node) && !node.arguments?.length && !classOf(node.expression, migration))
    return isOfMessages(migration.checker.getTypeAtLocation(node), migration)
      ? `${use("create")}(${migration.print(node.expression)})`
      : undefined;
  if (ts.isTypeReferenceNode(node) && node.typeName.getText() === "InstanceType") {
    const [of] = node.typeArguments ?? [];
    return of && isOfMessages(migration.checker.getTypeFromTypeNode(of), migration)
      ? `${use("MessageShape")}<${migration.print(of)}>`
      : undefined;
  }
  const of = isValue(node) ? classOf(node, migration) : undefined;
  return of && schemaOf(of, node, migration);
};

/** Reports whether a name is the value or the `typeof` of what it names, and not called or a part of a longer name. */
function isValue(node: ts.Node): boolean {
  const { parent } = node;
  if (ts.isTypeQueryNode(parent)) return parent.exprName === node;
  if (ts.isVariableDeclaration(parent) || ts.isPropertyAssignment(parent)) return parent.initializer === node;
  return ts.isCallExpression(parent) && parent.expression !== node;
}
