/** Bytes of the runtime that generated codecs import: `triple-es/codec`, minified, without what a bundler drops. */
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const RUNTIME = "runtime/src/codec/binary/";

/** Generated files: with few types of fields, of the benchmark, and with all types of fields, groups and closed enums. */
export const CODEC_FILES = {
  "grpc.health.v1": "runtime/src/gen/grpc/health/v1/health_codec.ts",
  "the benchmark": "bench/messages/gen/echo_codec.ts",
  "all types of fields": "fixtures/options/gen/codecs/fixture/options/v1/options_codec.ts",
} as const;

/** Returns the bytes that a bundle has of the runtime because of a generated file. */
export async function codecRuntimeBytes(file: string): Promise<number> {
  const { metafile } = await build({
    entryPoints: [file],
    absWorkingDir: ROOT,
    bundle: true,
    minify: true,
    format: "esm",
    platform: "browser",
    target: "es2022",
    conditions: ["triple-source"],
    write: false,
    metafile: true,
  });
  const [output] = Object.values(metafile.outputs);
  return Object.entries(output?.inputs ?? {})
    .filter(([path]) => path.startsWith(RUNTIME))
    .reduce((sum, [, { bytesInOutput }]) => sum + bytesInOutput, 0);
}
