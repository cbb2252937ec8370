/**
 * Writes docs/options.md and docs/dubbo-options.md: tables of the options and members of the public interfaces, from their doc comments. `npm run
 * generate` calls this module.
 */
import { writeFileSync } from "node:fs";
import { Node, Project, type Symbol as TypeSymbol } from "ts-morph";

/** A table of an interface or class that an entry point exports. */
interface Table {
  /** The file of the entry point, the name of the type, and the name of its member whose options these are, if it is one. */
  readonly type: readonly [entry: string, name: string, member?: string];
  readonly title: string;
  readonly text: string;
  /** The table whose options the type has too; they are not repeated. */
  readonly base?: string;
  /** `members`: of an object that programs receive. Default: options. */
  readonly kind?: "members";
}

const TABLES: readonly Table[] = [
  {
    type: ["node", "ServerOptions"],
    title: "createServer",
    text: "Options of a server on Node, for its router and its sockets. Routers of `createRouter` have the same options, without those of sockets.",
  },
  {
    type: ["node", "ConnectionLimits"],
    title: "limits",
    text: "Limits of each connection to a server, in the option `limits` of `createServer`.",
  },
  { type: ["node", "ListenOptions"], title: "listen", text: "Options of `server.listen`." },
  { type: ["node", "CloseOptions"], title: "close", text: "Options of `server.close` and `transport.close`." },
  { type: ["index", "ServiceOptions"], title: "add", text: "Options of `router.add` and `server.add`." },
  {
    type: ["index", "ServiceLimits"],
    title: "limits of services",
    text: "Limits of the calls of a service, in the option `limits` of `add`.",
  },
  { type: ["index", "CorsOptions"], title: "cors", text: "The option `cors` of servers and routers." },
  {
    type: ["node", "TrustProxyOptions"],
    title: "trustProxy",
    text: "The option `trustProxy` of servers and handlers.",
  },
  {
    type: ["node", "NodeHandlerOptions"],
    title: "nodeHandler",
    text: "Options of the handler for `node:http`, `node:http2`, Express and Connect.",
  },
  {
    type: ["fetch", "FetchHandlerOptions"],
    title: "fetchHandler",
    text: "Options of the handler for servers with the interface of `fetch`.",
  },
  {
    type: ["node", "NodeTransportOptions"],
    title: "createTransport of triple-es/node",
    text: "Options of a transport to one server.",
  },
  {
    type: ["node", "BalancedTransportOptions"],
    title: "createTransport with a resolver",
    text: "Further options of a transport to the endpoints that a resolver finds, in place of `baseUrl`.",
    base: "NodeTransportOptions",
  },
  {
    type: ["node", "RegistryTransportOptions"],
    title: "createTransport with a registry",
    text: "Further options of a transport to the services of a registry, in place of `baseUrl`. It has the options of the previous table too, without `resolver`.",
    base: "BalancedTransportOptions",
  },
  {
    type: ["node", "EjectionOptions"],
    title: "ejection",
    text: "Limits of outlier ejection, in the option `ejection` of transports.",
  },
  {
    type: ["node", "EjectionOptions", "successRateEjection"],
    title: "successRateEjection",
    text: "A member of `ejection`.",
  },
  {
    type: ["node", "EjectionOptions", "failurePercentageEjection"],
    title: "failurePercentageEjection",
    text: "A member of `ejection`.",
  },
  {
    type: ["discovery", "Endpoint"],
    title: "Endpoint",
    text: "Members of an endpoint, which resolvers return and `fixed` accepts in place of an address.",
  },
  {
    type: ["discovery", "EndpointStatus"],
    title: "endpoints",
    text: "Members of each element that `transport.endpoints()` returns.",
    kind: "members",
  },
  { type: ["discovery", "DnsOptions"], title: "dns", text: "Options of the resolver." },
  { type: ["discovery", "KubernetesOptions"], title: "kubernetes", text: "Options of the resolver." },
  {
    type: ["index", "RetryOptions"],
    title: "retry",
    text: "Options of retries and hedging, in the option `retry` of transports.",
  },
  {
    type: ["index", "RetryBudget"],
    title: "budget",
    text: "The limit on retries relative to recent calls, in the option `budget` of `retry`.",
  },
  {
    type: ["fetch", "FetchTransportOptions"],
    title: "createTransport of triple-es/fetch",
    text: "Options of a transport on `fetch`, for pages and other platforms. Those of `createWebSocketTransport` are `baseUrl`, `interceptors`, `javaNames`, `maxMessageBytes` and `codec`, an object, by default `protoCodec`.",
  },
  {
    type: ["index", "InMemoryTransportOptions"],
    title: "createInMemoryTransport",
    text: "Options of a transport that calls a router in the same process: `protocol`, `codec`, `serializations` and `interceptors` of `createTransport`.",
    base: "NodeTransportOptions",
  },
  { type: ["index", "CallOptions"], title: "Calls", text: "Options of a call." },
  {
    type: ["index", "HandlerContext"],
    title: "HandlerContext",
    text: "Members of the context of a call, the second argument of its handler. Take members by name, as in `{ signal, timeoutMs }`: a copy of the context, `{ ...context }` or `...rest`, does not have most of them.",
    kind: "members",
  },
  {
    type: ["index", "Peer"],
    title: "peer",
    text: "Members of `context.peer`, the client of a call.",
    kind: "members",
  },
  {
    type: ["index", "PeerTls"],
    title: "peer.tls",
    text: "Members of `context.peer.tls`.",
    kind: "members",
  },
  {
    type: ["index", "RpcError"],
    title: "RpcError",
    text: "Members of the error of a failed call. Its `message` is the name of the code in brackets, and `rawMessage`.",
    kind: "members",
  },
  {
    type: ["index", "RpcErrorOptions"],
    title: "RpcError: options",
    text: "Options of its constructor.",
  },
];

