/** The script that gives all packages the same version, and the repository of the root. */
import { execFile } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, it, onTestFinished } from "vitest";
import { ROOT } from "./support/documents.ts";

const run = promisify(execFile);
const { version } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
const FILES = [
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
  return { read, write, script };
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
  expect(json("examples/monorepo/package.json").devDependencies["protoc-gen-triple-es"]).toBe("^1.2.3");
  expect(json("package-lock.json").packages["runtime"].version).toBe("1.2.3");
  expect(read("bsr/buf.plugin.yaml")).toContain("plugin_version: v1.2.3\nsource_url: https://example.com/owner/name\n");
  expect(read("bsr/Dockerfile")).toContain("protoc-gen-triple-es@1.2.3\n");
  expect(read("src/version.ts")).toContain('"v1.2.3"');
  expect(read("runtime/src/version.ts")).toContain('"1.2.3"');
});

it("names a file that has lost its version", async () => {
  const { write, script } = await copyWith({});
  write("src/version.ts", "");
  await expect(script()).rejects.toMatchObject({
    stderr: expect.stringContaining(`src/version.ts has no "v${version}"`),
  });
});
