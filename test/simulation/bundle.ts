/**
 * The product as one script, which is evaluated afresh for each world, so that worlds share no state of modules. The two modules
 * of the platform are parameters of the script: no other source of the runtime changes.
 */

import { spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import * as http from "node:http";
import { createRequire } from "node:module";
import * as net from "node:net";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { Script } from "node:vm";
import zlib from "node:zlib";
import { build, type Plugin } from "esbuild";
import * as originalPlatform from "../../runtime/src/call/platform.ts";
import * as originalNodePlatform from "../../runtime/src/node/platform.ts";
import type { Network } from "./network.ts";
import type * as product from "./product.ts";
import type { NodePlatform, World } from "./world.ts";

export type Product = typeof product;

/** Evaluates the product in a world. */
export type Bundle = (world: World, network: Network, modules: Modules) => Product;

/** The substitutes of modules of Node. */
export interface Modules {
  /** `node:dns/promises` */
  readonly dns: object;
  /** `request` of `node:http` */
  readonly request: object;
}

/** `node:zlib` without zstd, which some versions of Node lack: requests have the same headers in all. */
const oldZlib = Object.fromEntries(Object.entries(zlib).filter(([name]) => !/zstd/i.test(name)));

const here = dirname(fileURLToPath(import.meta.url));
export const root: string = dirname(dirname(here));

/** The modules of the product whose exports are the members of a parameter of the script. */
const PLATFORM = new Map<string, readonly [parameter: string, original: object]>([
  ["runtime/src/call/platform.ts", ["platform", originalPlatform]],
  ["runtime/src/node/platform.ts", ["nodePlatform", originalNodePlatform]],
]);

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
    external: ["swagger-ui-dist"],
    plugins: [replace(changed)],
    logLevel: "error",
  });
  const names = ["module", "exports", "require", "platform", "nodePlatform"];
  const script = new Script(`(${names.join(", ")}) => {${outputFiles[0]?.text}\n}`, { filename: "product.js" });
  const original = createRequire(import.meta.url);
  return (world, network, { dns, request }) => {
    const replaced: Readonly<Record<string, object>> = { "node:http": { ...http, request }, "node:zlib": oldZlib };
    const require = (id: string): unknown => replaced[id] ?? original(id);
    const module: { exports: object } = { exports: {} };
    const evaluate = script.runInThisContext() as (...values: unknown[]) => void;
    evaluate(module, module.exports, require, world.platform(), nodePlatform(world, network, dns));
    return module.exports as Product;
  };
}

/** The module `node/platform.ts` as the product sees it in a world. */
function nodePlatform(world: World, network: Network, dns: object): NodePlatform {
  const { connect, createServer } = network.module(net) as typeof net;
  const { lookup, Resolver } = dns as typeof import("node:dns/promises");
  return {
    ...originalNodePlatform,
    availableParallelism: () => 2,
    hostname: () => "simulated",
    networkInterfaces: () => ({}),
    connect: (to) => connect(to as net.TcpNetConnectOpts),
    createSocketServer: () => createServer(),
    lookup,
    DnsResolver: Resolver,
    offload: (work) => world.offload(work),
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
    name: "platform and patched sources",
    setup({ onLoad }) {
      onLoad({ filter: /\.ts$/ }, ({ path }) => {
        const [parameter, original] = PLATFORM.get(relative(root, path)) ?? [];
        if (original !== undefined) {
          return { contents: `export const { ${Object.keys(original).join(", ")} } = ${parameter};`, loader: "js" };
        }
        const contents = changed.get(path);
        return contents === undefined ? undefined : { contents, loader: "ts" };
      });
    },
  };
}
