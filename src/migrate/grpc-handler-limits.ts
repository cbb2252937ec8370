/** Handlers of grpc-js that stay, and calls that stay streams of Node, because they are used where no loop can be. */
import { ts } from "ts-morph";
import type { Handler } from "./grpc-handler-body.ts";
import { functionOf, inlined, isInside } from "./inline.ts";
import type { Migration } from "./migration.ts";
import { isFunction } from "./tree.ts";

/** The reason why a handler becomes no generator: its call stays a stream of Node, which is written to or listened to elsewhere. */
export const AS_STREAM = "the call stays a stream";

/** Returns the reason why a handler stays as it is, or why its call stays a stream. */
export function whyNot(
  node: ts.FunctionLikeDeclaration,
  uses: readonly ts.Identifier[],
  callback: ts.ParameterDeclaration | undefined,
  kind: Handler["kind"],
  migration: Migration,
): string | undefined {
  if (callback && !ts.isIdentifier(callback.name)) return "the callback of a handler is destructured";
  for (const use of uses) {
    const { parent } = use;
    if (ts.isForOfStatement(parent) && kind.requests) continue;
    if (kind.responses && isStored(use, migration)) return AS_STREAM;
    if (!ts.isPropertyAccessExpression(parent)) return "a handler passes its call to another function";
    const method = parent.name.text;
    const calls = ts.isCallExpression(parent.parent) ? parent.parent : undefined;
    const [event, listener] = calls?.arguments ?? [];
    if (
      method === "on" &&
      event &&
      listener &&
      ["data", "end", "error"].includes(event.getText().slice(1, -1)) &&
      kind.requests
    ) {
      if (!isFunction(listener)) return AS_STREAM;
      if (goesOn(calls?.parent, event.getText().slice(1, -1))) return AS_STREAM;
      // A nested function, a condition without braces, or a chain.
      if (
        !calls ||
        !ts.isExpressionStatement(calls.parent) ||
        functionOf(use) !== node ||
        !ts.isBlock(calls.parent.parent)
      )
        return AS_STREAM;
      inlined.set(listener, event.getText().slice(1, -1));
    }
  }
  for (const use of uses) {
    const method = ts.isPropertyAccessExpression(use.parent) ? use.parent.name.text : "";
    const isAnswer = ["write", "end", "destroy", "emit"].includes(method) && (kind.requests || kind.responses);
    if (isAnswer && !isInside(use, node)) return AS_STREAM;
    const { parent: statement } = use.parent.parent;
    const isStatement =
      ts.isExpressionStatement(statement) || ts.isReturnStatement(statement) || inlined.has(statement);
    // The handler waits for `write`.
    if (method === "write" && !isStatement) return AS_STREAM;
  }
  const isEnded = uses.some(
    ({ parent }) => ts.isPropertyAccessExpression(parent) && ["end", "destroy", "emit"].includes(parent.name.text),
  );
  if (kind.responses && !isEnded) return AS_STREAM;
  const usesThis = ts.isArrowFunction(node) && kind.responses && node.body?.getText().includes("this.");
  // A generator cannot be an arrow function.
  return usesThis ? AS_STREAM : undefined;
}

/** Reports whether a call becomes a member of an object, or of a collection of the language. */
function isStored({ parent }: ts.Identifier, { checker }: Migration): boolean {
  const called = ts.isCallExpression(parent) ? checker.getResolvedSignature(parent)?.declaration : undefined;
  return (
    ts.isPropertyAssignment(parent) ||
    ts.isShorthandPropertyAssignment(parent) ||
    called?.getSourceFile().fileName.includes("/lib/lib.") === true
  );
}

/** Reports whether statements after a listener run before it, which a loop over the requests would run after it. */
function goesOn(node: ts.Node | undefined, event: string): boolean {
  if (event === "error" || !node || ts.isFunctionLike(node)) return false;
  if (ts.isIterationStatement(node, false) || ts.isTryStatement(node)) return true;
  const statements: readonly ts.Statement[] = (node.parent as Partial<ts.Block>).statements ?? [];
  const later = event === "data" ? ["end", "error"] : ["error"];
  const isFollowed = statements.slice(statements.indexOf(node as ts.Statement) + 1).some((one) => {
    if (ts.isFunctionDeclaration(one) || (ts.isReturnStatement(one) && !one.expression)) return false;
    const call = ts.isExpressionStatement(one) && ts.isCallExpression(one.expression) ? one.expression : undefined;
    const isListener = call && ts.isPropertyAccessExpression(call.expression) && call.expression.name.text === "on";
    return !(isListener && later.includes(call.arguments[0]?.getText().slice(1, -1) ?? ""));
  });
  return isFollowed || goesOn(node.parent, event);
}
