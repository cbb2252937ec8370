/**
 * The options of the plugin, set with `opt:` in buf.gen.yaml or with `--triple-es_opt`: their values, checks and help
 * text.
 */
import type { EcmaScriptPluginOptions } from "@bufbuild/protoplugin";
import { suggestion } from "../print/did-you-mean.ts";

export interface OwnOptions {
  /** The sides of each service to generate. */
  readonly parts: ReadonlySet<"client" | "server">;
  readonly initTypes: "alias" | "expanded";
  /** The source of message types: protoc-gen-es, interfaces of their JSON form, or none. */
  readonly messages: "pb" | "json" | "none";
  readonly serverBase: boolean;
  readonly fakes: boolean;
  readonly javaNames: boolean;
  /** True if each method definition refers to its descriptor. */
  readonly descriptors: boolean;
  /** True if a codec is generated for the messages of each file. */
  readonly codecs: boolean;
  /** True if a document of OpenAPI is generated for the services of each file. */
  readonly openApi: boolean;
  /** The relative path from the output folder to the root of the proto files, for source maps. */
  readonly protoSourceMap: string | undefined;
  /**
   * The module that generated code imports the runtime from: a package, or a path below the output folder such as
   * `./rt.js`.
   */
  readonly runtimeImport: string;
  /** All options, as printed in the preamble. */
  readonly parameter: string;
}

export type TripleOptions = OwnOptions & EcmaScriptPluginOptions;

/** Returns the error for a value of an option, or `undefined` if the value is valid. */
type Check = (value: string) => string | undefined;

interface Option {
  readonly usage: string;
  readonly meaning: string;
  readonly check: Check;
  /** The value in the spelling of the plugin kit. Present for options that the kit reads. */
  readonly kit?: (value: string) => string;
  readonly repeatable?: boolean;
}

const oneOf =
  (...values: string[]): Check =>
  (value) =>
    values.includes(value) ? undefined : `must be ${values.join(" or ")}`;
const someOf =
  (...values: string[]): Check =>
  (value) =>
    value.split("+").every((part) => values.includes(part))
      ? undefined
      : `must be ${values.join(", ")}, or several of them joined with +`;
const isTrue = (value: string): boolean => ["", "true", "1"].includes(value);
const flag: Check = (value) => (["", "true", "1", "false", "0"].includes(value) ? undefined : "must be true or false");
const kitFlag = (value: string): string => String(isTrue(value));
const given: Check = (value) => (value === "" ? "needs a value" : undefined);
const relativePath: Check = (value) =>
  value === "" || /^[/\\]|^[\w+.-]+:|\\/.test(value)
    ? "must be a relative path with slashes, from the output folder to the root of the proto files"
    : undefined;
const pair: Check = (value) => (/^[^:]+:.+$/.test(value) ? undefined : "must be <pattern>:<target>");
const same = (value: string): string => value;

