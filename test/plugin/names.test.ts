/** Names: the TypeScript name of an rpc, and collisions of names. */
import { createEcmaScriptPlugin } from "@bufbuild/protoplugin";
import { describe, expect, it } from "vitest";
import { ROUND_TRIP_PARAMETER, roundTrip } from "../corpus/round-trip.ts";
import { Project } from "./support/project.ts";
import { buildDescriptors, compile, generate, requestFor, root, run } from "./support/protos.ts";

function service(...rpcs: string[]): string {
  return `service S { ${rpcs.map((name) => `rpc ${name}(M) returns (M);`).join(" ")} }\nmessage M {}`;
}

describe("methods", () => {
  it.each([
    ["Then", "then$"],
    ["New", "new$"],
    ["Catch", "catch$"],
    ["Finally", "finally$"],
    ["__proto__", "__proto__$"],
    ["Prototype", "prototype$"],
    ["HasOwnProperty", "hasOwnProperty$"],
    ["ToLocaleString", "toLocaleString$"],
    ["Arguments", "arguments$"],
    ["Name", "name$"],
    ["Length", "length$"],
    ["Constructor", "constructor$"],
    ["ToString", "toString$"],
    ["Delete", "delete"],
    ["GetHTTPThing", "getHTTPThing"],
    ["snake_case", "snake_case"],
  ])("for rpc %s is %s", (rpc, name) => {
    const file = generate(service(rpc));
    expect(file).toContain(`\n  ${name}(request: MInit, options?: CallOptions): Promise<M>;`);
    expect(file).toContain(`\n    ${name}: S_${name},`);
    expect(file).toContain(`\n  path: "/a.v1.S/${rpc}",`);
  });

  it("are an error, which names all of them, if they would have one name", () => {
    expect(() => generate(service("GetFoo", "getFoo", "Then", "then", "Other"))).toThrow(
      [
        'a/v1/a.proto: rpc a.v1.S.GetFoo and rpc a.v1.S.getFoo are both "getFoo" in TypeScript, rename one of them',
        'a/v1/a.proto: rpc a.v1.S.Then and rpc a.v1.S.then are both "then$" in TypeScript, rename one of them',
      ].join("\n"),
    );
  });
});

describe("exports", () => {
  it("leave the names of messages, enums and extensions alone, used or not", () => {
    const file = generate(`
      ${service("R")}
      message SClient {}
      enum SHandler { ZERO = 0; }
      message SDef {}
      message S_r {}
      message createSClient {}
      message MInit {}
    `);
    const names = [...file.matchAll(/^export (?:const|function|interface|type) ([\w$]+)/gm)].map(([, name]) => name);
    expect(names).toEqual(["MInit$", "SClient$", "SHandler$", "S_r$", "SDef$", "createSClient$"]);
  });

  it("distinguish two messages with one name, the file's own first", () => {
    const set = compile({
      "a.proto":
        'syntax = "proto3";\npackage a;\nimport "b.proto";\nservice S { rpc R(b.M) returns (M); }\nmessage M {}',
      "b.proto": 'syntax = "proto3";\npackage b;\nmessage M {}',
    });
    const file = run(requestFor(set)).get("a_triple.ts");
    expect(file).toContain("\nexport type MInit$ = MessageInitShape<typeof MSchema$>;");
    expect(file).toContain("\nexport type MInit = MessageInitShape<typeof MSchema>;");
    expect(file).toContain("\n  r(request: MInit$, options?: CallOptions): Promise<M>;");
  });
});

describe("imports", () => {
  it("avoid exports of the file and types of the language", () => {
    const file = generate(`
      service Service { rpc R(Promise) returns (CallOptions); }
      message Promise {}
      message CallOptions {}`);
    expect(file).toContain('import type { CallOptions, Promise as Promise$ } from "./a_pb";');
    expect(file).toContain("CallOptions as CallOptions$,");
    expect(file).toContain("ServiceDef as ServiceDef$,");
    expect(file).toContain("\n  r(request: PromiseInit, options?: CallOptions$): Promise<CallOptions>;");
    expect(file).toContain("\nexport const ServiceDef: ServiceDef$<ServiceClient, ServiceHandler> = {");
  });

  it("avoid the type of streams that handlers return", () => {
    const file = generate("service S { rpc R(Iterable) returns (stream M); } message Iterable {} message M {}");
    expect(file).toContain("Iterable as Iterable$");
    expect(file).toContain("r(request: Iterable$, context: HandlerContext): AsyncIterable<MInit> | Iterable<MInit>;");
  });

  it.each(["target=ts", "target=js,js_import_style=legacy_commonjs"])("fit into 120 columns with %s", (parameter) => {
    const rpcs = Array.from({ length: 40 }, (_, i) => `rpc R${i}(${"M".repeat(i + 1)}) returns (M);`);
    const messages = Array.from({ length: 40 }, (_, i) => `message ${"M".repeat(i + 1)} {}`);
    const set = compile({ "a.proto": `syntax = "proto3";\nservice S { ${rpcs.join("\n")} }\n${messages.join("\n")}` });
    const [file = ""] = run(requestFor(set, parameter)).values();
    const [, list = ""] = /(?:import|const) \{\n([^}]*)\n\} (?:from |= require\()"\.\/a_pb"/.exec(file) ?? [];
    const lines = list.split("\n");
    expect(lines.length).toBeGreaterThan(5);
    for (const [i, line] of lines.entries()) {
      expect(line).toMatch(/^ {2}\w.*,$/);
      expect(line.length).toBeLessThanOrEqual(120);
      // A line is broken only if the next name does not fit.
      const next = lines[i + 1]?.trim().split(",")[0] ?? "x".repeat(120);
      expect(`${line} ${next},`.length).toBeGreaterThan(120);
    }
  });

  it("use an alias for words that cannot be bound", () => {
    const words = ["await", "any", "unknown", "never", "symbol", "undefined", "eval", "arguments", "async", "as"];
    const rpcs = words.map((word, i) => `rpc R${i}(${word}) returns (${word});`);
    const file = generate(`service S { ${rpcs.join("\n")} }\n${words.map((word) => `message ${word} {}`).join("\n")}`);
    for (const word of words) {
      expect(file).toContain(` ${word} as ${word}$`);
    }
  });
});

