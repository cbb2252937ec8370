/**
 * Generates all committed code from proto files and TypeScript interfaces: `npm run generate`. The output is equal on
 * every machine. `npm run check` fails if this program changes a file.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { writeFigures } from "../bench/figures.ts";
import { terminalOf } from "../site/terminal.ts";
import { CONTRACT_RUNS } from "./contracts.ts";
import { writeOptionTables } from "./option-tables.ts";
import { writeWellKnownCodecs } from "./well-known-codecs.ts";

const root = dirname(dirname(fileURLToPath(import.meta.url)));

/** The templates of buf. Each names its proto files, plugins and output folder. */
const BUF_TEMPLATES = [
  "buf.gen.yaml",
  "runtime/buf.gen.yaml",
  "dubbo/buf.gen.yaml",
  "fixtures/buf.gen.yaml",
  "fixtures/options.gen.yaml",
  "fixtures/contract/buf.gen.yaml",
  "bench/messages/buf.gen.yaml",
  "test/interop/grpc/buf.gen.yaml",
  "test/interop/dubbo/buf.gen.yaml",
  "test/simulation/buf.gen.yaml",
];

writeWellKnownCodecs(`${root}/runtime/src/gen`);
// Contracts come first: one of them becomes a proto file.
await Promise.all(CONTRACT_RUNS.map((args) => run(process.execPath, ["--import", "tsx", "src/triple-es.ts", ...args])));
const generating = BUF_TEMPLATES.map((template) => run("buf", ["generate", "--template", template]));
writeOptionTables(root, `${root}/docs/options.md`, `${root}/docs/dubbo-options.md`);
writeFigures(JSON.parse(readFileSync(`${root}/bench/figures.json`, "utf8")));
writeFileSync(`${root}/docs/demo.svg`, terminalOf(readFileSync(`${root}/site/demo.txt`, "utf8")));
await Promise.all(generating);

/** Runs a program. Ends this one if it fails. */
async function run(command: string, args: readonly string[]): Promise<void> {
  const child = spawn(command, args, {
    cwd: root,
    stdio: "inherit",
    shell: process.platform === "win32" && command === "buf",
  });
  const [status, signal] = await once(child, "exit");
  if (status === 0) return;
  console.error(`${command} ${args.join(" ")} failed${signal === null ? "" : ` with ${signal}`}`);
  process.exit(1);
}
