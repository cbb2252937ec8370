/** The migration from nice-grpc and nice-grpc-web, with code of ts-proto. */
import { ts } from "ts-morph";
import { code, codes } from "./grpc-errors.ts";
import { timeoutOf } from "./grpc-names.ts";
import { createKind } from "./kind.ts";
import { messageRules } from "./messages.ts";
import type { Kind, Rule } from "./migration.ts";
import { channelRules } from "./nice-clients.ts";
import { niceErrorRules } from "./nice-errors.ts";
import { middlewareRules } from "./nice-middleware.ts";
import { server } from "./nice-servers.ts";
import { generated } from "./nice-services.ts";

const MAIN = "triple-es";
const NODE = "triple-es/node";

const names: Record<string, string> = {
  CallContext: `${MAIN} HandlerContext`,
  CallOptions: `${MAIN} CallOptions`,
  ChannelImplementation: `${NODE} ClosableTransport`,
  "nice-grpc-web:Channel": `${MAIN} Transport`,
  ClientError: `${MAIN} RpcError`,
  ServerError: `${MAIN} RpcError`,
  ClientMiddleware: `${MAIN} Interceptor`,
  ServerMiddleware: `${MAIN} Interceptor`,
  Metadata: `${MAIN} Metadata`,
  MethodDescriptor: `${MAIN} Method`,
  Server: `${NODE} Server`,
  Status: `${MAIN} Code`,
  createClientFactory: "!has no counterpart: pass interceptors to createTransport",
  retryMiddleware: "!is the option retry of createTransport",
  waitForChannelReady: "!is a call with waitForReady: true",
};

const members: Record<string, string> = {
  "CallContext.metadata": "requestHeaders",
  "CallContext.header": "responseHeaders",
  "CallContext.trailer": "responseTrailers",
  "CallContext.sendHeader": "sendHeaders",
  "CallOptions.metadata": "headers",
  "CallOptions.onHeader": "onHeaders",
  "CallOptions.onTrailer": "onTrailers",
  "ClientError.path": "method",
  ".details": "rawMessage",
  "Metadata.*": "=",
  "Server.shutdown": "close",
  "ChannelImplementation.close": "=",
  "MethodDescriptor.path": "=",
};

const same = "add code message signal name";

/** The method of a call: its streams and its options. */
const method: Rule = (node, migration) => {
  if (!ts.isPropertyAccessExpression(node)) return undefined;
  const { expression } = node;
  switch (migration.nameOf(node)) {
    case "MethodDescriptor.requestStream":
      return `["client_streaming", "bidi_streaming"].includes(${migration.print(expression)}.kind)`;
    case "MethodDescriptor.responseStream":
      return `["server_streaming", "bidi_streaming"].includes(${migration.print(expression)}.kind)`;
    case "MethodDescriptor.idempotencyLevel":
      if (!ts.isPropertyAccessExpression(expression)) return undefined;
      return `${migration.print(expression.expression)}.idempotency?.toUpperCase()`;
  }
  return undefined;
};

/** `Metadata(fields)`, `context.peer`, and the option `deadline`. */
const value: Rule = (node, migration) => {
  if (ts.isCallExpression(node) && migration.nameOf(node.expression) === "Metadata")
    return `new ${migration.imports.use(MAIN, "Metadata", node)}(${node.arguments.map((one) => migration.print(one)).join(", ")})`;
  if (ts.isPropertyAccessExpression(node) && migration.nameOf(node) === "CallContext.peer")
    return `String(${migration.print(node.expression)}.peer.address)`;
  if (ts.isPropertyAssignment(node) && migration.nameOf(node.name) === "DeadlineOptions.deadline") {
    const isOffset = migration.checker.getTypeAtLocation(node.initializer).flags & ts.TypeFlags.NumberLike;
    return isOffset ? `timeoutMs: ${migration.print(node.initializer)}` : timeoutOf(node.initializer, migration);
  }
  if (ts.isPropertyAssignment(node) && migration.nameOf(node.name)?.startsWith("RetryOptions.")) {
    migration.todo(node, `${node.name.getText()} is part of the option retry of createTransport`);
    return "";
  }
  const types = ts.isIntersectionTypeNode(node)
    ? node.types.map((one) => (ts.isTypeReferenceNode(one) ? one.typeName : undefined))
    : ts.isHeritageClause(node)
      ? node.types.map(({ expression }) => expression)
      : [];
  if (types.some((one) => migration.nameOf(one) === "CallContext"))
    migration.todo(node, "values of middleware are in context.values");
  return undefined;
};

export const niceGrpc: Kind = createKind({
  packages: [
    ...[
      "",
      "-common",
      "-web",
      "-server-health",
      "-server-reflection",
      "-error-details",
      "-prometheus",
      "-opentelemetry",
    ].map((name) => `nice-grpc${name}`),
    ...["deadline", "retry", "devtools", "logging"].map((name) => `nice-grpc-client-middleware-${name}`),
    ...["logging", "terminator", "access-log"].map((name) => `nice-grpc-server-middleware-${name}`),
    "@grpc/grpc-js",
  ],
  unsupported: {},
  section: "From nice-grpc",
  tools: ["ts-proto"],
  plugins: ["ts_proto", "ts-proto"],
  names,
  members,
  same,
  rules: [
    ...middlewareRules,
    ...channelRules,
    server,
    code,
    codes,
    ...niceErrorRules,
    method,
    value,
    generated,
    ...messageRules,
  ],
});
