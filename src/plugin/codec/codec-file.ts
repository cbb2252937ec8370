/** A generated codec file: for each message of a proto file the functions that write, read and make it. */
import type { DescEnum, DescFile, DescMessage } from "@bufbuild/protobuf";
import { nestedTypes } from "@bufbuild/protobuf/reflect";
import {
  type ConstantDeclaration,
  type Declaration,
  exportStatements,
  type Procedure,
  printDeclaration,
  type Target,
} from "../../print/declaration.ts";
import { Imports } from "../../print/imports.ts";
import { jsDoc } from "../../print/jsdoc.ts";
import { propertyAccess } from "../../print/literal.ts";
import { memo } from "../../print/memoize.ts";
import { Scope, unbindable } from "../../print/names.ts";
import type { Tools } from "../message-types.ts";
import { commonJs, emptyModule, type Generator, preamble } from "../preamble.ts";
import { decodeStatements } from "./decode.ts";
import { encodeStatements } from "./encode.ts";
import { hasPrototype, initialProperties, isMethodOfObjects, propertiesLiteral, prototypeLiteral } from "./message.ts";
import type { CodecNames } from "./names.ts";

const WELL_KNOWN = "@bufbuild/protobuf/wkt";
/** Prefixes of all names that a file declares for a message, besides its codec. */
const PREFIXES = ["encode", "decode", "new", "prototypeOf"];

/** Returns the messages of the file, including nested ones. Map entries have no message type of their own. */
export function messagesOf(file: DescFile): DescMessage[] {
  return [...nestedTypes(file)].filter((type) => type.kind === "message");
}

