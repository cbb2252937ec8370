/** The names of an enum's values, in their order: of a union of strings, of an `enum`, or of a constant object. */
import { Node, type TypeNode } from "ts-morph";
import { isJavaName } from "./java-name.ts";
import type { Problems } from "./problem.ts";

export function enumValues(declaration: Node, problems: Problems): string[] {
  const found = Node.isEnumDeclaration(declaration)
    ? declaration.getMembers().map((member) => ({ node: member as Node, value: member.getValue() }))
    : Node.isTypeAliasDeclaration(declaration)
      ? literals(declaration.getTypeNode())
      : undefined;
  if (found === undefined || found.length === 0) {
    problems.error(declaration, `@enum belongs to a union of strings, an enum, or ${CONSTANT_FORM}`);
    return [];
  }
  return found.flatMap(({ node, value }) => {
    if (typeof value === "string" && isJavaName(value)) return [value];
    problems.error(node, `${node.getText()} is no string that names a constant of a Java enum, such as "RED"`);
    return [];
  });
}

const CONSTANT_FORM = "the values of a constant object: (typeof Color)[keyof typeof Color]";

interface Found {
  readonly node: Node;
  readonly value: unknown;
}

function literals(type: TypeNode | undefined): Found[] | undefined {
  if (Node.isParenthesizedTypeNode(type)) return literals(type.getTypeNode());
  if (Node.isUnionTypeNode(type))
    return type.getTypeNodes().flatMap((part) => literals(part) ?? [{ node: part, value: 0 }]);
  if (Node.isLiteralTypeNode(type)) {
    const literal = type.getLiteral();
    return [{ node: type, value: Node.isStringLiteral(literal) ? literal.getLiteralValue() : undefined }];
  }
  if (Node.isIndexedAccessTypeNode(type)) return constantValues(type.getObjectTypeNode());
  return undefined;
}

/** The values of the object in `(typeof Color)[…]`. */
function constantValues(type: Node): Found[] | undefined {
  if (Node.isParenthesizedTypeNode(type)) return constantValues(type.getTypeNode());
  if (!Node.isTypeQuery(type)) return undefined;
  const symbol = type.getExprName().getSymbol();
  const declaration = (symbol?.isAlias() ? symbol.getAliasedSymbol() : symbol)?.getValueDeclaration();
  let value: Node | undefined = Node.isVariableDeclaration(declaration) ? declaration.getInitializer() : undefined;
  while (Node.isAsExpression(value) || Node.isSatisfiesExpression(value)) value = value.getExpression();
  if (!Node.isObjectLiteralExpression(value)) return undefined;
  return value.getProperties().map((property) => {
    const initializer = Node.isPropertyAssignment(property) ? property.getInitializer() : undefined;
    return { node: property, value: Node.isStringLiteral(initializer) ? initializer.getLiteralValue() : undefined };
  });
}
