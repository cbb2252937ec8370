/**
 * Builds the published packages into `dist`, `runtime/dist` and `dubbo/dist`: `node scripts/build.js [PART...]`, of the parts
 * runtime, dubbo, console, plugin and contract.
 * Without arguments it builds all parts.
 */
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const root = dirname(dirname(fileURLToPath(import.meta.url)));

/** The options of both executables, which are bundles for the oldest supported version of Node. */
const bundle = {
  absWorkingDir: root,
  bundle: true,
  platform: "node",
  format: "esm",
  target: "node20.19",
  logLevel: "warning",
};

/**
 * Tiers of each library on Node: an entry point of the list loads all modules of the tier before it. esbuild puts modules into
 * one file if the same entry points load them, and opening a file takes Node longer than compiling it: without tiers, the
 * 200 modules of `triple-es/node` were in 40 files.
 */
const TIERS = {
  runtime: {
    index: ["fetch", "health", "internal", "json", "node", "opentelemetry", "proto", "reflection", "snappy"],
    node: ["discovery", "fastify", "internal-node"],
  },
  dubbo: { java: ["hessian2", "msgpack"], index: ["etcd", "nacos", "zookeeper"] },
};

/** The plugin of esbuild that adds the import of their tier to entry points of a library. */
const wholeTiers = (folder) => ({
  name: "whole tiers",
  setup(build) {
    // The package declares that its modules have no side effects, so that esbuild would drop these imports.
    build.onResolve({ filter: /^\.\.?\// }, ({ resolveDir, path }) => ({
      path: resolve(resolveDir, path),
      sideEffects: true,
    }));
    for (const [tier, names] of Object.entries(TIERS[folder])) {
      build.onLoad({ filter: new RegExp(`${folder}.dist.(${names.join("|")})\\.js$`) }, ({ path }) => ({
        contents: `import "./${tier}.js";\n${readFileSync(path, "utf8")}`,
      }));
    }
  },
});

/**
 * Compiles a library into separate modules, so that bundlers can drop unused ones. Node, which would need most of the time
 * of an import to find and open 180 files, gets the same code in a few files (the condition `node` of the exports). All entry
 * points share them, so that each class exists once. A repeated build changes no file, so that programs can run meanwhile.
 */
async function buildLibrary(folder) {
  const { status, error } = spawnSync("tsc", ["-b", folder], {
    cwd: root,
    stdio: "inherit",
    shell: process.platform === "win32",
  });
  if (error !== undefined) console.error(`${error.message}: build with npm run build, which finds the compiler`);
  if (status !== 0) process.exit(status ?? 1);
  const { exports } = JSON.parse(readFileSync(join(root, folder, "package.json"), "utf8"));
  const outdir = `${folder}/dist/bundled`;
  const { outputFiles } = await build({
    ...bundle,
    entryPoints: Object.values(exports).flatMap((entry) => (entry.default ? [join(folder, entry.default)] : [])),
    outdir,
    splitting: true,
    packages: "external",
    sourcemap: true,
    sourcesContent: false,
    chunkNames: "shared-[hash]",
    plugins: [wholeTiers(folder)],
    write: false,
  });
  mkdirSync(join(root, outdir), { recursive: true });
  for (const { path, contents } of outputFiles) {
    if (!existsSync(path) || !readFileSync(path).equals(contents)) writeFileSync(path, contents);
  }
  // The names of shared files change with their content.
  const written = new Set(outputFiles.map(({ path }) => path));
  for (const name of readdirSync(join(root, outdir))) {
    if (!written.has(join(root, outdir, name))) rmSync(join(root, outdir, name));
  }
}

const parts = {
  /** The runtime, `triple-es`. */
  runtime: () => buildLibrary("runtime"),

  /** `triple-es-dubbo`, which needs the runtime. */
  dubbo: () => buildLibrary("dubbo"),

  /** Bundles the script and the styles of the page of the option `console`, for browsers. */
  console: () =>
    build({
      ...bundle,
      platform: "browser",
      target: "es2022",
      minify: true,
      conditions: ["triple-source"],
      entryPoints: ["runtime/src/openapi/page.ts", "runtime/src/openapi/page.css"],
      outdir: "runtime/dist/console",
    }),

  /**
   * Bundles the plugin into one file without dependencies. The plugin kit contains a transpiler that needs a compiler
   * of 9 MB. The plugin never calls it, so the compiler is replaced by an empty module.
   */
  plugin: () =>
    build({
      ...bundle,
      entryPoints: ["src/main.ts"],
      outfile: "dist/main.js",
      alias: { typescript: "./src/no-compiler.cjs", "@typescript/vfs": "./src/no-compiler.cjs" },
      legalComments: "none",
      banner: {
        js: "/* Contains @bufbuild/protobuf and @bufbuild/protoplugin, Copyright 2021-2026 Buf Technologies, Inc., Apache-2.0 */",
      },
    }),

  /** Bundles the command `triple-es`. It is split, so that its help is printed without loading ts-morph, an optional peer. */
  contract: () =>
    build({
      ...bundle,
      entryPoints: ["src/triple-es.ts"],
      outdir: "dist",
      splitting: true,
      chunkNames: "triple-es-[name]",
      external: ["ts-morph"],
    }),
};

const asked = process.argv.slice(2);
const unknown = asked.filter((name) => !(name in parts));
if (unknown.length > 0) {
  console.error(`unknown part: ${unknown.join(", ")}; known are ${Object.keys(parts).join(", ")}`);
  process.exit(2);
}
for (const name of asked.length > 0 ? asked : Object.keys(parts)) await parts[name]();
