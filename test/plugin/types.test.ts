/** Generated code with every strict flag, every supported version of TypeScript and both kinds of module resolution. */
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { judgedDiagnostics, PLANTED_NAME, PLANTED_SOURCE } from "./support/planted-mistake.ts";
import { Project } from "./support/project.ts";
import { root } from "./support/protos.ts";

const resolutions: readonly [name: string, flags: readonly string[]][] = [
  ["nodenext", ["--module", "NodeNext", "--moduleResolution", "NodeNext"]],
  ["bundler", ["--module", "ESNext", "--moduleResolution", "Bundler"]],
];

const project = new Project();
afterAll(() => project[Symbol.dispose]());
const generated = ["fixtures/gen", "fixtures/contract", "fixtures/interface", "fixtures/options", "examples/gen"];
project.write(PLANTED_NAME, PLANTED_SOURCE);
project.write(
  "tsconfig.json",
  JSON.stringify({
    extends: join(root, "test/plugin/support/tsconfig.json"),
    compilerOptions: { skipLibCheck: false },
    include: [PLANTED_NAME, ...generated.map((folder) => join(root, folder))],
  }),
);

// The declarations of the runtime resolve alike in all versions, so the older ones have one kind of resolution each.
describe.each([
  ["5.9", "ts59", resolutions.slice(0, 1)],
  ["6.0", "ts60", resolutions.slice(1)],
  ["7.0", "typescript", resolutions],
])("TypeScript %s", (version, name, resolved) => {
  const tsc = (...args: string[]) =>
    spawnSync(process.execPath, [`node_modules/${name}/bin/tsc`, ...args], { cwd: root, encoding: "utf8" }).stdout;

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