const options: Readonly<Record<string, Option>> = {
  target: {
    usage: "target=ts",
    meaning: "what to write: ts, js, dts, or several joined with +; default js+dts",
    check: someOf("ts", "js", "dts"),
    kit: same,
  },
  import_extension: {
    usage: "import_extension=js",
    meaning: "extension of relative imports: none, js or ts; default none",
    check: (value) => (/^(none|\.?js|\.?ts|)$/.test(value) ? undefined : "must be none, js or ts"),
    kit: same,
  },
  js_import_style: {
    usage: "js_import_style=module",
    meaning: "module or legacy_commonjs, for target=js; default module",
    check: oneOf("module", "legacy_commonjs"),
    kit: same,
  },
  keep_empty_files: {
    usage: "keep_empty_files=true",
    meaning: "write a file even for a proto file without services",
    check: flag,
    kit: kitFlag,
  },
  ts_nocheck: { usage: "ts_nocheck=true", meaning: "begin each file with // @ts-nocheck", check: flag, kit: kitFlag },
  elide_plugin_version: {
    usage: "elide_plugin_version=true",
    meaning: "leave the plugin's version out of each file",
    check: flag,
    kit: kitFlag,
  },
  rewrite_imports: {
    usage: "rewrite_imports=./acme/**/*_pb.js:@acme/sdk",
    meaning: "import other modules than usual; may be repeated",
    check: pair,
    kit: same,
    repeatable: true,
  },
  map_imports: {
    usage: "map_imports=acme/:@acme/protos",
    meaning: "import messages of matching proto files from a package; may be repeated",
    check: pair,
    kit: same,
    repeatable: true,
  },
  bootstrap_wkt: {
    usage: "bootstrap_wkt=true",
    meaning: "import well-known types from generated files, not from @bufbuild/protobuf",
    check: flag,
    kit: kitFlag,
  },
  parts: {
    usage: "parts=client",
    meaning: "client, server, or both joined with +; default client+server",
    check: someOf("client", "server"),
  },
  init_types: {
    usage: "init_types=expanded",
    meaning: "alias: init types refer to protobuf-es; expanded: written out, faster to type-check; default alias",
    check: oneOf("alias", "expanded"),
  },
  messages: {
    usage: "messages=json",
    meaning: "pb: those of protoc-gen-es; json: interfaces for plain JSON clients; none: unknown; default pb",
    check: oneOf("pb", "json", "none"),
  },
  server_base: {
    usage: "server_base=true",
    meaning: "add a base class for each service that answers every call as not implemented",
    check: flag,
  },
  fakes: {
    usage: "fakes=true",
    meaning: "add a function for each service that creates a client for tests",
    check: flag,
  },
  java_names: {
    usage: "java_names=true",
    meaning: "add the names Dubbo Java has for service and method to each method",
    check: flag,
  },
  descriptors: {
    usage: "descriptors=true",
    meaning: "add to each method a reference to its descriptor, also if its messages are of other files",
    check: flag,
  },
  codecs: {
    usage: "codecs=false",
    meaning: "omit the codecs of messages, one file for each proto file: output is smaller, and several times slower",
    check: flag,
  },
  openapi: {
    usage: "openapi=true",
    meaning: "write a document of OpenAPI 3.1 as JSON for each proto file with services",
    check: flag,
  },
  proto_source_map: {
    usage: "proto_source_map=../../proto",
    meaning: "for target=dts: lead editors to the proto files; their root as a relative path from the output folder",
    check: relativePath,
  },
  runtime_import: {
    usage: "runtime_import=triple-es",
    meaning: "where to import the runtime from; default triple-es, or triple-es/json for plain JSON",
    check: given,
  },
};

/** Invalid options. The message lists all of them. */
export class OptionsError extends Error {
  override readonly name = "OptionsError";
}

interface Given {
  readonly key: string;
  readonly value: string;
  readonly raw: string;
}

/**
 * Reads the parameter of a request. `kit` is the parameter to pass to the plugin kit. Throws an `OptionsError` that
 * lists all errors.
 */