export function codecFile(
  file: DescFile,
  path: string,
  target: Target,
  tools: Tools & { readonly generator: Generator },
): string {
  const { options, pb, textOf, generator } = tools;
  const messages = messagesOf(file);
  const shapeOf = (message: DescMessage): string => pb.type(message).shape;
  const isOwn = (message: DescMessage): boolean => message.file === file;
  const own = messages.flatMap((message) => [
    ...PREFIXES.map((prefix) => `${prefix}${shapeOf(message)}`),
    codecName(shapeOf(message)),
  ]);
  const scope = new Scope([
    ...unbindable,
    ...own,
    "reader",
    "writer",
    "message",
    "BigInt",
    "Object",
    "Number",
    "String",
  ]);
  const imports = new Imports(path, scope, options);
  const runtime = imports.module(codecRuntime(options.runtimeImport));
  const moduleOf = (message: DescMessage) => imports.module(codecModule(message, tools));
  const typeOf = memo((type: DescMessage | DescEnum) => {
    const { shape, from } = pb.type(type);
    return imports.module(from).type(shape);
  });
  const named =
    (verb: string) =>
    (message: DescMessage): string => {
      const name = `${verb}${shapeOf(message)}`;
      return isOwn(message) ? name : moduleOf(message).value(name);
    };
  const names: CodecNames = {
    encode: named("encode"),
    decode: named("decode"),
    create: named("new"),
    type: typeOf,
    runtime: (name) => runtime.value(name),
    read: (name) => `${runtime.value(`read${name}`)}(reader)`,
    typed: (text) => (target === "ts" ? text : ""),
  };
  const emptyBytes = (): string => names.runtime("EMPTY_BYTES");

  const encode = (message: DescMessage): Procedure => ({
    kind: "procedure",
    doc: jsDoc([`Writes a message of type ${message.typeName}.`]),
    name: names.encode(message),
    parameters: [
      { name: "writer", type: () => runtime.type("MessageWriter") },
      { name: "message", type: () => typeOf(message) },
    ],
    returns: () => "void",
    statements: () => encodeStatements(message, names),
  });
  const decode = (message: DescMessage): Procedure => ({
    kind: "procedure",
    doc: jsDoc([`Reads a message of type ${message.typeName} up to an offset, or a group to its end.`]),
    name: names.decode(message),
    parameters: [
      { name: "reader", type: () => runtime.type("MessageReader") },
      { name: "end", type: () => "number" },
      { name: "message", type: () => typeOf(message), initial: () => `${names.create(message)}()` },
    ],
    returns: () => typeOf(message),
    statements: () => decodeStatements(message, names),
  });
  const codec = (message: DescMessage): ConstantDeclaration => ({
    kind: "const",
    doc: jsDoc([`The binary format of ${message.typeName}.`]),
    name: codecName(shapeOf(message)),
    type: () => `${runtime.type("MessageCodec")}<${typeOf(message)}>`,
    value: () => {
      const functions = `${names.encode(message)}, ${names.decode(message)}`;
      return `/*@__PURE__*/ ${runtime.value("createMessageCodec")}(${functions})`;
    },
  });
  const create = (message: DescMessage): (Procedure | ConstantDeclaration)[] => {
    const properties = initialProperties(message, emptyBytes);
    const procedure = (statements: readonly string[]): Procedure => ({
      kind: "procedure",
      doc: jsDoc([`Creates a message of type ${message.typeName} without any field set.`]),
      name: names.create(message),
      parameters: [],
      returns: () => typeOf(message),
      statements: () => statements,
    });
    if (!hasPrototype(message)) {
      const literal = propertiesLiteral(properties).split("\n");
      // TypeScript compares a field that is not set with the method that the object inherits.
      const cast = message.fields.some(isMethodOfObjects) ? names.typed(" as never") : "";
      return [procedure([`return ${literal[0]}`, ...literal.slice(1, -1), `${literal.at(-1)}${cast};`])];
    }
    const prototype = `prototypeOf${shapeOf(message)}`;
    return [
      {
        kind: "const",
        doc: jsDoc(["Defaults of fields that have presence."]),
        name: prototype,
        isLocal: true,
        type: () => "object",
        value: () => prototypeLiteral(message, emptyBytes),
      },
      procedure([
        `const message = Object.create(${prototype});`,
        ...properties.map(([name, value]) => `${propertyAccess("message", name)} = ${value};`),
        "return message;",
      ]),
    ];
  };

  const head = preamble(file, textOf(file), generator, options);
  if (messages.length === 0) return `${head}\n${emptyModule(target, options)}`;
  const declarations: Declaration[] = messages.flatMap((message) => [
    encode(message),
    decode(message),
    ...create(message),
    codec(message),
  ]);
  const isCommonJs = target === "js" && options.jsImportStyle === "legacy_commonjs";
  const body = declarations.map((one) => printDeclaration(one, target, isCommonJs ? "" : "export ")).filter(Boolean);
  const statements = imports
    .statements(isCommonJs ? "CommonJS" : target === "js" ? "JavaScript" : "TypeScript")
    .join("\n");
  const blocks = isCommonJs ? [commonJs, statements, ...body, exportStatements(declarations)] : [statements, ...body];
  return `${head}\n${blocks.filter((block) => block !== "").join("\n\n")}`;
}

/**
 * Returns the name of the codec constant of a message, to which method constants refer. The codec of a message `newA` is
 * `newA$Codec`, because `newACodec` makes a message `ACodec`.
 */
export function codecName(shape: string): string {
  return PREFIXES.some((prefix) => shape.startsWith(prefix)) ? `${shape}$Codec` : `${shape}Codec`;
}

/**
 * Returns the module that exports the codec of a message. Codecs of well-known types are in the runtime, as their
 * messages are in protobuf-es; some of them have modules of their own.
 */
export function codecModule(message: DescMessage, { pb, options }: Pick<Tools, "pb" | "options">): string {
  const { from } = pb.type(message);
  if (from !== WELL_KNOWN && !from.startsWith(`${WELL_KNOWN}/`)) return from.replace(/_pb\.js$/, "_codec.js");
  return isPackage(options.runtimeImport) ? `${options.runtimeImport}/wkt` : `./${message.file.name}_codec.js`;
}

/** Returns the module that exports the reader and writer. A path in place of the runtime's package exports them itself. */
export function codecRuntime(runtimeImport: string): string {
  return isPackage(runtimeImport) ? `${runtimeImport}/codec` : runtimeImport;
}

const isPackage = (name: string): boolean => !/^\.{1,2}\//.test(name);
