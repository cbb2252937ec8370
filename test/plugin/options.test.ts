/** Options and flags of the plugin, and how mistakes in them are told. */
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { plugin } from "../../src/plugin.ts";
import { generate, root } from "./support/protos.ts";

describe("options", () => {
  it("choose where the runtime is imported from", () => {
    expect(generate("service S {}", "target=ts,runtime_import=@acme/triple")).toContain(' from "@acme/triple";');
    expect(generate("service S {}", "target=ts,import_extension=ts,runtime_import=./rt/index.js")).toContain(
      ' from "../../rt/index.ts";',
    );
  });

  it("that are wrong are all told at once, with the right ones", () => {
    expect(() => generate("service S {}", "target=ts,speed=11,runtime_import=,colour=red")).toThrow(
      'invalid option "speed=11,runtime_import=,colour=red": unknown option "speed", ' +
        'option "runtime_import" needs a value, unknown option "colour"; the options are target, import_extension, ' +
        "js_import_style, keep_empty_files, ts_nocheck, elide_plugin_version, map_imports, runtime_import",
    );
    expect(() => generate("service S {}", "target=go")).toThrow('invalid option "target=go"');
  });
});

describe("flags", () => {
  const run = (...flags: string[]) =>
    spawnSync(process.execPath, ["--import", "tsx", "src/main.ts", ...flags], { cwd: root, encoding: "utf8" });

  it("--version prints the version of the package", () => {
    const { version } = JSON.parse(readFileSync(`${root}package.json`, "utf8"));
    expect(plugin.version).toBe(`v${version}`);
    expect(run("--version")).toMatchObject({ status: 0, stdout: `protoc-gen-triple-es v${version}\n`, stderr: "" });
  });

  it("--help explains every option", () => {
    const { status, stdout } = run("--help");
    expect(status).toBe(0);
    expect(stdout).toMatch(/^ {2}target=ts .*\n(?: {2}\w+=.*\n)* {2}runtime_import=triple-es /m);
  });

  it("that are unknown end with an error", () => {
    expect(run("--nonsense")).toMatchObject({ status: 1, stdout: "" });
  });
});
