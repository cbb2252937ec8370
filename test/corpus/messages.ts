/**
 * Declarations of the corpus's messages, written by protoc-gen-es, so that generated code refers to the same types as in
 * users' projects.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import {
  CodeGeneratorRequestSchema,
  CodeGeneratorResponseSchema,
  type FileDescriptorProto,
  type FileDescriptorSet,
} from "@bufbuild/protobuf/wkt";
import { judgedDiagnostics, PLANTED_NAME, PLANTED_SOURCE } from "../plugin/support/planted-mistake.ts";
import { root } from "../plugin/support/protos.ts";
import { importsOf } from "./descriptors.ts";
import { writeFiles } from "./output.ts";

const chunkSize = 100;

/** Writes a declaration file for each of the files and their imports. Existing files are kept. */
export async function writeMessages(
  set: FileDescriptorSet,
  files: readonly FileDescriptorProto[],
  folder: string,
  progress: (done: number, all: number) => void = () => {},
): Promise<void> {
  const all = importsOf(
    set,
    files.map(({ name }) => name),
  ).filter(({ name }) => !name.startsWith("google/protobuf/"));
  const missing = all.filter(({ name }) => !existsSync(join(folder, name.replace(/\.proto$/, "_pb.d.ts"))));
  let done = all.length - missing.length;
  const chunks = Array.from({ length: Math.ceil(missing.length / chunkSize) }, (_, i) =>
    missing.slice(i * chunkSize, (i + 1) * chunkSize).map(({ name }) => name),
  );
  const work = async (): Promise<void> => {
    for (let names = chunks.pop(); names !== undefined; names = chunks.pop()) {
      writeFiles(folder, await runProtocGenEs(importsOf(set, names), names));
      done += names.length;
      progress(done, all.length);
    }
  };
  await Promise.all([work(), work()]);
}

async function runProtocGenEs(protoFile: FileDescriptorProto[], fileToGenerate: string[]) {
  const child = spawn(process.execPath, [join(root, "node_modules/@bufbuild/protoc-gen-es/bin/protoc-gen-es")], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  const chunks: Uint8Array[] = [];
  child.stdout.on("data", (chunk: Uint8Array) => chunks.push(chunk));
  const request = create(CodeGeneratorRequestSchema, {
    parameter: "target=dts,import_extension=js",
    protoFile,
    fileToGenerate,
  });
  child.stdin.end(toBinary(CodeGeneratorRequestSchema, request));
  await once(child, "close");
  const response = fromBinary(CodeGeneratorResponseSchema, Buffer.concat(chunks));
  if (response.file.length !== fileToGenerate.length) throw new Error(`protoc-gen-es failed: ${response.error}`);
  return response.file;
}

/**
 * Compiles a folder with strict flags, and returns the diagnostics. Throws if a file does not parse, or if a planted
 * mistake is not reported, because nothing has been type-checked then.
 */
export async function typeCheck(
  folder: string,
  include: readonly string[],
  compiler = "typescript",
): Promise<string[]> {
  const project = join(folder, "tsconfig.json");
  const config = {
    extends: join(root, "test/plugin/support/tsconfig.json"),
    compilerOptions: {
      customConditions: ["triple-source"],
      rewriteRelativeImportExtensions: false,
      skipLibCheck: false,
    },
    include: [...include, PLANTED_NAME],
  };
  writeFileSync(join(folder, PLANTED_NAME), PLANTED_SOURCE);
  writeFileSync(project, JSON.stringify(config));
  const child = spawn(
    process.execPath,
    ["--max-old-space-size=8192", join(root, `node_modules/${compiler}/bin/tsc`), "--project", project],
    { stdio: ["ignore", "pipe", "inherit"] },
  );
  let output = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    output += text;
  });
  await once(child, "close");
  return judgedDiagnostics(output);
}
