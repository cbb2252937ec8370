/** The migration from @grpc/grpc-js, with code of ts-proto or of grpc-tools. */
import { ts } from "ts-morph";
import { type Generated, generatedOf, useGenerated } from "./generated.ts";
import { callRules } from "./grpc-calls.ts";
import { classRules } from "./grpc-classes.ts";
import { clientRules } from "./grpc-clients.ts";
import { code, grpcErrorRules } from "./grpc-errors.ts";
import { handlerRules } from "./grpc-handlers.ts";
import { loaderRules, whyLoaded } from "./grpc-loader.ts";
import { serviceOf } from "./grpc-names.ts";
import { serverRules } from "./grpc-servers.ts";
import { findHandlers, serviceRules } from "./grpc-services.ts";
import { findStreams, streamRules } from "./grpc-streams.ts";
import { createKind } from "./kind.ts";
import { loaderFieldRules } from "./loader-messages.ts";
import { messageRules } from "./messages.ts";
import type { Kind, Migration, Rule } from "./migration.ts";

const MAIN = "triple-es";

/** The parts of interceptors of grpc-js, on both sides. */
const INTERCEPTORS = [
  ..."Interceptor InterceptorOptions InterceptingCall NextCall RequesterBuilder ListenerBuilder StatusBuilder".split(
    " ",
  ),
  ..."ServerInterceptor ServerInterceptingCall ServerListenerBuilder ResponderBuilder".split(" "),
];

const names: Record<string, string> = {
  ...Object.fromEntries(INTERCEPTORS.map((name) => [name, "!is an interceptor: (next) => (request) => next(request)"])),
  Metadata: `${MAIN} Metadata`,
  ServiceError: `${MAIN} RpcError`,
  Server: `${MAIN}/node Server`,
  Status: `${MAIN} Code`,
  loadPackageDefinition: "!loads proto files at run time: generate code from them",
  HealthImplementation: "!is addHealth(server) of triple-es/health",
  ServingStatusMap: "!is the argument of set of addHealth(server), for each service",
  ReflectionService: "!is addReflection(server) of triple-es/reflection",
};

const members: Record<string, string> = {
  ".details": "rawMessage",
  "ServiceError.metadata": "trailers",
  "StatusObject.metadata": "trailers",
  "ServerErrorResponse.code": "=",
  "ClientMethodDefinition.path": "=",
  "ServerMethodDefinition.path": "=",
  "Metadata.add": "append",
  "Metadata.merge": "appendAll",
  "Metadata.remove": "delete",
  "Metadata.getMap": "toJSON",
  "Client.close": "!is close of the transport",
  "HealthImplementation.addToServer": "!is addHealth(server) of triple-es/health",
  "HealthImplementation.setStatus": '!is set of addHealth(server), with "serving" for "SERVING"',
};

const same = "code message set get";

/** Names of generated code: services, clients and implementations. */
const generated: Rule = (node, migration) => {
  if (ts.isPropertyAccessExpression(node) && node.name.text === "service") {
    const client = generatedOf(node.expression, migration);
    const name = client && serviceOf(client.name, "Client");
    if (client && name) return useGenerated(`${name}Def`, "triple", client, node, migration);
  }
  if (ts.isExpressionWithTypeArguments(node)) return generated(node.expression, migration);
  const name = ts.isQualifiedName(node) ? node.right : ts.isPropertyAccessExpression(node) ? node.name : node;
  const { parent } = node;
  if (!ts.isIdentifier(name) || ts.isImportSpecifier(parent)) return undefined;
  if (ts.isExportSpecifier(parent) && (parent.parent.parent.moduleSpecifier || parent.propertyName)) return undefined;
  const of = generatedOf(node, migration);
  if (!of || (of.name !== name.text && !migration.imports.isAlias(name)) || !isOfService(of)) return undefined;
  const suffixes = { Service: "Def", Server: "Handler", Handlers: "Handler", Client: "Client" } as const;
  for (const [suffix, own] of Object.entries(suffixes)) {
    const service = serviceOf(of.name, suffix);
    const used = service && useGenerated(`${service}${own}`, "triple", of, node, migration);
    if (used) return ts.isExportSpecifier(parent) ? `${used} as ${name.text}` : used;
  }
  return undefined;
};

/** Reports whether a declaration is that of a service, and not of a message or a method with such a name. */
function isOfService({ by, declaration: node }: Generated): boolean {
  return (
    (by === "grpc-tools" || by === "ts-proto" || by === "proto-loader") &&
    (ts.isVariableDeclaration(node) ||
      ts.isClassDeclaration(node) ||
      (ts.isInterfaceDeclaration(node) && (by === "grpc-tools" || node.heritageClauses !== undefined)) ||
      ts.isTypeAliasDeclaration(node))
  );
}

/** `metadata.get(name)`, an array, and other members of metadata. */
const metadata: Rule = (node, migration) => {
  if (
    ts.isElementAccessExpression(node) &&
    node.argumentExpression.getText() === "0" &&
    ts.isCallExpression(node.expression)
  ) {
    const { expression } = node.expression;
    if (migration.nameOf(expression) === "Metadata.get")
      return binary(node.expression, "getBinary", migration) ?? migration.children(node.expression);
  }
  if (ts.isNewExpression(node) && node.arguments?.length && migration.nameOf(node.expression) === "Metadata") {
    migration.todo(node, "the options of metadata are those of a call");
    return `new ${migration.imports.use(MAIN, "Metadata", node)}()`;
  }
  if (!ts.isCallExpression(node) || !ts.isPropertyAccessExpression(node.expression)) return undefined;
  const name = migration.nameOf(node.expression.name);
  if (name !== "Metadata.get" && name !== "Metadata.clone") return undefined;
  const of = migration.print(node.expression.expression);
  if (name === "Metadata.clone") return `new ${migration.imports.use(MAIN, "Metadata", node)}(${of})`;
  const bytes = binary(node, "getAllBinary", migration);
  if (bytes !== undefined) return bytes;
  return `${of}.getAll(${node.arguments.map((one) => migration.print(one)).join(", ")})`;
};

/** `metadata.get("key-bin")`. */
function binary(node: ts.CallExpression, method: string, migration: Migration): string | undefined {
  const [name] = node.arguments;
  if (!name || !ts.isStringLiteral(name) || !name.text.endsWith("-bin")) return undefined;
  migration.todo(node, "bytes of metadata are a Uint8Array");
  return `${migration.print((node.expression as ts.PropertyAccessExpression).expression)}.${method}(${name.getText()})`;
}

export const grpcJs: Kind = createKind({
  packages: ["@grpc/grpc-js", "@grpc/proto-loader", "@grpc/reflection", "grpc-health-check"],
  unsupported: {
    "extends CallCredentials": "has no counterpart: set headers in an interceptor",
  },
  section: "From @grpc/grpc-js",
  tools: ["ts-proto", "grpc-tools", "grpc_tools_node_protoc_ts", "google-protobuf", "@types/google-protobuf"],
  plugins: ["ts_proto", "ts-proto", "protoc-gen-ts", "protocolbuffers/js"],
  names,
  members,
  same,
  prepare: (migration) => {
    findHandlers(migration);
    findStreams(migration);
  },
  whyWhole: whyLoaded,
  rules: [
    ...loaderFieldRules,
    ...handlerRules,
    ...streamRules,
    ...callRules,
    ...clientRules,
    ...classRules,
    code,
    metadata,
    ...serverRules,
    ...grpcErrorRules,
    ...serviceRules,
    generated,
    ...loaderRules,
    ...messageRules,
  ],
});
