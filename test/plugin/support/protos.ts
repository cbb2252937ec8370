/** Proto files for tests: buf compiles them, and the plugin runs in this process. */
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { create, fromBinary } from "@bufbuild/protobuf";
import {
  type CodeGeneratorRequest,
  CodeGeneratorRequestSchema,
  type FileDescriptorSet,
  FileDescriptorSetSchema,
} from "@bufbuild/protobuf/wkt";
import type { Plugin } from "@bufbuild/protoplugin";
import { plugin } from "../../../src/plugin/plugin.ts";

/** The repository, with a slash at the end. */
export const root: string = fileURLToPath(new URL("../../../", import.meta.url));

const bufs = join(root, "node_modules/@bufbuild");
/** The program itself, of the package for this platform: the script that starts it takes three times as long. */
const BUF = join(bufs, readdirSync(bufs).find((name) => name.startsWith("buf-")) as string, "bin/buf");

/** Compiles proto files by path and content. */
export function compile(files: Record<string, string>): FileDescriptorSet {
  const folder = mkdtempSync(join(tmpdir(), "triple-es-protos-"));
  try {
    for (const [path, content] of Object.entries(files)) {
      mkdirSync(dirname(join(folder, path)), { recursive: true });
      writeFileSync(join(folder, path), content);
    }
    return buildDescriptors(folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Compiles the proto files in a folder, imports included. */
export function buildDescriptors(folder: string): FileDescriptorSet {
  const args = ["build", "--as-file-descriptor-set", "-o", "-"];
  const { status, stdout, stderr } = spawnSync(BUF, args, { cwd: folder, maxBuffer: 1 << 28 });
  if (status !== 0) {
    throw new Error(`buf build failed: ${stderr}`);
  }
  return fromBinary(FileDescriptorSetSchema, stdout);
}

/** A request to generate all files except the well-known ones. */
export function requestFor(set: FileDescriptorSet, parameter = "target=ts"): CodeGeneratorRequest {
  return create(CodeGeneratorRequestSchema, {
    parameter,
    protoFile: set.file,
    fileToGenerate: set.file.map((file) => file.name).filter((name) => !name.startsWith("google/protobuf/")),
  });
}

/** Returns the generated files by path. Throws the error in the plugin's response. */
export function run(request: CodeGeneratorRequest, by: Plugin = plugin): Map<string, string> {
  const response = by.run(request);
  if (response.error !== "") {
    throw new Error(response.error);
  }
  return new Map(response.file.map((file) => [file.name, file.content]));
}

/**
 * Generates from one proto3 file of package `a.v1`, and returns the generated file. The header is written before the body.
 */
export function generate(body: string, parameter = "target=ts"): string {
  const set = compile({ "a/v1/a.proto": `syntax = "proto3";\npackage a.v1;\n${body}` });
  return run(requestFor(set, parameter)).get("a/v1/a_triple.ts") ?? "";
}
