/**
 * Runs a TypeScript program of this repository from source, without a build: `node scripts/run.js FILE [ARGUMENT...]`.
 * Installs missing packages first. Options of Node, such as `--expose-gc`, come before the file.
 */
import { spawn } from "node:child_process";
import "./install.js";

// The condition resolves the package `triple-es` to runtime/src. The package tsx is available, because install.js has
// run.
const flags = ["--conditions=triple-source", "--import", "tsx"];
const child = spawn(process.execPath, [...flags, ...process.argv.slice(2)], { stdio: "inherit" });

for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => child.kill(signal));
child.on("exit", (code, signal) => {
  process.exitCode = code ?? (signal === null ? 1 : 128);
});
