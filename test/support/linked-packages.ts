/** The packages of this repository, built, and those that projects need, linked into a folder instead of installed. */
import { execFile } from "node:child_process";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { promisify } from "node:util";
import { compiled } from "./compiled.ts";
import { ROOT } from "./documents.ts";
import { TSC, TSC_ENVIRONMENT } from "./tsc.ts";

const PACKAGES = ["typescript", "tsx", "esbuild", "ts-morph", "@bufbuild", "@types", "yaml"];

/** Builds and links the packages. Returns the environment in which their commands are found. */
export async function linkPackages(folder: string): Promise<NodeJS.ProcessEnv> {
  await promisify(execFile)(process.execPath, ["scripts/build.js", "runtime", "dubbo"], { cwd: ROOT });
  const modules = join(folder, "node_modules");
  const commands = join(modules, ".bin");
  mkdirSync(commands, { recursive: true });
  for (const name of PACKAGES) symlinkSync(`${ROOT}node_modules/${name}`, join(modules, name));
  symlinkSync(`${ROOT}runtime`, join(modules, "triple-es"));
  symlinkSync(`${ROOT}dubbo`, join(modules, "triple-es-dubbo"));
  for (const [name, command] of [
    ["protoc-gen-triple-es", `"${process.execPath}" "${compiled("src/main.ts")}"`],
    ["triple-es", `"${process.execPath}" "${compiled("src/triple-es.ts")}"`],
    ["tsc", `"${TSC}" --singleThreaded`],
  ]) {
    writeFileSync(join(commands, name as string), `#!/bin/sh\nexec ${command} "$@"\n`, { mode: 0o755 });
  }
  return { ...TSC_ENVIRONMENT, PATH: [commands, join(ROOT, "node_modules/.bin"), process.env["PATH"]].join(delimiter) };
}
