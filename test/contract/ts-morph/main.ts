/**
 * `npm run ts-morph`: the command for contracts, as it is published, with the lowest version of ts-morph that each part of
 * the peer range allows. The output must be what is committed, byte for byte.
 */
import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { CONTRACT_RUNS } from "../../../scripts/contracts.ts";
import { root } from "../../plugin/support/protos.ts";

const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
const range: string = manifest.peerDependencies["ts-morph"];
const versions = [...range.matchAll(/(?<=\^)\d+\.\d+\.\d+/g)].map(String);
if (versions.map((version) => `^${version}`).join(" || ") !== range) {
  throw new Error(`the peer range of ts-morph is not a list of caret ranges: ${range}`);
}

run("node", ["scripts/build.js", "contract"], root);
let failures = 0;
for (const version of versions) {
  const project = join(root, ".ci/cache/ts-morph", version);
  mkdirSync(project, { recursive: true });
  writeFileSync(join(project, "package.json"), JSON.stringify({ private: true }));
  run("npm", ["install", "--no-save", "--ignore-scripts", "--no-audit", "--no-fund", `ts-morph@${version}`], project);
  // The command is in the folder in which npm installs it, so that it resolves the adjacent ts-morph.
  const installed = join(project, "node_modules", manifest.name);
  cpSync(join(root, "dist"), join(installed, "dist"), { recursive: true });
  cpSync(join(root, "package.json"), join(installed, "package.json"));
  const problems = CONTRACT_RUNS.flatMap((args) => {
    const command = [join(installed, "dist/triple-es.js"), ...args, "--check"];
    const { status, stdout, stderr } = spawnSync(process.execPath, command, { cwd: root, encoding: "utf8" });
    return status === 0 ? [] : [`${args.join(" ")}\n${stdout}${stderr}`];
  });
  failures += problems.length;
  console.log(`ts-morph ${version}: ${problems.length === 0 ? "the same output" : problems.join("\n")}`);
}
process.exitCode = failures === 0 ? 0 : 1;

function run(command: string, args: readonly string[], cwd: string): void {
  const { status, stdout, stderr } = spawnSync(command, args, { cwd, encoding: "utf8" });
  if (status !== 0) throw new Error(`${command} ${args.join(" ")} failed:\n${stdout}${stderr}`);
}
