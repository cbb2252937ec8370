/**
 * The product as one script, which is evaluated afresh for each world, so that worlds share no state of modules. The names of
 * the platform and the modules of Node that reach outside are parameters of the script: no source of the runtime changes.
 */

import { spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { Script } from "node:vm";
import { build, type Plugin } from "esbuild";
import type { Network } from "./network.ts";
import type * as product from "./product.ts";
import type { Platform, World } from "./world.ts";
import { simulatedZlib } from "./zlib.ts";

export type Product = typeof product;

/** Evaluates the product in a world. */
export type Bundle = (world: World, network: Network) => Product;

const here = dirname(fileURLToPath(import.meta.url));
export const root: string = dirname(dirname(here));

/** The parameters of the script, in addition to `module`, `exports` and `require`. */
const PLATFORM = [
  "setTimeout",
  "setInterval",
  "setImmediate",
  "clearTimeout",
  "clearInterval",
  "clearImmediate",
  "performance",
] as const satisfies readonly (keyof Platform)[];

/** Bundles the product, with the sources that a patch changes if there is one. Throws if the patch does not apply. */
export async function bundleProduct(patch?: string): Promise<Bundle> {
  const changed = patch === undefined ? new Map<string, string>() : patchSources(patch);
  const { outputFiles } = await build({
    entryPoints: [join(here, "product.ts")],
    bundle: true,
    write: false,
    platform: "node",
    format: "cjs",
    target: "es2022",
    conditions: ["triple-source"],
    define: { "Math.random": "simulatedRandom", "Date.now": "simulatedDateNow" },
    external: ["swagger-ui-dist"],
    plugins: [replace(changed)],
    logLevel: "error",
  });
  const names = ["module", "exports", "require", "simulatedRandom", "simulatedDateNow", ...PLATFORM];
  const script = new Script(`(${names.join(", ")}) => {${outputFiles[0]?.text}\n}`, { filename: "product.js" });
  const nodeRequire = createRequire(import.meta.url);
  return (world, network) => {
    const platform = world.platform();
    const module: { exports: object } = { exports: {} };
    const require = (name: string): unknown => {
      if (name === "node:net") return network.module(nodeRequire(name) as object);
      if (name === "node:zlib") return simulatedZlib(world);
      if (name === "node:timers/promises") {
        return { setImmediate: () => new Promise<void>((resolve) => void platform.setImmediate(() => resolve())) };
      }
      return nodeRequire(name);
    };
    const evaluate = script.runInThisContext() as (...values: unknown[]) => void;
    const given = PLATFORM.map((name) => platform[name]);
    evaluate(module, module.exports, require, platform.random, platform.dateNow, ...given);
    return module.exports as Product;
  };
}

/** Applies a patch to copies of the sources that it names. Returns their content by path. */
export function patchSources(patch: string): Map<string, string> {
  const paths = [...patch.matchAll(/^\+\+\+ b\/(.+)$/gm)].map(([, path]) => path as string);
  if (paths.length === 0) throw new Error("the patch names no file: each needs a line +++ b/PATH");
  const folder = mkdtempSync(join(tmpdir(), "simulation-"));
  try {
    for (const path of paths) {
      if (!existsSync(join(root, path))) throw new Error(`the patch changes ${path}, which does not exist`);
      mkdirSync(dirname(join(folder, path)), { recursive: true });
      cpSync(join(root, path), join(folder, path));
    }
    const { status, stderr } = spawnSync("git", ["apply", "-C1", "-"], { cwd: folder, input: patch });
    if (status !== 0) throw new Error(`the patch does not apply: ${String(stderr).trim()}`);
    return new Map(paths.map((path) => [join(root, path), readFileSync(join(folder, path), "utf8")]));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function replace(changed: ReadonlyMap<string, string>): Plugin {
  return {
    name: "patched sources",
    setup({ onLoad }) {
      if (changed.size === 0) return;
      onLoad({ filter: /\.ts$/ }, ({ path }) => {
        const contents = changed.get(path);
        return contents === undefined ? undefined : { contents, loader: "ts" };
      });
    },
  };
}
