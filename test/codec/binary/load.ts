/** Generates codecs in this process, as CommonJS, and evaluates them without a file. */
import { create, createFileRegistry, type DescMessage, type FileRegistry } from "@bufbuild/protobuf";
import {
  CodeGeneratorRequestSchema,
  type FileDescriptorProto,
  FileDescriptorSetSchema,
  file_google_protobuf_any,
  file_google_protobuf_api,
  file_google_protobuf_source_context,
  file_google_protobuf_struct,
  file_google_protobuf_timestamp,
  file_google_protobuf_type,
  file_google_protobuf_wrappers,
} from "@bufbuild/protobuf/wkt";
import type { MessageCodec } from "triple-es/codec";
import * as runtime from "triple-es/codec";
import * as wkt from "triple-es/wkt";
import { plugin } from "../../../src/plugin/plugin.ts";
import { run } from "../../plugin/support/protos.ts";

export type Codec = MessageCodec<object>;

export interface Loaded {
  readonly registry: FileRegistry;
  readonly messages: readonly DescMessage[];
  readonly codecOf: (message: DescMessage) => Codec;
}

const dependencies = [
  file_google_protobuf_any,
  file_google_protobuf_source_context,
  file_google_protobuf_type,
  file_google_protobuf_api,
  file_google_protobuf_struct,
  file_google_protobuf_timestamp,
  file_google_protobuf_wrappers,
];

/** Generates the codecs of a file that imports only well-known types. */
export function load(file: FileDescriptorProto): Loaded {
  const protoFile = [...dependencies.map(({ proto }) => proto), file];
  const registry = createFileRegistry(create(FileDescriptorSetSchema, { file: protoFile }));
  const request = create(CodeGeneratorRequestSchema, {
    parameter: "target=js,js_import_style=legacy_commonjs",
    fileToGenerate: [file.name],
    protoFile,
  });
  const text = run(request, plugin).get(file.name.replace(/\.proto$/, "_codec.js"));
  if (text === undefined) throw new Error("no codec was generated");
  const exports: Record<string, unknown> = {};
  const modules: Readonly<Record<string, unknown>> = { "triple-es/codec": runtime, "triple-es/wkt": wkt };
  new Function("exports", "require", text)(exports, (name: string) => modules[name]);
  const messages = file.messageType.flatMap(({ name }) => registry.getMessage(`${file.package}.${name}`) ?? []);
  const codecOf = ({ name }: DescMessage): Codec => exports[`${name}Codec`] as Codec;
  return { registry, messages, codecOf };
}
