/** Generated code under every strict flag of every TypeScript that users have. */
import { spawnSync } from "node:child_process";
import { describe, expect, it } from "vitest";
import { root } from "./support/protos.ts";

describe.each([
  ["5.9", "ts59"],
  ["6.0", "ts60"],
  ["7.0", "typescript"],
])("TypeScript %s", (version, name) => {
  it("has nothing to say about fixtures and examples", () => {
    const tsc = (...args: string[]) =>
      spawnSync(process.execPath, [`node_modules/${name}/bin/tsc`, ...args], { cwd: root, encoding: "utf8" }).stdout;
    expect(tsc("--version")).toContain(`Version ${version}.`);
    const diagnostics = tsc("--project", "test/plugin/support/tsconfig.json", "--pretty", "false");
    // The runtime is checked as source with its own flags elsewhere: here, only what was generated counts.
    expect(diagnostics.split("\n").filter((line) => /^(fixtures|examples)\/|^error/.test(line))).toEqual([]);
  }, 120_000);
});
