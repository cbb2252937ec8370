/** The workflows of CI and of releases, the forms of issues, and the container for developers. */
import { execFile } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { ROOT, readDocument } from "./support/documents.ts";

const run = promisify(execFile);
const ACTIONLINT = join(ROOT, ".ci/cache/bin/actionlint");
const hasActionlint = existsSync(ACTIONLINT);
if (!hasActionlint) console.warn("skipped: actionlint; sh scripts/actionlint.sh installs it");

interface Step {
  readonly run?: string;
  readonly uses?: string;
}
interface Job {
  readonly "timeout-minutes"?: number;
  readonly permissions?: Record<string, string>;
  readonly strategy?: { readonly matrix: Record<string, readonly unknown[]> };
  readonly steps: readonly Step[];
}
interface Workflow {
  readonly permissions: Record<string, string>;
  readonly jobs: Record<string, Job>;
}

const NAMES = readdirSync(join(ROOT, ".github/workflows"));
const workflowOf = (name: string): Workflow => parse(readDocument(`.github/workflows/${name}`));
const { scripts } = JSON.parse(readDocument("package.json"));

describe.each(NAMES)("the workflow %s", (name) => {
  const { permissions, jobs } = workflowOf(name);

  it("can only read, has time limits, and no identity unless it releases", () => {
    expect(permissions).toEqual({ contents: "read" });
    for (const [id, job] of Object.entries(jobs)) {
      expect(job["timeout-minutes"]).toBeGreaterThan(0);
      const publishes = name === "release.yml" && id !== "test";
      expect(job.permissions?.["id-token"]).toBe(publishes ? "write" : undefined);
    }
  });

  it("uses actions by the hash of a commit, beside their version", () => {
    const uses = readDocument(`.github/workflows/${name}`).match(/uses: .*/g) ?? [];
    expect(uses.length).toBeGreaterThan(0);
    for (const one of uses) expect(one).toMatch(/^uses: actions\/[a-z-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/);
  });

  it("runs commands that exist", () => {
    const commands = Object.values(jobs).flatMap(({ steps }) => steps.flatMap((step) => step.run ?? []));
    expect(commands.length).toBeGreaterThan(0);
    for (const command of commands) {
      const [, script] = /^npm run (\S+)/.exec(command) ?? [];
      if (script !== undefined) expect(scripts, command).toHaveProperty([script]);
      const [, file] = /(?:^node|bash) (\S+)/.exec(command) ?? [];
      if (file !== undefined) expect(existsSync(join(ROOT, file)), command).toBe(true);
    }
  });
});

it("tests run on every supported version of Node and on three systems", () => {
  expect(workflowOf("test.yml").jobs["unit"]?.strategy?.matrix).toEqual({
    os: ["ubuntu-latest", "macos-latest", "windows-latest"],
    node: [20, 22, 24, 26],
  });
});

it.skipIf(!hasActionlint)("actionlint finds no mistake in them, nor in those of templates and examples", async () => {
  const files = [
    ...NAMES.map((name) => `.github/workflows/${name}`),
    "create/templates/common/.github/workflows/ci.yml",
    "examples/monorepo/.github/workflows/ci.yml",
  ];
  const { stdout } = await run(ACTIONLINT, ["-no-color", ...files], { cwd: ROOT }).catch((error) => error);
  expect(stdout).toBe("");
});

it.each(["bug.yml", "feature.yml"])("the form %s has fields with labels", (name) => {
  const { body, ...form } = parse(readDocument(`.github/ISSUE_TEMPLATE/${name}`));
  expect(form).toEqual({ name: expect.any(String), description: expect.any(String), labels: expect.any(Array) });
  const fields = body.filter(({ type }: { type: string }) => type !== "markdown");
  expect(fields.length).toBeGreaterThan(0);
  for (const field of fields) {
    expect(field).toMatchObject({ id: expect.any(String), attributes: { label: expect.any(String) } });
  }
});

it("the container for developers has all packages of Debian that .ci/run installs", () => {
  const installed = Array.from(readDocument(".ci/run").matchAll(/missing\+=\((\S+)\)/g), ([, name]) => name);
  const lines = readDocument(".devcontainer/Dockerfile").split("\n");
  expect(installed.length).toBeGreaterThan(5);
  for (const name of installed) expect(lines).toContain(`    ${name} \\`);
  expect(JSON.parse(readDocument(".devcontainer/devcontainer.json")).build.dockerfile).toBe("Dockerfile");
});