const DUBBO_TABLES: readonly Table[] = [
  {
    type: ["index", "RegisterOptions"],
    title: "register",
    text: "Options of the registration of a server with a registry.",
  },
  { type: ["zookeeper", "ZooKeeperOptions"], title: "zookeeper", text: "Options of the registry." },
  { type: ["etcd", "EtcdOptions"], title: "etcd", text: "Options of the registry." },
  { type: ["nacos", "NacosOptions"], title: "nacos", text: "Options of the registry." },
  {
    type: ["rules", "RulesOptions"],
    title: "rules",
    text: "Options of traffic rules, for the option `rules` of a registry.",
  },
];

const HEAD = `# Options

The options and members of the interfaces that programs use most, with the first sentence of their doc comments. Editors and the API
reference of the site show the rest. \`npm run generate\` writes this page.
`;

const DUBBO_HEAD = `# Options of triple-es-dubbo

The options of registration and registries, from their doc comments. \`npm run generate\` writes this page. Options are optional
unless their description says that they are required.
`;

/** Writes the tables of `triple-es` to one file and those of `triple-es-dubbo` to another. `root` is the folder of the repository. */
export function writeOptionTables(root: string, file: string, dubboFile: string): void {
  const project = new Project({ tsConfigFilePath: `${root}/tsconfig.json`, skipAddingFilesFromTsConfig: true });
  writeTables(project, `${root}/runtime/src`, TABLES, file, HEAD);
  writeTables(project, `${root}/dubbo/src`, DUBBO_TABLES, dubboFile, DUBBO_HEAD);
}

/** `folder` has the entry points of the package. */
function writeTables(project: Project, folder: string, tables: readonly Table[], file: string, head: string): void {
  const membersOf = (entry: string, name: string, member?: string): TypeSymbol[] => {
    const exported = project.addSourceFileAtPath(`${folder}/${entry}.ts`).getExportedDeclarations();
    const [declaration] = exported.get(name) ?? [];
    if (declaration === undefined) throw new Error(`${entry}.ts does not export ${name}`);
    const type = declaration.getType();
    const own = member === undefined ? type : type.getPropertyOrThrow(member).getTypeAtLocation(declaration);
    return own.getNonNullableType().getProperties();
  };
  const sections = tables.map((table) => {
    const [entry, name, own] = table.type;
    const base = tables.find(({ type: [, one] }) => one === table.base);
    const repeated = base === undefined ? [] : membersOf(...base.type).map((member) => member.getName());
    const members = membersOf(entry, name, own).filter((member) => !repeated.includes(member.getName()));
    return section(table, members);
  });
  writeFileSync(file, [head, ...sections].join("\n"));
}

function section({ title, text, type, kind }: Table, members: readonly TypeSymbol[]): string {
  const rows = members.flatMap((member) => {
    const row = rowOf(member);
    if (row === undefined) return [];
    const [name, of, about, fallback] = row;
    if (kind === "members") return `| \`${name}\` | \`${of}\` | ${about} |`;
    const absent = member.isOptional() ? fallback : "required";
    return `| \`${name}\` | \`${of.replace(/ \\\| undefined$/, "")}\` | ${about} | ${absent} |`;
  });
  const head =
    kind === "members"
      ? "| member | type | meaning |\n|---|---|---|"
      : "| option | type | meaning | default |\n|---|---|---|---|";
  const cells = rows.length === 0 ? "" : `\n${head}\n${rows.join("\n")}\n`;
  return `## ${title}\n\n${text} Type: \`${type.slice(1).join(".")}\`.\n${cells}`;
}

/** The name, type, meaning and default of a property of the runtime; `undefined` for one that is excluded or not ours. */
function rowOf(symbol: TypeSymbol): readonly [string, string, string, string] | undefined {
  const declaration = symbol
    .getDeclarations()
    .find((one) => Node.isPropertySignature(one) || Node.isPropertyDeclaration(one));
  if (!Node.isPropertySignature(declaration) && !Node.isPropertyDeclaration(declaration)) return undefined;
  if (declaration.getSourceFile().isInNodeModules()) return undefined;
  const node = declaration.getTypeNode();
  const written = (node ?? declaration.getType()).getText(declaration).replaceAll(/\s+/g, " ").replace(/^\| /, "");
  // An object whose members have doc comments is too long for a cell.
  const type = written.includes("/**") ? "object" : written;
  if (type === "undefined") return undefined;
  const docs = declaration.getJsDocs().map((doc) => doc.getDescription());
  const text = docs
    .join(" ")
    .replaceAll(/\{@link ([^}]+)\}/g, (_, name: string) => `\`${name.trim()}\``)
    .replaceAll(/\s+/g, " ")
    .trim();
  if (text === "")
    throw new Error(`${symbol.getName()} in ${declaration.getSourceFile().getFilePath()} has no doc comment`);
  const [, meaning = "", fallback = ""] = /^(.*?)(?: ?Default: (.*?)\.?)?$/.exec(text) ?? [];
  return [symbol.getName(), cell(type), cell(firstSentence(meaning)), cell(firstSentence(fallback).replace(/\.$/, ""))];
}

/** Returns the text up to the first full stop before a space. */
function firstSentence(text: string): string {
  return text.split(/(?<=\.) /, 1)[0] ?? "";
}

/** Escapes the separator of cells. */
function cell(text: string): string {
  return text.replaceAll("|", "\\|");
}
