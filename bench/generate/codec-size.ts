/**
 * Measures the size of generated binary codecs for one proto file of medium size, per message field, for triple-es and its
 * peers.
 */
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { brotliCompressSync } from "node:zlib";
import { create, createFileRegistry, fromBinary, toBinary } from "@bufbuild/protobuf";
import {
  CodeGeneratorRequestSchema,
  CodeGeneratorResponseSchema,
  type FileDescriptorSet,
} from "@bufbuild/protobuf/wkt";
import { transformSync } from "esbuild";
import { messagesOf } from "../../src/plugin/codec/codec-file.ts";
import { compileCorpus } from "../../test/corpus/descriptors.ts";
import { plugins } from "./plugins.ts";

/** A proto file of google-proto-files that has no service and imports only well-known types. */
const NAME = "google/analytics/data/v1alpha/data.proto";

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));
const CORPUS = here("../../node_modules/google-proto-files");
const PEERS = here("./peers/node_modules");

export interface CodecSize {
  readonly generator: string;
  readonly fields: number;
  readonly minified: number;
  readonly brotli: number;
}

/** Each generator writes only the code that encodes and decodes the binary format, as far as its options allow. */
export function codecSizes(): CodecSize[] {
  const set = compileCorpus([NAME]);
  const own = fieldsOf(set, [NAME]);
  const stem = NAME.replace(/\.proto$/, "");
  const tsProto = "outputJsonMethods=false,outputPartialMethods=false,outputServices=none";
  return [
    sizeOf(
      "protoc-gen-triple-es",
      own,
      generate(plugins["protoc-gen-triple-es"], set, "target=ts", `${stem}_codec.ts`),
    ),
    // Bundles the imported messages into one module.
    sizeOf(
      "protobufjs, static-module",
      fieldsOf(
        set,
        set.file.map(({ name }) => name),
      ),
      staticModule(),
    ),
    sizeOf("ts-proto", own, generate(`${PEERS}/ts-proto/protoc-gen-ts_proto`, set, tsProto, `${stem}.ts`)),
    // The descriptors with which protobuf-es encodes and decodes without generated functions.
    sizeOf("protoc-gen-es", own, generate(plugins["protoc-gen-es"], set, "target=ts", `${stem}_pb.ts`)),
  ];
}

function fieldsOf(set: FileDescriptorSet, names: readonly string[]): number {
  const registry = createFileRegistry(set);
  return names
    .flatMap((name) => registry.getFile(name) ?? [])
    .flatMap(messagesOf)
    .reduce((sum, { fields }) => sum + fields.length, 0);
}

function sizeOf(generator: string, fields: number, source: string): CodecSize {
  const { code } = transformSync(source, { loader: "ts", minify: true, target: "es2022", legalComments: "none" });
  return { generator, fields, minified: Buffer.byteLength(code), brotli: brotliCompressSync(code).byteLength };
}

function generate(script: string, { file: protoFile }: FileDescriptorSet, parameter: string, wanted: string): string {
  const request = create(CodeGeneratorRequestSchema, { parameter, protoFile, fileToGenerate: [NAME] });
  const { stdout, stderr } = spawnSync(process.execPath, [script], {
    input: toBinary(CodeGeneratorRequestSchema, request),
    maxBuffer: 2 ** 28,
  });
  const { error, file } = fromBinary(CodeGeneratorResponseSchema, stdout);
  const found = file.find(({ name }) => name === wanted);
  if (found === undefined) throw new Error(`${script} has not written ${wanted}: ${error}${stderr}`);
  return found.content;
}

function staticModule(): string {
  const omitted = ["create", "verify", "convert", "delimited", "typeurl", "service", "comments"];
  const args = ["--target", "static-module", "--wrap", "esm", ...omitted.map((what) => `--no-${what}`)];
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [`${PEERS}/protobufjs-cli/bin/pbjs`, ...args, "--path", CORPUS, NAME],
    { encoding: "utf8", maxBuffer: 2 ** 28 },
  );
  if (status !== 0) throw new Error(`pbjs failed: ${stderr}`);
  return stdout;
}
