/**
 * Builds the published packages into `dist` of their folders: `node scripts/build.js [PART...]`, of the parts runtime, dubbo,
 * console, plugin, contract and create.
 * Without arguments it builds all parts.
 */
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const root = dirname(dirname(fileURLToPath(import.meta.url)));

/** TypeScript 7. The command `tsc` is one of the older versions, which npm has linked first. */
const COMPILER = "node_modules/typescript/bin/tsc";

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
 * 200 modules of `triple-es/node` were in 40 files. `openapi/console` is the module that it loads later.
 */
const TIERS = {
  runtime: {
    codec: ["index", "wkt"],
    index: [
      "fetch",
      "health",
      "internal",
      "json",
      "node",
      "openapi",
      "opentelemetry",
      "proto",
      "query",
      "reflection",
      "snappy",
      "validate",
    ],
    node: ["discovery", "fastify", "internal-node"],
    openapi: ["mcp", "openapi/console", "rest"],
  },
  dubbo: { java: ["hessian2", "msgpack"], index: ["etcd", "nacos", "rules", "zookeeper"] },
  nest: {},
};

/** Tiers of bundlers: entry points for Node alone are in the files of `triple-es/node`, because no page has them. */
const WEB_TIERS = { node: ["fastify", "internal-node"] };

/** The plugin of esbuild that adds the import of their tier to entry points of a library. */
const wholeTiers = (folder, tiers = TIERS[folder]) => ({
  name: "whole tiers",
  setup(build) {
    // The package declares that its modules have no side effects, so that esbuild would drop these imports.
    build.onResolve({ filter: /^\.\.?\// }, ({ resolveDir, path }) => ({
      path: resolve(resolveDir, path),
      sideEffects: true,
    }));
    for (const [tier, names] of Object.entries(tiers)) {
      build.onLoad({ filter: new RegExp(`${folder}.build.(${names.join("|")})\\.js$`) }, ({ path }) => ({
        contents: `import "./${relative(dirname(path), join(root, folder, `build/${tier}.js`))}";\n${readFileSync(path, "utf8")}`,
      }));
    }
  },
});

/**
 * The plugin of esbuild that marks the initial values of constants as pure. The package declares that its modules have no side
 * effects; a bundler knows that of a module that it can leave out, but not of a constant in a file of several modules, such
 * as `new Set(names)`. It needs a compiler, which takes a second to load.
 */
const pureConstants = (folder) => ({
  name: "pure constants",
  async setup(build) {
    const { default: ts } = await import("ts60");
    /** Bundlers know that these are pure. */
    const isPlain = (node) =>
      ts.isLiteralExpression(node) ||
      ts.isArrowFunction(node) ||
      ts.isFunctionExpression(node) ||
      ts.isIdentifier(node);
    build.onLoad({ filter: new RegExp(`${folder}.build.*\\.js$`) }, ({ path }) => {
      const text = readFileSync(path, "utf8");
      const file = ts.createSourceFile(path, text, ts.ScriptTarget.ES2022);
      const constants = file.statements
        .filter((one) => ts.isVariableStatement(one) && one.declarationList.flags & ts.NodeFlags.Const)
        .flatMap(({ declarationList }) => declarationList.declarations)
        .filter(({ initializer }) => initializer !== undefined && !isPlain(initializer));
      let contents = text;
      for (const { initializer } of constants.reverse()) {
        const [start, end] = [initializer.getStart(file), initializer.end];
        const value = contents.slice(start, end);
        contents = `${contents.slice(0, start)}/* @__PURE__ */ (() => (${value}))()${contents.slice(end)}`;
      }
      return { contents };
    });
  },
});

/**
 * Builds a library: `dist/node` for Node, `dist/web` for bundlers and other platforms, and `dist/types`. Entry points share
 * files, so that each class exists once in each of the first two. A page gets only what it uses of `dist/web`. Node, which
 * would need most of the time of an import to find and open 200 modules, gets fewer and larger files. A repeated build
 * changes no file, so that programs can run meanwhile, and ends early if the compiler has nothing to do.
 */