export function readOptions(parameter: string): { own: OwnOptions; kit: string } {
  const all = parameter
    .split(",")
    .filter((raw) => raw !== "")
    .map((raw): Given => {
      const [, key = "", value = ""] = /^([^=]*)=?(.*)$/s.exec(raw) ?? [];
      return { key, value, raw };
    });
  const last = new Map(all.map(({ key, value }) => [key, value]));
  const is = (key: string): boolean => isTrue(last.get(key) ?? "false");
  const parts = (last.get("parts") ?? "client+server").split("+");
  const messages = (["json", "none"] as const).find((kind) => kind === last.get("messages")) ?? "pb";
  const own: OwnOptions = {
    parts: new Set((["client", "server"] as const).filter((part) => parts.includes(part))),
    initTypes: last.get("init_types") === "expanded" ? "expanded" : "alias",
    messages,
    serverBase: is("server_base"),
    fakes: is("fakes"),
    javaNames: is("java_names"),
    descriptors: is("descriptors"),
    codecs: last.has("codecs") ? is("codecs") : messages === "pb",
    openApi: is("openapi"),
    protoSourceMap: last.get("proto_source_map"),
    runtimeImport: last.get("runtime_import") ?? (messages === "pb" ? "triple-es" : "triple-es/json"),
    parameter: all.flatMap(({ key, raw }) => (key === "rewrite_imports" ? [] : [raw])).join(","),
  };
  const isUnknown = all.some(({ key }) => !Object.hasOwn(options, key));
  const list = isUnknown ? [`the options are ${Object.keys(options).join(", ")}`] : [];
  const mistakes = [...wrongValues(all), ...wrongCombinations(own, last), ...list];
  if (mistakes.length > 0) {
    throw new OptionsError(`invalid options: ${mistakes.join("; ")}`);
  }
  const kit = all.flatMap(({ key, value }) => {
    const spelling = options[key]?.kit;
    return spelling ? [`${key}=${spelling(value)}`] : [];
  });
  // Plain JSON has no handlers: servers read the JSON form of protobuf messages with their schemas.
  return { own: own.messages === "pb" ? own : { ...own, parts: new Set(["client"]) }, kit: kit.join(",") };
}

function wrongValues(all: readonly Given[]): string[] {
  const seen = new Map<string, string>();
  return all.flatMap(({ key, value, raw }) => {
    const option = Object.hasOwn(options, key) ? options[key] : undefined;
    if (option === undefined) return [`there is no "${key}"${suggestion(key, Object.keys(options))}`];
    const wrong = option.check(value);
    if (wrong !== undefined) return [`"${raw}": ${key} ${wrong}`];
    const before = seen.get(key);
    seen.set(key, value);
    const isRepeated = before !== undefined && before !== value && !option.repeatable;
    return isRepeated ? [`"${raw}": ${key} was "${before}" before`] : [];
  });
}

function wrongCombinations(own: OwnOptions, last: ReadonlyMap<string, string>): string[] {
  const { parts, messages, serverBase, fakes, protoSourceMap, runtimeImport } = own;
  const plain = `messages=${messages}`;
  const onlyClients = "which generates only clients";
  const rules: [isBroken: boolean, mistake: string][] = [
    [
      messages !== "pb" && last.has("parts") && parts.has("server"),
      `parts must be client with ${plain}, ${onlyClients}`,
    ],
    [messages !== "pb" && serverBase, `server_base does not go with ${plain}, ${onlyClients}`],
    [messages !== "pb" && own.descriptors, `descriptors do not go with ${plain}, which needs no descriptor`],
    [messages !== "pb" && own.codecs, `codecs do not go with ${plain}, which has no binary format`],
    [messages !== "pb" && own.initTypes === "expanded", `init_types=expanded does not go with ${plain}`],
    [
      runtimeImport === (messages === "pb" ? "triple-es/json" : "triple-es"),
      `runtime_import=${runtimeImport} does not go with ${plain}: it lacks exports`,
    ],
    [!parts.has("server") && serverBase, "server_base needs parts=server or both"],
    [!parts.has("client") && fakes, "fakes need parts=client or both"],
    [
      protoSourceMap !== undefined && !(last.get("target") ?? "js+dts").split("+").includes("dts"),
      "proto_source_map needs target=dts, alone or with others",
    ],
  ];
  return rules.flatMap(([isBroken, mistake]) => (isBroken ? [mistake] : []));
}

export const optionsHelp = `protoc-gen-triple-es: typed Triple clients and server interfaces for the services of proto files.

Started by buf or protoc, it reads a CodeGeneratorRequest on stdin and writes a CodeGeneratorResponse to stdout.
Messages come from protoc-gen-es, run with the same target and import_extension into the same folder.

Options, in opt: of buf.gen.yaml or --triple-es_opt of protoc:
${Object.values(options)
  .map(({ usage, meaning }) => `  ${usage.padEnd(31)} ${meaning}`)
  .join("\n")}

Flags:
  --version                       print the version
  --help                          print this text
`;
