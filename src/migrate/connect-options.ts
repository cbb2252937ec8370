/** Object literals of options. */
import { ts } from "ts-morph";

export function isLiteral(node: ts.Node | undefined): node is ts.ObjectLiteralExpression {
  return node !== undefined && ts.isObjectLiteralExpression(node);
}

export function initializerOf(options: ts.ObjectLiteralExpression, name: string): ts.Expression | undefined {
  const property = options.properties.find((one) => one.name?.getText() === name);
  if (property && ts.isShorthandPropertyAssignment(property)) return property.name;
  return property && ts.isPropertyAssignment(property) ? property.initializer : undefined;
}
