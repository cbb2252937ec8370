/**
 * The names of an enum's values, in order: from a union of strings, an `enum` or a constant object.
 */
import { type IndexedAccessTypeNode, Node, SyntaxKind, type TypeNode } from "ts-morph";
import type { Problems } from "../model/diagnostics.ts";
import { isJavaName } from "../model/java-name.ts";

const CONSTANT_FORM = "the values of a constant object: (typeof Color)[keyof typeof Color]";

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
  const known = new Set<string>();
  return found.flatMap(({ node, value }) => {
    if (typeof value === "string" && known.has(value)) {
      problems.error(node, `${value} is a value of the enum already; Java has each once`);
      return [];
    }
    if (typeof value === "string" && isJavaName(value)) {
      known.add(value);
      return [value];
    }
    problems.error(node, `${node.getText()} is not a string that names a constant of a Java enum, such as "RED"`);
    return [];
  });
}

interface Found {
  readonly node: Node;
  readonly value: unknown;
}

function literals(type: TypeNode | undefined): Found[] | undefined {
  if (Node.isParenthesizedTypeNode(type)) return literals(unwrapped(type));
  if (Node.isUnionTypeNode(type))
    return type.getTypeNodes().flatMap((part) => literals(part) ?? [{ node: part, value: 0 }]);
  if (Node.isLiteralTypeNode(type)) {
    const literal = type.getLiteral();
    return [{ node: type, value: Node.isStringLiteral(literal) ? literal.getLiteralValue() : undefined }];
  }
  if (Node.isIndexedAccessTypeNode(type)) return constantValues(type);
  return undefined;
}

/** Returns the values of the object in `(typeof Color)[keyof typeof Color]`. */
function constantValues(access: IndexedAccessTypeNode): Found[] | undefined {
  const type = unwrapped(access.getObjectTypeNode());
  const index = unwrapped(access.getIndexTypeNode());
  if (!Node.isTypeQuery(type) || !Node.isTypeOperatorTypeNode(index)) return undefined;
  const isAll = index.getOperator() === SyntaxKind.KeyOfKeyword;
  if (!isAll || unwrapped(index.getTypeNode()).getText() !== type.getText()) return undefined;
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

function unwrapped(type: TypeNode): TypeNode {
  return Node.isParenthesizedTypeNode(type) ? unwrapped(type.getTypeNode()) : type;
}
