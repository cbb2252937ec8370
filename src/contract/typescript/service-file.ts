/** Prints the file of a contract: clients, handlers, service definitions and the conversion of messages. */
import { relative } from "node:path";
import { type Declaration, objectLiteral, printDeclaration } from "../../print/declaration.ts";
import { fileHead, type OutputFile } from "../../print/file-head.ts";
import { type ImportedModule, Imports, type PathOptions } from "../../print/imports.ts";
import { describeAgain, jsDoc } from "../../print/jsdoc.ts";
import { literal, propertyKey } from "../../print/literal.ts";
import { Scope, unbindable } from "../../print/names.ts";
import { FORMAT } from "../../version.ts";
import { clientResult, givenType, handlerResult, serviceInterfaces } from "../model/service-interfaces.ts";
import { converter } from "./wire-code.ts";
import type {
  ContractMethod,
  ContractService,
  MessageType,
  NamedType,
  TypeScriptContract,
  WireType,
} from "./wire-type.ts";

/** The module with the functions that generated code calls, in the root of the output folder. */
export const SUPPORT_FILE = "triple-contract.ts";

/** Global names that generated code uses, and its own. */
const RESERVED = [
  ...unbindable,
  "Array",
  "BigInt",
  "Date",
  "Map",
  "Number",
  "Object",
  "ReadonlyArray",
  "ReadonlyMap",
  "Record",
  "Uint8Array",
  "t",
];

export interface ServiceFileOptions {
  /** The absolute path of the output folder. */
  readonly out: string;
  readonly importExtension: PathOptions["importExtension"];
}

interface Tools {
  readonly core: ImportedModule;
  readonly json: ImportedModule;
  readonly text: (message: MessageType) => string;
  readonly nameOf: (shape: NamedType) => string;
}

/** Prints a contract. `path` is that of the file below the output folder. */
export function serviceFile(
  { file, services }: TypeScriptContract,
  path: string,
  options: ServiceFileOptions,
): OutputFile {
  const { out, importExtension } = options;
  const scope = new Scope(RESERVED);
  const own = services.map((service) => namesOf(service).map((name) => scope.claim(name)));
  const imports = new Imports(path, scope, { importExtension, rewriteImports: [] });
  const names = new Map<NamedType, string>();
  const nameOf = (shape: NamedType): string => {
    const known = names.get(shape) ?? scope.claim(`convert${shape.name}`);
    names.set(shape, known);
    return known;
  };
  const localName = (module: string, name: string, local: string): string => {
    const below = `./${relative(out, module)
      .replaceAll("\\", "/")
      .replace(/(?:\.d)?\.ts$/, ".js")}`;
    return imports.module(module.startsWith("/") || /^[A-Za-z]:/.test(module) ? below : module).type(name, local);
  };
  const text = ({ text: whole, names: used }: MessageType["text"]): string =>
    used.reduceRight(
      (printed, { start, end, home }) =>
        printed.slice(0, start) + localName(home.module, home.name, home.localName) + printed.slice(end),
      whole,
    );
  const tools: Tools = {
    core: imports.module("triple-es"),
    json: imports.module("triple-es/json"),
    text: (message) => text(message.text),
    nameOf,
  };
  const declarations = services.flatMap((service, index) => serviceDeclarations(service, own[index] ?? [], tools));
  const print = (one: Declaration): string => printDeclaration(one, "ts", "export ");
  const interfaces = declarations.filter(({ kind }) => kind === "interface").map(print);
  const values = declarations.filter(({ kind }) => kind !== "interface").map(print);
  const functions: string[] = [];
  // The loop also visits types that it adds to the map.
  for (const [shape, name] of names) {
    functions.push(`const ${name}: t.Convert = ${converter(shape.type, nameOf)};`);
  }
  const support =
    `${"../".repeat(path.split("/").length - 1) || "./"}${SUPPORT_FILE.replace(/ts$/, importExtension)}`.replace(
      /\.none$/,
      "",
    );
  const lines = [...imports.statements("TypeScript"), `import * as t from ${literal(support)};`];
  const head = fileHead(`${out}/${path}`, file, undefined, "contract");
  return { path, text: `${head}\n${[lines.join("\n"), ...interfaces, ...functions, ...values].join("\n\n")}\n` };
}

function namesOf({ name, methods }: ContractService): string[] {
  return [
    `${name}Client`,
    `${name}Handler`,
    `${name}Def`,
    `create${name}Client`,
    `methodsOf${name}`,
    ...methods.map((one) => `${name}_${one.name.replaceAll(/[.-]/g, "_")}`),
  ];
}

