/** Generated code with every strict flag, every supported version of TypeScript and both kinds of module resolution. */
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { TSC, TSC_ENVIRONMENT } from "../support/tsc.ts";
import { judgedDiagnostics, PLANTED_NAME, PLANTED_SOURCE } from "./support/planted-mistake.ts";
import { Project } from "./support/project.ts";
import { root } from "./support/protos.ts";

const resolutions: readonly [name: string, flags: readonly string[]][] = [
  ["nodenext", ["--module", "NodeNext", "--moduleResolution", "NodeNext"]],
  ["bundler", ["--module", "ESNext", "--moduleResolution", "Bundler"]],
];

/** A compiler ends before optimized code repays what it takes to produce. */
const NODE = [process.execPath, "--no-opt", "--max-semi-space-size=64"] as const;

const project = new Project();
afterAll(() => project[Symbol.dispose]());
const generated = ["fixtures/gen", "fixtures/contract", "fixtures/interface", "fixtures/options", "examples/gen"];
project.write(PLANTED_NAME, PLANTED_SOURCE);
project.write(
  "tsconfig.json",
  JSON.stringify({
    extends: join(root, "test/plugin/support/tsconfig.json"),
    // Declaration files are generated too; those of the language are not.
    compilerOptions: { skipLibCheck: false, skipDefaultLibCheck: true },
    include: [PLANTED_NAME, ...generated.map((folder) => join(root, folder))],
  }),
);

// The declarations of the runtime resolve alike in all versions, so the older ones have one kind of resolution each.
describe.each([
  ["5.9", [...NODE, "node_modules/ts59/bin/tsc"], resolutions.slice(0, 1)],
  ["6.0", [...NODE, "node_modules/ts60/bin/tsc"], resolutions.slice(1)],
  ["7.0", [TSC, "--singleThreaded"], resolutions],
] as const)("TypeScript %s", (version, [program, ...first], resolved) => {
  const tsc = (...args: string[]) =>
    spawnSync(program, [...first, ...args], { cwd: root, env: TSC_ENVIRONMENT, encoding: "utf8" }).stdout;

  it("is that version", () => {
    expect(tsc("--version")).toContain(`Version ${version}.`);
  });

  it.each(resolved)("reports nothing in fixtures and examples under %s", (_, flags) => {
    const output = tsc("--project", project.folder, "--pretty", "false", ...flags);
    // The runtime is checked elsewhere, as source with its own flags; only generated files count here.
    const diagnostics = judgedDiagnostics(output).filter((line) => /^(fixtures|examples)\/|^error/.test(line));
    expect(diagnostics).toEqual([]);
  });
});
