/** Bundles the playground, a page of its own: its script has the plugin, a compiler of proto files, and the runtime. */
import { copyFileSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = fileURLToPath(new URL(".", import.meta.url));
/** The plugin kit has a transpiler, which the plugin never calls. */
const NO_COMPILER = join(here, "../../src/no-compiler.cjs");

/** Writes the page into a folder. */
export async function writePlayground(folder: string): Promise<void> {
  mkdirSync(folder, { recursive: true });
  copyFileSync(join(here, "index.html"), join(folder, "index.html"));
  await build({
    entryPoints: [join(here, "main.ts"), join(here, "main.css")],
    outdir: folder,
    bundle: true,
    minify: true,
    platform: "browser",
    format: "esm",
    target: "es2023",
    conditions: ["triple-source"],
    alias: { typescript: NO_COMPILER, "@typescript/vfs": NO_COMPILER },
    logLevel: "warning",
    banner: {
      js: "/* Contains protobufjs, Copyright 2016 Daniel Wirtz, BSD-3-Clause; @bufbuild/protobuf and @bufbuild/protoplugin, Copyright 2021-2026 Buf Technologies, Inc., Apache-2.0 */",
    },
  });
}
