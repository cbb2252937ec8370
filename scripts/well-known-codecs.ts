/**
 * Generates the codecs of protobuf's well-known types for `triple-es/wkt`, from the descriptors in protobuf-es. `npm
 * run generate` calls this module.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { create, type DescFile } from "@bufbuild/protobuf";
import * as wkt from "@bufbuild/protobuf/wkt";
import { plugin } from "../src/plugin/plugin.ts";

const TYPES = "@bufbuild/protobuf/wkt";

/** The options of the plugin: types come from protobuf-es, reader and writer from the runtime. */
const PARAMETER = [
  "target=ts",
  "import_extension=ts",
  "runtime_import=../codec/binary/generated.js",
  `rewrite_imports=./google/protobuf/**/*_pb.js:${TYPES}`,
].join(",");

/** The files of all well-known types. */
const FILES: readonly DescFile[] = [
  wkt.file_google_protobuf_any,
  wkt.file_google_protobuf_api,
  wkt.file_google_protobuf_duration,
  wkt.file_google_protobuf_empty,
  wkt.file_google_protobuf_field_mask,
  wkt.file_google_protobuf_source_context,
  wkt.file_google_protobuf_struct,
  wkt.file_google_protobuf_timestamp,
  wkt.file_google_protobuf_type,
  wkt.file_google_protobuf_wrappers,
  wkt.file_google_protobuf_descriptor,
  wkt.file_google_protobuf_compiler_plugin,
];

/** Writes a codec for each file into the folder. */
export function writeWellKnownCodecs(folder: string): void {
  const request = create(wkt.CodeGeneratorRequestSchema, {
    parameter: PARAMETER,
    fileToGenerate: FILES.map((file) => file.proto.name),
    protoFile: [...new Map(FILES.flatMap(withDependencies).map((file) => [file.name, file.proto])).values()],
  });
  const response = plugin.run(request);
  if (response.error !== "") throw new Error(response.error);
  for (const { name, content } of response.file) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    // protobuf-es before 2.16 has no module for each file.
    const modules = FILES.map((file) => `${TYPES}/${file.name}_pb.js`);
    writeFileSync(
      join(folder, name),
      modules.reduce((text, module) => text.replaceAll(module, TYPES), content),
    );
  }
}

/** Returns a file after the files that it imports, because a plugin requires this order. */
function withDependencies(file: DescFile): DescFile[] {
  return [...file.dependencies.flatMap(withDependencies), file];
}
