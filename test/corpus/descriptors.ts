/** The corpus: the proto files of the npm package google-proto-files, compiled by buf. */
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { fromBinary } from "@bufbuild/protobuf";
import { type FileDescriptorProto, type FileDescriptorSet, FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import { root } from "../plugin/support/protos.ts";

const folder = join(root, "node_modules/google-proto-files");

/** The tests of protobuf itself. They contain no service, and some are meant not to compile. */
const excluded = "google/protobuf";

/** Compiles all proto files, or some of them with their imports. */
export function compileCorpus(paths: readonly string[] = []): FileDescriptorSet {
  const config = JSON.stringify({ version: "v2", modules: [{ path: ".", excludes: [excluded] }] });
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [
      join(root, "node_modules/@bufbuild/buf/bin/buf"),
      ...["build", ".", "--config", config, "--as-file-descriptor-set", "-o", "-"],
      ...paths.flatMap((path) => ["--path", path]),
    ],
    { cwd: folder, maxBuffer: 2 ** 30 },
  );
  if (status !== 0) throw new Error(`buf build failed: ${stderr}`);
  return fromBinary(FileDescriptorSetSchema, stdout);
}

/** Returns the named files and all their imports, in the order of the set. */
export function importsOf(set: FileDescriptorSet, names: readonly string[]): FileDescriptorProto[] {
  const byName = new Map(set.file.map((file) => [file.name, file]));
  const reached = new Set<string>();
  const visit = (name: string): void => {
    if (reached.has(name)) return;
    reached.add(name);
    byName.get(name)?.dependency.forEach(visit);
  };
  names.forEach(visit);
  return set.file.filter(({ name }) => reached.has(name));
}
