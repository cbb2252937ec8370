/** Transports of Connect for ECMAScript, whose protocol may be another one. */
import { ts } from "ts-morph";
import { initializerOf, isLiteral } from "./connect-options.ts";
import type { Rule } from "./migration.ts";

const transport: Rule = (node, migration) => {
  if (!ts.isCallExpression(node)) return undefined;
  const origin = migration.origin(node.expression);
  const [options] = node.arguments;
  if (!origin?.name.endsWith("Transport") || origin.name === "createRouterTransport" || options === undefined)
    return undefined;
  const { name, from } = origin;
  if (!isLiteral(options)) {
    migration.todo(node, "its options are elsewhere: useBinaryFormat is codec, and the protocol is HTTP RPC or gRPC");
    if (name !== "createGrpcWebTransport") return undefined;
    return `${migration.print(node.expression)}({ codec: "proto", ...${migration.print(options)}, protocol: "grpc-web" })`;
  }
  const isHttp1 = initializerOf(options, "httpVersion")?.getText().includes("1.1") ?? false;
  const added: string[] = [];
  if (name === "createGrpcWebTransport") {
    added.push('protocol: "grpc-web"');
    if (initializerOf(options, "useBinaryFormat") === undefined) added.push('codec: "proto"');
  } else if (name === "createConnectTransport") {
    const isRpc = isHttp1 || from !== "@connectrpc/connect-node";
    if (from === "@connectrpc/connect-node" && isHttp1) added.push('protocol: "http-rpc"', 'httpVersion: "1.1"');
    migration.todo(
      node,
      `the transport speaks ${isRpc ? "HTTP RPC" : "gRPC"}, not the Connect protocol: migrate its server too`,
    );
  }
  const text = migration.print(options);
  const [first] = options.properties;
  const separator = first && migration.text(options)[1] === "\n" ? `\n${migration.indentOf(first)}` : " ";
  const whole = added.length === 0 ? text : text.replace("{", `{${separator}${added.join(`,${separator}`)},`);
  return `${migration.print(node.expression)}(${whole})`;
};

/** `useBinaryFormat`, which is a codec. */
const codec: Rule = (node, migration) => {
  if (!ts.isPropertyAssignment(node) || !migration.nameOf(node.name)?.endsWith(".useBinaryFormat")) return undefined;
  const value = migration.print(node.initializer);
  if (value === "true" || value === "false") return `codec: "${value === "true" ? "proto" : "json"}"`;
  return `codec: ${value} ? "proto" : "json"`;
};

export const transportRules: readonly Rule[] = [transport, codec];
