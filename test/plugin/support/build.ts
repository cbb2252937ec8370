/** Builds the packages of the runtime, against which the tests of the plugin compile and run what it generates. */
import { spawnSync } from "node:child_process";
import { delimiter, join } from "node:path";
import { root } from "./protos.ts";

export function setup(): void {
  const env = { ...process.env, PATH: `${join(root, "node_modules/.bin")}${delimiter}${process.env["PATH"]}` };
  const { status } = spawnSync(process.execPath, ["scripts/build.js", "runtime", "dubbo"], {
    cwd: root,
    env,
    stdio: "inherit",
  });
  if (status !== 0) throw new Error("the packages of the runtime cannot be built");
}
