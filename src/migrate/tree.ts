/** Questions about nodes of a syntax tree that need no types. */
import { ts } from "ts-morph";

/** Reports whether a node is what is searched, or has it inside. */
export function contains(node: ts.Node, is: (one: ts.Node) => boolean): boolean {
  return is(node) || node.forEachChild((child) => contains(child, is) || undefined) === true;
}

/** Reports whether a node has an identifier of this text. */
export function uses(node: ts.Node, name: string): boolean {
  return contains(node, (one) => ts.isIdentifier(one) && one.text === name);
}

export function isFunction(node: ts.Node | undefined): node is ts.ArrowFunction | ts.FunctionExpression {
  return node !== undefined && (ts.isArrowFunction(node) || ts.isFunctionExpression(node));
}

/** The modifiers of a declaration, but for `async`. */
export function modifiersOf(node: ts.Node): string {
  const all = ts.canHaveModifiers(node) || ts.canHaveDecorators(node) ? (node.modifiers ?? []) : [];
  const kept = all.filter(({ kind }) => kind !== ts.SyntaxKind.AsyncKeyword);
  return kept.map((one) => `${one.getText()} `).join("");
}

export function isNothing(node: ts.Node): boolean {
  return node.kind === ts.SyntaxKind.NullKeyword || node.getText() === "undefined";
}

/** The statement of a block that contains a node. */
export function statementOf(node: ts.Node): ts.Statement {
  let statement = node;
  while (!(ts.isStatement(statement) && hasStatements(statement.parent))) statement = statement.parent;
  return statement as ts.Statement;
}

export function hasStatements(node: ts.Node): boolean {
  return ts.isSourceFile(node) || ts.isBlock(node) || ts.isCaseOrDefaultClause(node) || ts.isModuleBlock(node);
}
