/** Requests and responses in interceptors of Connect for ECMAScript. */
import { ts } from "ts-morph";
import { isDescriptorType } from "./connect-generics.ts";
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
  const of = (): string => migration.print(node.expression);
  const [owner, member] = origin?.name.split(".") ?? [];
  const isOwn = member === "method" && /^(?:UnaryRequest|StreamRequest|HandlerContext)$/.test(owner ?? "");
  const method = request ? `${request}.method` : isOwn ? `${of()}.method` : undefined;
  if (method) return isDescriptorUse(node, migration) ? descriptor(method, node, migration) : method;
  if (member === "service" && (owner === "RequestCommon" || owner === "HandlerContext"))
    return `${descriptor(`${of()}.method`, node, migration)}.parent`;
  if (["input", "output"].includes(node.name.text) && isMethod(node.expression, migration))
    return `${of()}.${node.name.text}${migration.typed("!")}`;
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

function isMethod(node: ts.Expression, migration: Migration): boolean {
  return /^(?:UnaryRe|StreamRe|HandlerContext)\w*\.method$/.test(migration.nameOf(node) ?? "");
}

/** Reports whether a method is passed as a descriptor, or a member is read that only a descriptor has. */
function isDescriptorUse(node: ts.PropertyAccessExpression, { checker }: Migration): boolean {
  const { parent } = node;
  if (ts.isPropertyAccessExpression(parent))
    return !["name", "deprecated", "methodKind", "input", "output"].includes(parent.name.text);
  if (!ts.isCallExpression(parent)) return false;
  const expected = checker.getContextualType(node);
  const isOfDescriptors = checker
    .getResolvedSignature(parent)
    ?.declaration?.getSourceFile()
    .fileName.includes("/@bufbuild/");
  return isOfDescriptors || (expected !== undefined && isDescriptorType(expected));
}

function descriptor(method: string, node: ts.Node, migration: Migration): string {
  return `${migration.imports.use("triple-es", "descriptorOf", node)}(${method})${migration.typed("!")}`;
}

/** `{ service: request.service, method: request.method }` of a response, which has neither. */
const responseMember: Rule = (node, migration) => {
  if (!ts.isPropertyAssignment(node) && !ts.isShorthandPropertyAssignment(node)) return undefined;
  if (!["service", "method"].includes(node.name.getText())) return undefined;
  const name = ts.isPropertyAssignment(node) ? migration.nameOf(node.name) : migration.shorthand(node);
  return name?.includes("Response") ? "" : undefined;
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

export const interceptorRules: readonly Rule[] = [requestMessage, requestMember, responseMember];
