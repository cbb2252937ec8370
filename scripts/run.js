/**
 * Runs a TypeScript program of this repository on the sources, without a build: `node scripts/run.js FILE [ARGUMENT...]`.
 * Installs packages that are missing first. Options of Node stand before the file, such as `--expose-gc`.
 */
import { spawn } from "node:child_process";
import "./install.js";

// The condition leads from the package's name to runtime/src. tsx is a package: install.js has run by now.
const flags = ["--conditions=triple-source", "--import", "tsx"];
const child = spawn(process.execPath, [...flags, ...process.argv.slice(2)], { stdio: "inherit" });

for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => child.kill(signal));
child.on("exit", (code, signal) => {
  process.exitCode = code ?? (signal === null ? 1 : 128);
});
