/** Options and flags of the plugin, and the errors for invalid ones. */
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { plugin } from "../../src/plugin/plugin.ts";
import { compiled } from "../support/compiled.ts";
import { compile, generate, requestFor, root, run } from "./support/protos.ts";

describe("options", () => {
  it("choose where the runtime is imported from", () => {
    expect(generate("service S {}", "target=ts,runtime_import=@acme/triple")).toContain(' from "@acme/triple";');
    expect(generate("service S {}", "target=ts,import_extension=ts,runtime_import=./rt/index.js")).toContain(
      ' from "../../rt/index.ts";',
    );
  });

  it("import codecs from a separate path, also above the file", () => {
    const files = compile({ "a/v1/a.proto": 'syntax = "proto3";\npackage a.v1;\nmessage M { string name = 1; }' });
    const codecs = run(requestFor(files, "target=ts,import_extension=ts,runtime_import=../rt/index.js"));
    expect(codecs.get("a/v1/a_codec.ts")).toMatch(/ from "\.\.\/\.\.\/\.\.\/rt\/index\.(?:js|ts)";/);
  });

  it("escape the name of a source map, in which # and ? have a meaning", () => {
    const files = compile({ "a#b?c.proto": 'syntax = "proto3";\nservice S { rpc R(M) returns (M); }\nmessage M {}' });
    const output = run(requestFor(files, "target=dts,proto_source_map=."));
    expect([...output.values()].join()).toContain("# sourceMappingURL=a%23b%3Fc_triple.d.ts.map");
  });

  it("put lists of unions in plain JSON into parentheses", () => {
    const body = "service S { rpc R(M) returns (M); }\nmessage M { repeated double all = 1; }";
    expect(generate(body, "target=ts,messages=json")).toMatch(/all\?: \(number \| .*\)\[\]/);
  });

  const refusal = (parameter: string): string => plugin.run(requestFor(set, parameter)).error;
  const set = compile({ "a.proto": 'syntax = "proto3";\nservice S { rpc R(M) returns (M); }\nmessage M {}' });
  const names =
    "the options are target, import_extension, js_import_style, keep_empty_files, ts_nocheck, elide_plugin_version, " +
    "rewrite_imports, map_imports, bootstrap_wkt, parts, init_types, messages, server_base, fakes, java_names, " +
    "descriptors, codecs, openapi, proto_source_map, runtime_import";

  it("that are invalid are reported all at once, with the valid ones", () => {
    expect(refusal("target=go,speed=11,runtime_import=,part=client,fakes=maybe")).toBe(
      'invalid options: "target=go": target must be ts, js, dts, or several of them joined with +; there is no "speed"; ' +
        '"runtime_import=": runtime_import needs a value; there is no "part", did you mean "parts"?; ' +
        `"fakes=maybe": fakes must be true or false; ${names}`,
    );
  });

  it("are refused without a suggestion if they resemble no name", () => {
    expect(refusal("xyzparts=client")).toContain('there is no "xyzparts"; the options are');
    expect(refusal("pparts=client")).toContain('there is no "pparts", did you mean "parts"?');
  });

  it.each([
    ["import_extension=js';process.exit()//", "must be none, js or ts"],
    ["js_import_style=amd", "must be module or legacy_commonjs"],
    ["rewrite_imports=nothing", "must be <pattern>:<target>"],
    ["parts=client+proxy", "must be client, server, or several"],
    ["init_types=none", "must be alias or expanded"],
    ["messages=yaml", "must be pb or json or none"],
    ["messages=pb,messages=json", 'messages was "pb" before'],
    ["target=dts,proto_source_map=", "must be a relative path with slashes"],
    ["target=dts,proto_source_map=/abs/proto", "must be a relative path with slashes"],
    ["target=dts,proto_source_map=C:/x/proto", "must be a relative path with slashes"],
    ["target=dts,proto_source_map=..\\proto", "must be a relative path with slashes"],
    ["target=dts,proto_source_map=https://example.com/proto", "must be a relative path with slashes"],
    ["__proto__=1", 'there is no "__proto__"'],
  ])("%s is refused", (parameter, reason) => {
    expect(refusal(parameter)).toContain(reason);
  });

  it.each([
    ["messages=json,parts=server", "parts must be client with messages=json"],
    ["messages=none,server_base=true", "server_base does not go with messages=none"],
    ["messages=json,init_types=expanded", "init_types=expanded does not go with messages=json"],
    ["messages=json,descriptors", "descriptors do not go with messages=json"],
    ["messages=json,codecs=true", "codecs do not go with messages=json"],
    ["messages=none,codecs", "codecs do not go with messages=none"],
    ["messages=json,runtime_import=triple-es", "runtime_import=triple-es does not go with messages=json"],
    ["runtime_import=triple-es/json", "runtime_import=triple-es/json does not go with messages=pb"],
    ["parts=client,server_base", "server_base needs parts=server"],
    ["parts=server,fakes", "fakes need parts=client"],
    ["target=ts,proto_source_map=../proto", "proto_source_map needs target=dts"],
  ])("that contradict each other are refused: %s", (parameter, reason) => {
    expect(refusal(parameter)).toContain(reason);
  });

  it("leave nothing half done", () => {
    expect(plugin.run(requestFor(set, "target=go")).file).toEqual([]);
  });

  it("may omit the value if they are switches", () => {
    expect(generate("", "target=ts,keep_empty_files,ts_nocheck")).toMatch(/^\/\/ @ts-nocheck\n\nexport \{\};$/m);
  });
});

describe("flags", () => {
  const run = (...flags: string[]) =>
    spawnSync(process.execPath, [compiled("src/main.ts"), ...flags], { cwd: root, encoding: "utf8" });

  it("--version prints the version of the package", () => {
    const { version } = JSON.parse(readFileSync(`${root}package.json`, "utf8"));
    expect(plugin.version).toBe(`v${version}`);
    expect(run("--version")).toMatchObject({ status: 0, stdout: `protoc-gen-triple-es v${version}\n`, stderr: "" });
  });

  it("--help explains every option", () => {
    const { status, stdout } = run("--help");
    expect(run("-h").stdout).toBe(stdout);
    expect(run("-v").stdout).toBe(run("--version").stdout);
    expect(status).toBe(0);
    expect(stdout).toMatch(/^ {2}target=ts .*\n(?: {2}\w+=.*\n)* {2}runtime_import=triple-es /m);
  });

  it("that are unknown end with an error", () => {
    expect(run("--nonsense")).toMatchObject({ status: 1, stdout: "" });
  });
});
