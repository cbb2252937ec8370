/** Calls of the callback of a handler of grpc-js, which answer. */
import { ts } from "ts-morph";
import { functionOf, inlined, isInside, isListener, isTail } from "./inline.ts";

/** Reports whether a use of the callback is a call that ends the handler. */
export function isTailCall(use: ts.Identifier, node: ts.Node): boolean {
  const { parent } = use;
  if (!ts.isCallExpression(parent) || parent.expression !== use || !isInside(use, node)) return false;
  const statement = parent.parent;
  const isEnd = ts.isReturnStatement(statement) || statement === node;
  return isEnd || isTail(ts.isExpressionStatement(statement) ? statement : parent, node);
}

/** Reports whether all ways through a handler call its callback, or throw. */
export function isAnswered(body: ts.Node, own: ts.Node, callback: ts.ParameterDeclaration | undefined): boolean {
  const answers = (node: ts.Node | undefined): boolean => {
    if (node === undefined) return false;
    if (ts.isThrowStatement(node)) return true;
    if (ts.isExpressionStatement(node) || ts.isReturnStatement(node)) return answers(node.expression);
    if (ts.isParenthesizedExpression(node) || ts.isVoidExpression(node)) return answers(node.expression);
    if (ts.isConditionalExpression(node)) return answers(node.whenTrue) && answers(node.whenFalse);
    if (ts.isBlock(node) || ts.isCaseOrDefaultClause(node)) return answers(lastOf(node.statements));
    if (ts.isIfStatement(node)) return answers(node.thenStatement) && answers(node.elseStatement);
    if (ts.isTryStatement(node))
      return answers(node.tryBlock) && (node.catchClause === undefined || answers(node.catchClause.block));
    if (ts.isSwitchStatement(node)) {
      const clauses = node.caseBlock.clauses.filter(({ statements }) => statements.length > 0);
      return clauses.some(ts.isDefaultClause) && clauses.every(answers);
    }
    if (!ts.isCallExpression(node)) return false;
    const listener = node.arguments[1];
    const isEnd = listener && inlined.get(listener) === "end";
    return isEnd
      ? answers((listener as ts.ArrowFunction).body)
      : node.expression.getText() === callback?.name.getText();
  };
  const returns = (node: ts.Node): boolean => {
    if (ts.isReturnStatement(node) && isInside(node, own) && inlined.get(functionOf(node) ?? node) !== "data") {
      const { statements } = node.parent as Partial<ts.Block>;
      const before = statements?.[statements.indexOf(node) - 1];
      return answers(node.expression ?? before);
    }
    return node.forEachChild((child) => (returns(child) ? undefined : true)) !== true;
  };
  return answers(body) && returns(body);
}

/** The statement after which a list of them ends: not a function, an empty `return`, a `break` or a listener for errors. */
function lastOf(statements: readonly ts.Statement[]): ts.Statement | undefined {
  const isEnd = (one: ts.Statement): boolean =>
    ts.isFunctionDeclaration(one) ||
    ts.isBreakStatement(one) ||
    (ts.isReturnStatement(one) && one.expression === undefined) ||
    isListener(one);
  return statements.findLast((one) => !isEnd(one));
}
