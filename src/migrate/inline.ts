/** Functions that are passed to `on`, whose statements become those of the function around them. */
import { ts } from "ts-morph";
import type { Migration } from "./migration.ts";

/** The functions whose statements move, with their events. */
export const inlined = new WeakMap<ts.Node, string>();

/** The function that contains a node. */
export function functionOf(node: ts.Node): ts.Node | undefined {
  let one = node.parent;
  while (one && !ts.isFunctionLike(one)) one = one.parent;
  return one;
}

/** Reports whether only functions that are inlined are between a node and a function around it. */
export function isInside(node: ts.Node, outer: ts.Node): boolean {
  let one = functionOf(node);
  while (one && one !== outer && inlined.has(one)) one = functionOf(one);
  return one === outer;
}

/** Reports whether a function ends after a statement of it. */
export function isTail(statement: ts.Node, end: ts.Node): boolean {
  const { parent } = statement;
  if (parent === end) return true;
  if (ts.isBlock(parent) || ts.isCaseOrDefaultClause(parent)) {
    const { statements } = parent;
    const next = statements[statements.indexOf(statement as ts.Statement) + 1];
    if (next && ts.isReturnStatement(next) && !next.expression) return true;
    if (next && ts.isBreakStatement(next)) return isTail(parent.parent.parent, end);
    if (next && !isListener(next)) return false;
    return parent.parent === end || isTail(ts.isCaseOrDefaultClause(parent) ? parent.parent.parent : parent, end);
  }
  if (ts.isIfStatement(parent) || ts.isCatchClause(parent) || ts.isTryStatement(parent)) return isTail(parent, end);
  // The statements of a listener for the end are the last ones of the handler.
  if (ts.isFunctionLike(parent) && inlined.get(parent) === "end") {
    const call = parent.parent.parent;
    return isTail(call, end);
  }
  return false;
}

/** Reports whether a statement is the listener for errors, which is dropped. */
export function isListener(node: ts.Statement): boolean {
  if (!ts.isExpressionStatement(node) || !ts.isCallExpression(node.expression)) return false;
  const listener = node.expression.arguments[1];
  return listener !== undefined && inlined.get(listener) === "error";
}

/** Prints the statements of a function without its braces. */
export function inlinedBody({ body }: ts.ArrowFunction | ts.FunctionExpression, migration: Migration): string {
  const text = migration.print(body);
  if (ts.isBlock(body)) return text.slice(1, -1).trim();
  return text === "" || text.endsWith(";") ? text : `${text};`;
}
