/** The scripts that give all packages the same version, and the repository of the root. */
import { execFile } from "node:child_process";
import { cpSync, mkdtempSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, it, onTestFinished } from "vitest";
import { ROOT } from "./support/documents.ts";

const run = promisify(execFile);
const { version, scripts, workspaces } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
const FILES = [
  ".changeset/config.json",
  "pnpm-workspace.yaml",
  "scripts/install.js",
  "scripts/manifests.js",
  "CHANGELOG.md",
  "docs/project.md",
  "src/version.ts",
  "runtime/src/version.ts",
  "bsr/*",
  "runtime/jsr.json",
];

/** A copy of the files that the script reads, in which `package.json` has other fields. */
async function copyWith(fields: object) {
  const folder = mkdtempSync(join(tmpdir(), "triple-es-manifests-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const { stdout } = await run("git", ["ls-files", "*package.json", "package-lock.json", ...FILES], { cwd: ROOT });
  for (const file of stdout.trim().split("\n")) cpSync(join(ROOT, file), join(folder, file));
  const read = (file: string): string => readFileSync(join(folder, file), "utf8");
  const write = (file: string, text: string): void => writeFileSync(join(folder, file), text);
  write("package.json", JSON.stringify({ ...JSON.parse(read("package.json")), ...fields }));
  const script = (...args: string[]) => run(process.execPath, ["scripts/manifests.js", ...args], { cwd: folder });
  return { folder, read, write, script };
}

it("finds no difference in this repository", async () => {
  expect((await run(process.execPath, ["scripts/manifests.js"], { cwd: ROOT })).stdout).toBe("");
});

it("writes a new version and a repository into all files", async () => {
  const repository = { type: "git", url: "git+https://example.com/owner/name.git" };
  const { read, write, script } = await copyWith({ version: "1.2.3", repository });
  await expect(script()).rejects.toMatchObject({
    stderr: expect.stringContaining("CHANGELOG.md has no section 1.2.3"),
  });
  write("CHANGELOG.md", `# Changelog\n\n## 1.2.3\n${read("CHANGELOG.md")}`);
  await expect(script()).rejects.toMatchObject({
    code: 1,
    stdout: expect.stringContaining(
      "runtime/package.json differs from package.json: node scripts/manifests.js --write\n",
    ),
  });
  await script("--write");
  expect((await script()).stdout).toBe("");

  const json = (file: string) => JSON.parse(read(file));
  expect(json("runtime/package.json")).toMatchObject({
    version: "1.2.3",
    repository: { ...repository, directory: "runtime" },
    homepage: "https://example.com/owner/name#readme",
    bugs: "https://example.com/owner/name/issues",
  });
  expect(json("runtime/jsr.json")).toMatchObject({ version: "1.2.3", exports: { ".": "./src/index.ts" } });
  expect(json("dubbo/package.json").peerDependencies["triple-es"]).toBe("1.2.3");
  expect(json("create/templates/common/package.json").dependencies["triple-es"]).toBe("^1.2.3");
  expect(json("create/templates/proto/package.json").dependencies["@bufbuild/protoc-gen-es"]).toBe(
    json("runtime/package.json").peerDependencies["@bufbuild/protobuf"],
  );
  expect(json("examples/monorepo/package.json").devDependencies["protoc-gen-triple-es"]).toBe("^1.2.3");
  expect(json("package-lock.json").packages["runtime"].version).toBe("1.2.3");
  expect(read("bsr/buf.plugin.yaml")).toContain("plugin_version: v1.2.3\nsource_url: https://example.com/owner/name\n");
  expect(read("bsr/Dockerfile")).toContain("protoc-gen-triple-es@1.2.3\n");
  expect(read("src/version.ts")).toContain('"v1.2.3"');
  expect(read("runtime/src/version.ts")).toContain('"1.2.3"');
});

it("bumps the version of all packages from changesets, and writes them into the changelog in its style", async () => {
  const { folder, read, write, script } = await copyWith({});
  const start = read("CHANGELOG.md").indexOf("\n## ") + 1;
  const sections = read("CHANGELOG.md").slice(start);
  write(".changeset/one.md", '---\n"protoc-gen-triple-es": patch\n---\n\nThe first change.\n');
  write(".changeset/both.md", '---\n"protoc-gen-triple-es": minor\n---\n\nA change\nof two lines.\n');
  write(".changeset/two.md", '---\n"protoc-gen-triple-es": major\n---\n\nThe second change.\n');
  symlinkSync(join(ROOT, "node_modules"), join(folder, "node_modules"), "junction");
  const identity = ["-c", "user.name=test", "-c", "user.email=test@example.com", "-c", "commit.gpgsign=false"];
  for (const args of [
    ["init", "--quiet"],
    ["add", ".changeset"],
    [...identity, "commit", "--quiet", "-m", "changes"],
  ])
    await run("git", args, { cwd: folder });
  const commands: string[] = scripts.bump.split(" && ").filter((command: string) => command !== "npm run generate");
  for (const command of commands) await run(process.execPath, command.split(" ").slice(1), { cwd: folder });

  expect((await script()).stdout).toBe("");
  for (const path of ["", ...workspaces])
    expect(JSON.parse(read(join(path, "package.json"))).version, path).toBe("1.0.0");
  expect(read("src/version.ts")).toContain('"v1.0.0"');
  expect(read("runtime/src/version.ts")).toContain('"1.0.0"');
  expect(readdirSync(join(folder, ".changeset"))).toEqual(["config.json"]);
  const changelog = read("CHANGELOG.md");
  expect(changelog).toMatch(/^# Changelog\n/);
  expect(changelog.endsWith(`\n\n${sections}`)).toBe(true);
  expect(changelog.slice(start, -sections.length)).toBe(
    "## 1.0.0\n\n### Breaking changes\n\n- The second change.\n\n### Changes\n\n- A change\n  of two lines.\n\n" +
      "### Fixes\n\n- The first change.\n\n",
  );
});

it("names a file that has lost its version", async () => {
  const { write, script } = await copyWith({});
  write("src/version.ts", "");
  await expect(script()).rejects.toMatchObject({
    stderr: expect.stringContaining(`src/version.ts has no "v${version}"`),
  });
});
