/** The plugin that wrote a module of generated code. */
import type { ts } from "ts-morph";

/** The plugins, by texts at the beginning of what they write: that of ts-proto names itself since version 1.180 only. */
const MARKS = {
  "protoc-gen-es": ["by protoc-gen-es"],
  "ts-proto": ["protoc-gen-ts_proto", "export const protobufPackage =", '_m0 from "protobufjs/minimal"'],
  "grpc-tools": ["grpc.ServiceDefinition<grpc.UntypedServiceImplementation>"],
  "proto-loader": ["// Original file: ", "type SubtypeConstructor<", "MessageTypeDefinition } from"],
  "google-protobuf": ['from "google-protobuf"', "from 'google-protobuf'"],
} as const;
export type CodeGenerator = keyof typeof MARKS;

/** The folder of the well-known types in the package `google-protobuf`. */
export const WELL_KNOWN = "/google-protobuf/google/protobuf/";

const generators = new WeakMap<ts.SourceFile, CodeGenerator | undefined>();

export function generatorOf(file: ts.SourceFile): CodeGenerator | undefined {
  if (!generators.has(file)) {
    const head = file.text.slice(0, 2000);
    const names = Object.keys(MARKS) as CodeGenerator[];
    const isOfGoogle = file.fileName.includes(WELL_KNOWN);
    const found = isOfGoogle
      ? "google-protobuf"
      : names.find((name) => MARKS[name].some((mark) => head.includes(mark)));
    // Other code imports google-protobuf too, for the type `Message`.
    const isOther = found === "google-protobuf" && !file.isDeclarationFile && !head.includes("DO NOT EDIT");
    generators.set(file, isOther ? undefined : found);
  }
  return generators.get(file);
}
