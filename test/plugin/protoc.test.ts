/** The plugin with protoc, whose requests differ from those of buf. Skipped if protoc is not installed. */
import { spawnSync } from "node:child_process";
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { compiled } from "../support/compiled.ts";
import { root } from "./support/protos.ts";

const protoc = spawnSync("protoc", ["--version"], { encoding: "utf8" });

describe.skipIf(protoc.status !== 0)("protoc", () => {
  let folder: string;

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), "triple-es-protoc-"));
    const program = join(folder, "protoc-gen-triple-es");
    writeFileSync(program, `#!/bin/sh\ncd "${root}" && exec "${process.execPath}" "${compiled("src/main.ts")}" "$@"\n`);
    chmodSync(program, 0o755);
  });

  afterAll(() => rmSync(folder, { recursive: true }));

  const run = (source: string, file: string, options: string) =>
    spawnSync(
      "protoc",
      [
        `--plugin=${join(folder, "protoc-gen-triple-es")}`,
        `--triple-es_out=${folder}`,
        `--triple-es_opt=${options}`,
        `--proto_path=${source}`,
        file,
      ],
      { encoding: "utf8" },
    );

  it.each([
    ["proto", "greet/v1/greet", "examples/gen", "", ["_triple.ts", "_codec.ts"]],
    ["fixtures/proto", "fixture/comments/v1/comments", "fixtures/gen", ",codecs=false", ["_triple.ts"]],
    ["fixtures/proto", "fixture/imports/v1/imports", "fixtures/gen", ",codecs=false", ["_triple.ts"]],
    ["fixtures/proto", "fixture/names/v1/names", "fixtures/gen", ",codecs=false", ["_triple.ts"]],
    ["fixtures/proto", "fixture/proto2/v1/proto2", "fixtures/gen", ",codecs=false", ["_triple.ts"]],
  ])("generates what buf generates: %s/%s", (source, name, golden, options, suffixes) => {
    const { status, stderr } = run(join(root, source), `${name}.proto`, `target=ts,import_extension=ts${options}`);
    expect(stderr).toBe("");
    expect(status).toBe(0);
    for (const suffix of suffixes) {
      const path = `${name}${suffix}`;
      expect(readFileSync(join(folder, path), "utf8")).toBe(readFileSync(join(root, golden, path), "utf8"));
    }
  });

  it("reports our errors as its own", () => {
    writeFileSync(
      join(folder, "clash.proto"),
      'syntax = "proto3";\nservice S { rpc GetFoo(M) returns (M); rpc getFoo(M) returns (M); }\nmessage M {}',
    );
    const { status, stderr } = run(folder, "clash.proto", "target=ts");
    expect(status).not.toBe(0);
    expect(stderr).toContain("--triple-es_out: clash.proto: rpc S.GetFoo and rpc S.getFoo are both");
  });
});
