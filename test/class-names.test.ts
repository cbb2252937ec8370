/** Names of exported classes in bundles: logs and queries of logs contain `constructor.name`. */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { build } from "esbuild";
import { expect, it, onTestFinished } from "vitest";
import { ROOT } from "./support/documents.ts";

it("esbuild keeps the name of every exported class", async () => {
  const { exports } = JSON.parse(readFileSync(join(ROOT, "runtime/package.json"), "utf8"));
  const entries = Object.values<{ readonly "triple-source"?: string }>(exports);
  // The folder is below the repository's modules, so that imports are resolved.
  const outdir = mkdtempSync(join(ROOT, "node_modules/.triple-es-names-"));
  onTestFinished(() => rmSync(outdir, { recursive: true, force: true }));
  const { outputFiles } = await build({
    entryPoints: entries.flatMap((entry) => entry["triple-source"] ?? []).map((path) => join(ROOT, "runtime", path)),
    outdir,
    outExtension: { ".js": ".mjs" },
    bundle: true,
    splitting: true,
    platform: "node",
    format: "esm",
    target: "node20.19",
    packages: "external",
    logLevel: "warning",
    metafile: true,
    write: true,
  }).then(({ metafile }) => ({ outputFiles: Object.entries(metafile.outputs) }));
  const names: string[] = [];
  for (const [path, { entryPoint }] of outputFiles) {
    if (entryPoint === undefined) continue;
    for (const [name, value] of Object.entries(await import(pathToFileURL(join(process.cwd(), path)).href))) {
      if (typeof value !== "function" || !`${value}`.startsWith("class")) continue;
      names.push(name);
      expect(value.name).toBe(name);
    }
  }
  expect(names).toEqual(expect.arrayContaining(["RpcError", "Metadata"]));
});
