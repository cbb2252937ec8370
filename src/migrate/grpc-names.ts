/** Addresses, credentials and options of gRPC libraries. */
import { ts } from "ts-morph";
import type { Migration } from "./migration.ts";
import { isNothing } from "./tree.ts";

/** The name of a code: `NotFound` for `NOT_FOUND`. */
export function codeOf(name: string): string {
  if (name === "CANCELLED") return "Canceled";
  return name
    .split("_")
    .map((word) => word[0] + word.slice(1).toLowerCase())
    .join("");
}

/** The name of the service that generated code has a client, a server or a definition of. */
export function serviceOf(name: string, suffix: string): string | undefined {
  const bare = /^I[A-Z]/.test(name) && suffix !== "Service" ? name.slice(1) : name;
  return bare.endsWith(suffix) ? bare.slice(0, -suffix.length) : undefined;
}

/** The value of a constant of the file that a name refers to, or the node itself. */
export function constantOf(node: ts.Expression, migration: Migration): ts.Expression {
  const value = migration.initializer(node);
  return value?.getSourceFile() === migration.file ? value : node;
}

/** The options of a transport to an address, such as `greet.example:50051`. */
export function transportOptions(
  [address, given, options]: readonly (ts.Expression | undefined)[],
  migration: Migration,
): string {
  const parts: string[] = [];
  const credentials = given && isNothing(given) ? undefined : given;
  const secure = credentials && constantOf(credentials, migration);
  const name =
    secure && ts.isCallExpression(secure) && ts.isPropertyAccessExpression(secure.expression)
      ? secure.expression.name.text
      : "";
  const isTls = name === "createSsl";
  if (credentials && !isTls && name !== "createInsecure")
    migration.todo(credentials, "the credentials are replaced by TLS: see the option tls");
  const scheme = isTls || (credentials && name !== "createInsecure") ? "https" : "http";
  parts.push(`baseUrl: ${address ? urlOf(address, scheme, migration) : '""'}`);
  if (secure && ts.isCallExpression(secure) && isTls) {
    const own = secure.arguments
      .slice(0, 3)
      .flatMap((one, i) => (isNothing(one) ? [] : [`${["ca", "key", "cert"][i]}: ${migration.print(one)}`]));
    if (secure.arguments.length > 3)
      migration.todo(secure, "the options of createSsl have another form: see the option tls");
    if (own.length > 0) parts.push(`tls: { ${own.join(", ")} }`);
  }
  parts.push(...channelOptions(options, migration));
  return `{ ${parts.join(", ")} }`;
}

function urlOf(address: ts.Expression, scheme: string, migration: Migration): string {
  if (ts.isStringLiteralLike(address))
    return address.text.includes("://") ? migration.text(address) : JSON.stringify(`${scheme}://${address.text}`);
  if (ts.isTemplateExpression(address)) return `\`${scheme}://${migration.print(address).slice(1)}`;
  const text = migration.print(address);
  const url = `\`${scheme}://\${${text}}\``;
  // Channels of nice-grpc take URLs too.
  return migration.kind.section === "From nice-grpc" ? `${text}.includes("://") ? ${text} : ${url}` : url;
}

/** Options of channels and servers. */
const OPTIONS: Readonly<Record<string, string>> = {
  "grpc.max_receive_message_length": "maxMessageBytes",
  "grpc.keepalive_time_ms": "pingIntervalMs",
  "grpc.keepalive_timeout_ms": "pingTimeoutMs",
  "grpc.service_config": "serviceConfig",
  interceptors: "interceptors",
};
/** Options without a counterpart that programs need not have. */
const NEEDLESS = ["grpc.max_send_message_length", "grpc.keepalive_permit_without_calls", "grpc.enable_retries"];

export function channelOptions(options: ts.Expression | undefined, migration: Migration): string[] {
  const literal = options && constantOf(options, migration);
  if (literal === undefined) return [];
  if (!ts.isObjectLiteralExpression(literal)) {
    migration.leave(literal, "the options are those of createTransport or createServer");
    return [];
  }
  return literal.properties.flatMap((one) => {
    const name = one.name && (ts.isStringLiteral(one.name) || ts.isIdentifier(one.name)) ? one.name.text : "";
    const own = OPTIONS[name];
    const value = ts.isPropertyAssignment(one) ? migration.print(one.initializer) : name;
    if (own !== undefined && !value.startsWith("-")) return [`${own}: ${value}`];
    if (!NEEDLESS.includes(name)) migration.leave(one, `the option ${name} has another form`);
    return [];
  });
}

/** The options of `listen` for an address. */
export function listenOptions(address: ts.Expression, migration: Migration): string {
  const text = ts.isStringLiteralLike(address)
    ? address.text
    : ts.isTemplateExpression(address)
      ? migration.print(address).slice(1, -1)
      : "";
  const colon = text.lastIndexOf(":");
  const [host, port] = [text.slice(0, colon), text.slice(colon + 1)];
  if (colon < 0) {
    const url = `new ${migration.imports.free("URL") === "URL" ? "URL" : "globalThis.URL"}(\`http://\${${migration.print(address)}}\`)`;
    return `{ host: ${url}.hostname, port: Number(${url}.port) }`;
  }
  const number = port.startsWith("${") && port.endsWith("}") ? `Number(${port.slice(2, -1)})` : port;
  return `{ host: ${host.includes("${") ? `\`${host}\`` : JSON.stringify(host)}, port: ${number} }`;
}

/** The options of a call from a deadline, a time or an instant, which may be that of several calls. */
export function timeoutOf(deadline: ts.Expression, migration: Migration): string {
  const sum = ts.isNewExpression(deadline) && deadline.arguments?.length === 1 ? deadline.arguments[0] : deadline;
  if (
    sum &&
    ts.isBinaryExpression(sum) &&
    sum.left.getText() === "Date.now()" &&
    sum.operatorToken.kind === ts.SyntaxKind.PlusToken
  )
    return `timeoutMs: ${migration.print(sum.right)}`;
  const text = migration.print(deadline);
  const type = migration.checker.getTypeAtLocation(deadline);
  const isOptional = migration.checker.getNonNullableType(type) !== type;
  const given = ts.isIdentifier(deadline) ? text : `(${text})`;
  return `timeoutMs: ${isOptional ? `${given} && ` : ""}Math.max(0, Number(${text}) - Date.now())`;
}
