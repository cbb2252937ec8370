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
import { type CommandName, readArguments } from "../src/contract/arguments.ts";
import { runContract, runInterface } from "../src/contract/commands.ts";
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
CONTRACT_RUNS.forEach(runContracts);
const generating = BUF_TEMPLATES.map((template) => run("buf", ["generate", "--template", template]));
writeOptionTables(root, `${root}/docs/options.md`, `${root}/docs/dubbo-options.md`);
writeFigures(JSON.parse(readFileSync(`${root}/bench/figures.json`, "utf8")));
writeFileSync(`${root}/docs/demo.svg`, terminalOf(readFileSync(`${root}/site/demo.txt`, "utf8")));
await Promise.all(generating);

/** Runs a command of `triple-es` in this process, which loads the compiler once for all. Ends the process if it fails. */
function runContracts([command, ...given]: readonly [CommandName, ...string[]]): void {
  const args = readArguments(given, command);
  if (args === "help") throw new Error("the script asks for help");
  const { status, stdout, stderr } =
    command === "contract" ? runContract(args, root, `${root}/src/triple-contract.ts`) : runInterface(args, root);
  process.stdout.write(stdout);
  process.stderr.write(stderr);
  if (status !== 0) process.exit(status);
}

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