/** Returns the names that a file imports from generated messages, with their paths. */
function pbImports(file: string): string[] {
  return [...file.matchAll(/^import (?:type )?\{([^}]*)\} from (".*");$/gm)]
    .filter(([, , path]) => /_pb\b|wkt/.test(path ?? ""))
    .flatMap(([, names = "", path]) =>
      names
        .split(",")
        .map((name) => name.trim().replace(/ as .*/, ""))
        .filter((name) => name !== "")
        .map((name) => `${name} from ${path}`),
    )
    .sort();
}

/** Imports the same messages with the look-up of the plugin kit. */
const kit = createEcmaScriptPlugin({
  name: "kit",
  version: "v1",
  parseOptions: () => ({}),
  generateTs(schema) {
    for (const file of schema.files) {
      const f = schema.generateFile(`${file.name}_triple.ts`);
      for (const { input, output } of file.services.flatMap((service) => service.methods)) {
        f.print(f.importShape(input), f.importShape(output), f.importSchema(input), f.importSchema(output));
      }
    }
  },
});

describe("exports of codecs", () => {
  const set = compile({
    "names/v1/names.proto": `
      syntax = "proto2";
      package names.v1;
      message newA { optional ACodec a = 1; }
      message ACodec { optional int32 b = 1; }
      message encodeA { optional encodeACodec a = 1; }
      message encodeACodec { repeated newA a = 1; }
      message prototypeOfA { optional A a = 1; }
      message A { optional int32 b = 1; }
      message newACodec { optional prototypeOfA a = 1; }`,
  });

  it("are distinguished if a message is named after the verb of a function and another message", () => {
    const files = run(requestFor(set, ROUND_TRIP_PARAMETER));
    const generated = [...files].map(([name, content]) => ({ name, content }));
    expect(roundTrip(set, generated)).toEqual({ messages: 7, failures: [] });
  });

  it("type-check together with the types of these messages", () => {
    using project = new Project();
    project.generateMessages(requestFor(set, "target=ts,import_extension=js"));
    project.generate(requestFor(set, "target=ts,import_extension=js"));
    expect(project.diagnostics()).toEqual([]);
  });

  it("type-check if a field is named like a method of objects, and an enum like a function of the language", () => {
    using project = new Project();
    const fields =
      "uint64 long = 1 [jstype = JS_STRING]; map<string, BigInt> kinds = 2; optional bytes is_prototype_of = 3;";
    const set = compile({ "a.proto": `syntax = "proto3";\nmessage M { ${fields} }\nenum BigInt { ZERO = 0; }` });
    project.generateMessages(requestFor(set, "target=ts,import_extension=js"));
    project.generate(requestFor(set, "target=ts,import_extension=js"));
    expect(project.diagnostics({ erasableSyntaxOnly: false })).toEqual([]);
  });
});

describe("names and paths of protoc-gen-es", () => {
  const fixtures = buildDescriptors(root);
  it.each([
    "",
    "import_extension=js",
    "import_extension=ts",
    "rewrite_imports=./fixture/**/*_pb.js:@acme/protos/",
    "rewrite_imports=./fixture/**/*_pb.js:../elsewhere,import_extension=ts",
    "rewrite_imports=@bufbuild/protobuf/wkt:@acme/wkt",
    "map_imports=fixture/other/:@acme/other",
    "map_imports=fixture/other/:./mapped,import_extension=js",
  ])("are those of the plugin kit with %s", (parameter) => {
    const request = requestFor(fixtures, `target=ts,codecs=false,${parameter}`.replace(/,$/, ""));
    const expected = run(request, kit);
    const actual = run(request);
    expect([...actual.keys()]).toEqual([...expected.keys()].filter((name) => actual.has(name)).sort());
    for (const [name, content] of actual) {
      expect(pbImports(content), name).toEqual(pbImports(expected.get(name) ?? ""));
    }
  });
});
