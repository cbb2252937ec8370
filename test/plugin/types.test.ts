/** Generated code under every strict flag of every TypeScript that users have, as each of the two resolutions sees it. */
import { spawnSync } from "node:child_process";
import { describe, expect, it } from "vitest";
import { root } from "./support/protos.ts";

const resolutions: readonly [name: string, flags: readonly string[]][] = [
  ["nodenext", ["--module", "NodeNext", "--moduleResolution", "NodeNext"]],
  ["bundler", ["--module", "ESNext", "--moduleResolution", "Bundler"]],
];

describe.each([
  ["5.9", "ts59"],
  ["6.0", "ts60"],
  ["7.0", "typescript"],
])("TypeScript %s", (version, name) => {
  const tsc = (...args: string[]) =>
    spawnSync(process.execPath, [`node_modules/${name}/bin/tsc`, ...args], { cwd: root, encoding: "utf8" }).stdout;

  it("is that version", () => {
    expect(tsc("--version")).toContain(`Version ${version}.`);
  });

  it.each(resolutions)(
    "has nothing to say about fixtures and examples under %s",
    (_, flags) => {
      const diagnostics = tsc("--project", "test/plugin/support/tsconfig.json", "--pretty", "false", ...flags);
      // The runtime is checked as source with its own flags elsewhere: here, only what was generated counts.
      expect(diagnostics.split("\n").filter((line) => /^(fixtures|examples)\/|^error/.test(line))).toEqual([]);
    },
    120_000,
  );
});
