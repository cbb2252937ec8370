/**
 * Runs a TypeScript program of this repository: `node scripts/run.js [--built] FILE [ARGUMENT...]`. Installs missing
 * packages first. Options of Node, such as `--expose-gc`, come before the file.
 *
 * Programs import the packages from source. With `--built`, the packages are built first and imported as users install
 * them, because benchmarks measure compiled code.
 */
import { spawnSync } from "node:child_process";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { runChild } from "./child.js";
import "./install.js";

const given = process.argv.slice(2);
const isBuilt = given[0] === "--built";

if (isBuilt) {
  const { status } = spawnSync(process.execPath, [join(dirname(fileURLToPath(import.meta.url)), "build.js")], {
    stdio: "inherit",
  });
  if (status !== 0) process.exit(status ?? 1);
}

// The condition resolves the package `triple-es` to runtime/src. The package tsx is available, because install.js has
// run.
const flags = [...(isBuilt ? [] : ["--conditions=triple-source"]), "--import", "tsx"];
process.exitCode = await runChild(process.execPath, [...flags, ...given.slice(isBuilt ? 1 : 0)]);