async function buildLibrary(folder) {
  const { status } = spawnSync(process.execPath, [COMPILER, "-b", folder], { cwd: root, stdio: "inherit" });
  if (status !== 0) process.exit(status ?? 1);
  const stamp = stampOf(folder);
  const stampFile = join(root, folder, "build/stamp");
  const isBuilt = ["node", "web", "types"].every((name) => existsSync(join(root, folder, "dist", name)));
  if (isBuilt && existsSync(stampFile) && readFileSync(stampFile, "utf8") === stamp) return;
  const { exports } = JSON.parse(readFileSync(join(root, folder, "package.json"), "utf8"));
  const entries = Object.values(exports).filter((entry) => entry.default !== undefined);
  const sourceOf = ({ types }) => types.replace("./dist/types/", "").replace(".d.ts", "");
  const bundleOf = async (target, plugins) => {
    const { outputFiles } = await build({
      ...bundle,
      entryPoints: entries.map((entry) => `${folder}/build/${sourceOf(entry)}.js`),
      outdir: `${folder}/dist/${target}`,
      splitting: true,
      packages: "external",
      chunkNames: "shared-[hash]",
      plugins,
      write: false,
    });
    const empty = outputFiles.filter(({ text }) => text === "").map(({ path }) => basename(path));
    // Imports for the order of side effects: pages have none, and empty files neither.
    const isNeedless = (name) => target === "web" || empty.includes(name);
    const withoutNeedless = (text) =>
      text.replaceAll(/^import "\.\/(shared-\w+\.js)";\n/gm, (line, name) => (isNeedless(name) ? "" : line));
    return outputFiles
      .filter(({ text }) => text !== "")
      .map(({ path, text }) => [path, Buffer.from(withoutNeedless(text))]);
  };
  writeFolder(join(root, folder, "dist/node"), await bundleOf("node", [wholeTiers(folder)]));
  writeFolder(
    join(root, folder, "dist/web"),
    await bundleOf("web", [wholeTiers(folder, WEB_TIERS), pureConstants(folder)]),
  );
  writeFolder(join(root, folder, "dist/types"), declarationsOf(join(root, folder), entries.map(sourceOf)));
  // The package has the whole folder, also what an earlier build has left in it.
  for (const name of readdirSync(join(root, folder, "dist"))) {
    if (!["node", "web", "types", "console"].includes(name))
      rmSync(join(root, folder, "dist", name), { recursive: true });
  }
  writeFileSync(stampFile, stamp);
}

/** A hash of what bundles are made of: the state of the compiler, which has the hashes of all sources, and this script. */
function stampOf(folder) {
  const inputs = [
    `${folder}/build/tsconfig.tsbuildinfo`,
    `${folder}/package.json`,
    "package-lock.json",
    "scripts/build.js",
  ];
  const hash = createHash("sha256");
  for (const path of inputs) hash.update(readFileSync(join(root, path)));
  return hash.digest("hex");
}

/** The declaration files that entry points import, with their paths in `dist/types`. */
function declarationsOf(folder, entries) {
  const found = new Map();
  const visit = (path) => {
    if (found.has(path)) return;
    // Without imports for side effects, which declare nothing.
    const contents = readFileSync(join(folder, "build", path), "utf8").replaceAll(/^import "[^"]+";\n/gm, "");
    found.set(path, Buffer.from(contents));
    for (const [, specifier] of contents.matchAll(/(?:from |import\()"(\.[^"]+)"/g)) {
      visit(join(dirname(path), specifier).replace(/\.[jt]s$/, ".d.ts"));
    }
  };
  for (const entry of entries) visit(`${entry}.d.ts`);
  return [...found].map(([path, contents]) => [join(folder, "dist/types", path), contents]);
}

/** Writes files, given with their contents, that have changed, and deletes all others of a folder. */
function writeFolder(folder, files) {
  for (const [path, contents] of files) {
    if (existsSync(path) && readFileSync(path).equals(contents)) continue;
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, contents);
  }
  const written = new Set(files.map(([path]) => path));
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    if (entry.isFile() && !written.has(path)) rmSync(path);
  }
}

const parts = {
  /** The runtime, `triple-es`. */
  runtime: () => buildLibrary("runtime"),

  /** `triple-es-dubbo`, which needs the runtime. */
  dubbo: () => buildLibrary("dubbo"),

  /** `triple-es-nest`, which needs the runtime. */
  nest: () => buildLibrary("nest"),

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

  /**
   * Bundles the command `triple-es`. It is split, so that its help is printed without loading ts-morph, an optional peer, and
   * `replay` without it too.
   */
  contract: async () => {
    // The command copies this module into folders of generated code.
    mkdirSync(join(root, "dist"), { recursive: true });
    copyFileSync(join(root, "src/triple-contract.ts"), join(root, "dist/triple-contract.ts"));
    const { metafile } = await build({
      ...bundle,
      entryPoints: ["src/triple-es.ts"],
      outdir: "dist",
      splitting: true,
      metafile: true,
      chunkNames: "triple-es-[name]-[hash]",
      external: ["ts-morph"],
      legalComments: "none",
      banner: { js: "/* Contains @bufbuild/protobuf, Copyright 2021-2026 Buf Technologies, Inc., Apache-2.0 */" },
    });
    // The package has what earlier builds have left, too.
    for (const name of readdirSync(join(root, "dist"))) {
      if (name.startsWith("triple-es-") && !(`dist/${name}` in metafile.outputs)) rmSync(join(root, "dist", name));
    }
  },

  /** Bundles the program of `npm create triple-es`. */
  create: () => build({ ...bundle, entryPoints: ["create/src/main.ts"], outdir: "create/dist" }),
};

const asked = process.argv.slice(2);
const unknown = asked.filter((name) => !(name in parts));
if (unknown.length > 0) {
  console.error(`unknown part: ${unknown.join(", ")}; known are ${Object.keys(parts).join(", ")}`);
  process.exit(2);
}
for (const name of asked.length > 0 ? asked : Object.keys(parts)) await parts[name]();