function serviceDeclarations(service: ContractService, own: readonly string[], tools: Tools): Declaration[] {
  const { wireName, methods, deprecated } = service;
  const { core, json } = tools;
  const [client = "", handler = "", definition = "", factory = "", ofClients = "", ...constants] = own;
  const constant = (method: ContractMethod): string => constants[methods.indexOf(method)] ?? "";
  const isUnary = methods.every(({ kind }) => kind === "unary");
  const create = isUnary ? "createClient" : "createStreamingClient";
  return [
    ...serviceInterfaces(
      service,
      methods,
      { name: client, signature: (method) => clientSignature(method, tools) },
      { name: handler, signature: (method) => handlerSignature(method, tools) },
    ),
    ...methods.map(
      (method): Declaration => ({
        kind: "const",
        doc: describeAgain(method),
        name: constant(method),
        type: () => methodType(method, tools),
        value: () => methodValue(method, wireName, tools),
      }),
    ),
    {
      kind: "const",
      isLocal: true,
      doc: "",
      name: ofClients,
      type: () => `${core.type("ServiceDef")}<${client}, ${handler}>`,
      value: () =>
        objectLiteral([
          ["typeName", literal(wireName)],
          [
            "methods",
            objectLiteral(
              methods.map((one) => [propertyKey(one.name), constant(one)]),
              "  ",
            ),
          ],
          ["format", FORMAT],
        ]),
    },
    {
      kind: "const",
      doc: jsDoc([`The service ${wireName}, for servers.`, ...(deprecated ? ["", "@deprecated"] : [])]),
      name: definition,
      type: () => `${core.type("ServiceDef")}<${client}, ${handler}>`,
      value: () => `/*@__PURE__*/ ${core.value("serveContract")}(${ofClients})`,
    },
    {
      kind: "function",
      doc: jsDoc([`Creates a client of ${wireName}.`, ...(deprecated ? ["", "@deprecated"] : [])]),
      name: factory,
      parameters: [
        { name: "transport", type: () => core.type("Transport") },
        { name: "defaults", type: () => core.type("CallDefaults"), optional: true },
      ],
      returns: () => client,
      result: () => `${json.value(create)}(${ofClients}, transport, defaults)`,
    },
  ];
}

const NOTHING = "Record<string, never>";

function clientSignature(method: ContractMethod, tools: Tools): string {
  const { kind, request, response, parameter } = method;
  const type = request === undefined ? NOTHING : tools.text(request);
  const result = response === undefined ? "void" : tools.text(response);
  const options = `${parameter === "options" ? "callOptions" : "options"}?: ${tools.core.type("CallOptions")}`;
  return `(${parameter}${request === undefined ? "?" : ""}: ${givenType(kind, type)}, ${options}): ${clientResult(kind, result)}`;
}

function handlerSignature(method: ContractMethod, tools: Tools): string {
  const { kind, request, response, parameter } = method;
  const type = request === undefined ? NOTHING : tools.text(request);
  const result = response === undefined ? "void" : tools.text(response);
  const context = `${parameter === "context" ? "callContext" : "context"}: ${tools.core.type("HandlerContext")}`;
  return `(${parameter}: ${givenType(kind, type)}, ${context}): ${handlerResult(kind, result)}`;
}

const METHOD_TYPES = {
  unary: "UnaryMethod",
  server_streaming: "ServerStreamingMethod",
  client_streaming: "ClientStreamingMethod",
  bidi_streaming: "BidiStreamingMethod",
};

function methodType({ kind, request, response }: ContractMethod, { core, text }: Tools): string {
  const input = request === undefined ? `${NOTHING} | undefined` : text(request);
  return `${core.type(METHOD_TYPES[kind])}<${input}, ${response === undefined ? "void" : text(response)}>`;
}

function methodValue(
  { name, kind, parameter, request, response, deprecated }: ContractMethod,
  service: string,
  tools: Tools,
): string {
  const { json, nameOf } = tools;
  const message = (label: string, type: WireType | undefined): string =>
    type === undefined ? "t.nothing" : `/*@__PURE__*/ t.message(${literal(label)}, ${converter(type, nameOf, "    ")})`;
  const parts = [
    message(parameter, request?.wire),
    message("result", response?.wire),
    ...(kind === "unary" ? [] : [json.value("plainJsonStreams")]),
  ];
  const payload = `/*@__PURE__*/ ${json.value("contractPayload")}(\n${parts.map((part) => `    ${part},\n`).join("")}  )`;
  return objectLiteral([
    ["kind", literal(kind)],
    ["service", literal(service)],
    ["name", literal(name)],
    ["path", literal(`/${service}/${name}`)],
    ["payload", payload],
    ...(deprecated ? [["deprecated", "true"] as [string, string]] : []),
  ]);
}
