/** The plugin as published: packed, installed into an empty project, and run by buf. */
import { spawnSync } from "node:child_process";
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { buildDescriptors, requestFor, root, run } from "./support/protos.ts";

describe("the packed plugin", () => {
  let folder: string;
  let installed: string;

  const npm = (cwd: string, ...args: string[]) => {
    const { status, stdout, stderr } = spawnSync("npm", args, { cwd, encoding: "utf8" });
    if (status !== 0) throw new Error(`npm ${args[0]} failed: ${stderr}`);
    return stdout;
  };

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), "triple-es-packed-"));
    npm(root, "run", "--silent", "build", "plugin", "contract");
    npm(root, "pack", "--silent", "--ignore-scripts", "--pack-destination", folder);
    const [tarball = ""] = readdirSync(folder);
    writeFileSync(join(folder, "package.json"), "{}");
    // Offline, so that a missing dependency is an error.
    npm(folder, "install", "--offline", "--no-audit", "--no-fund", "--silent", `./${tarball}`);
    installed = join(folder, "node_modules/protoc-gen-triple-es");
  });

  afterAll(() => rmSync(folder, { recursive: true }));

  it("is one bundle without dependencies, and without a compiler", () => {
    expect(readdirSync(join(folder, "node_modules")).filter((name) => !name.startsWith("."))).toEqual([
      "protoc-gen-triple-es",
    ]);
    // Chunks have a hash after their names.
    const files = readdirSync(join(installed, "dist")).map((name) => name.replace(/-[0-9A-Z]{8}\.js$/, ".js"));
    expect([...new Set(files)]).toEqual([
      "main.js",
      "triple-contract.ts",
      "triple-es-chunk.js",
      "triple-es-commands.js",
      "triple-es-migrate.js",
      "triple-es-replay.js",
      "triple-es.js",
    ]);
    expect(statSync(join(installed, "dist/main.js")).size).toBeLessThan(410_000);
    expect(readFileSync(join(installed, "dist/main.js"), "utf8")).not.toContain("createSourceFile");
  });

  it("runs by its name", () => {
    const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
    const bin = join(folder, "node_modules/.bin/protoc-gen-triple-es");
    expect(spawnSync(bin, ["--version"], { encoding: "utf8" }).stdout).toBe(`protoc-gen-triple-es v${version}\n`);
  });

  it("has a second command, which names its requirements", () => {
    const bin = join(folder, "node_modules/.bin/triple-es");
    expect(spawnSync(bin, ["--version"], { encoding: "utf8" }).stdout).toMatch(/^triple-es v\d/);
    const { status, stderr } = spawnSync(bin, ["interface", "*.ts", "--out", "gen"], { cwd: folder, encoding: "utf8" });
    expect([status, stderr]).toEqual([
      1,
      "triple-es: interface reads TypeScript with ts-morph, which is not installed: npm install --save-dev ts-morph\n",
    ]);
  });

  it("generates the same output under buf as the sources", () => {
    mkdirSync(join(folder, "proto"));
    symlinkSync(join(root, "fixtures/proto/fixture"), join(folder, "proto/fixture"));
    symlinkSync(join(root, "proto/google"), join(folder, "proto/google"));
    writeFileSync(
      join(folder, "buf.gen.yaml"),
      "version: v2\ninputs: [{ directory: proto }]\nplugins:\n" +
        "  - { local: protoc-gen-triple-es, out: gen, opt: [target=js+dts, import_extension=js] }\n",
    );
    const env = { ...process.env, PATH: `${join(folder, "node_modules/.bin")}:${process.env["PATH"]}` };
    const buf = join(root, "node_modules/@bufbuild/buf/bin/buf");
    const { stderr } = spawnSync(process.execPath, [buf, "generate"], { cwd: folder, env, encoding: "utf8" });
    expect(stderr).toBe("");
    const request = requestFor(buildDescriptors(root), "target=js+dts,import_extension=js");
    for (const [path, content] of run(request)) {
      if (path.startsWith("fixture/")) expect(readFileSync(join(folder, "gen", path), "utf8")).toBe(content);
    }
  });
});
