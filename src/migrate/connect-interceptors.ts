/** Requests and responses in interceptors of Connect for ECMAScript. */
import { ts } from "ts-morph";
import type { Migration, Rule } from "./migration.ts";

/** Members of requests in interceptors and of contexts that are in other places. */
const requestMember: Rule = (node, migration) => {
  if (!ts.isPropertyAccessExpression(node)) return undefined;
  const origin = migration.origin(node);
  const text = migration.text(node);
  if (text.endsWith(".service.typeName") || text.endsWith(".method.parent.typeName")) {
    const inner = node.expression as ts.PropertyAccessExpression;
    const owner = migration.nameOf(inner.name) ? inner : (inner.expression as ts.PropertyAccessExpression);
    const name = migration.nameOf(owner);
    const of = name?.startsWith("Response") ? requestOf(node, migration) : name && migration.print(owner.expression);
    if (of) return `${of}.method.service`;
  }
  const request =
    origin?.types[0]?.includes("Response") && node.name.text === "method" ? requestOf(node, migration) : undefined;
  if (request) return `${request}.method`;
  const of = (): string => migration.print(node.expression);
  if (node.name.text === "methodKind" && migration.nameOf(node.expression)) return `${of()}.kind`;
  if (origin?.name === "HandlerContext.url") return `${of()}.method.path`;
  switch (origin?.types[0] === "RequestCommon" && origin.name) {
    case "RequestCommon.url":
      return `${of()}.method.path`;
    case "RequestCommon.signal":
      // That of a client is optional.
      return `${of()}.context.signal${ts.isPropertyAccessExpression(node.parent) && !node.parent.questionDotToken ? "?" : ""}`;
    case "RequestCommon.contextValues":
      return `${of()}.context.values`;
  }
  if (origin !== undefined && origin.types.length > 1 && node.name.text === "message")
    return `(${of()}.stream ? ${of()}.messages : ${of()}.message)`;
  return undefined;
};

/** `log(request.message)`, whose type is `object` now, where a `Message` is expected. */
const requestMessage: Rule = (node, migration) => {
  if (!ts.isPropertyAccessExpression(node) || node.name.text !== "message") return undefined;
  if (!ts.isCallExpression(node.parent) || node.parent.expression === node) return undefined;
  const [owner] = migration.origin(node)?.types ?? [];
  if (!owner?.includes("Request") && !owner?.includes("Response")) return undefined;
  const expected = migration.checker.getContextualType(node)?.getNonNullableType();
  const [of] =
    expected?.symbol?.name === "AsyncIterable" ? migration.checker.getTypeArguments(expected as ts.TypeReference) : [];
  // The type is an alias.
  const isStream = of?.aliasSymbol?.name === "Message";
  if (!isStream && expected?.aliasSymbol?.name !== "Message") return undefined;
  const type = migration.typed(migration.imports.use("@bufbuild/protobuf", "Message", node));
  const text = requestMember(node, migration) ?? migration.children(node);
  return type === "" ? text : `${text} as ${isStream ? `AsyncIterable<${type}>` : type}`;
};

/** The request of the interceptor around a response, `(next) => async (request) => …`, which has what the response lacks. */
function requestOf(node: ts.Node, migration: Migration): string | undefined {
  for (let one = node; !ts.isSourceFile(one); one = one.parent) {
    const [only, ...others] = ts.isArrowFunction(one) && ts.isArrowFunction(one.parent) ? one.parameters : [];
    const isRequest = only && migration.checker.getTypeAtLocation(only).getProperty("requestMethod");
    if (isRequest && others.length === 0 && ts.isIdentifier(only.name)) return only.name.text;
  }
  return undefined;
}

export const interceptorRules: readonly Rule[] = [requestMessage, requestMember];
