/** Proto files of contracts: their JSON for random types and values, their numbers and their style. */
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { createFileRegistry, type DescService } from "@bufbuild/protobuf";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { jsonCodec } from "../../../runtime/src/codec/codec.ts";
import { readArguments } from "../../../src/contract/arguments.ts";
import type { Outcome } from "../../../src/contract/command.ts";
import { Problems } from "../../../src/contract/model/diagnostics.ts";
import { runContract, watchContract } from "../../../src/contract/typescript/contract-command.ts";
import { protoFile } from "../../../src/contract/typescript/proto-file.ts";
import type { ContractMethod, WireType } from "../../../src/contract/typescript/wire-type.ts";
import { compile, root } from "../../plugin/support/protos.ts";
import { conversionOf, types, valuesOf } from "./random-types.ts";

const BUF = join(root, "node_modules/.bin/buf");

/** Prints a contract that has a method for each type, as a message of its own and as a field. */
function protoOf(all: readonly WireType[]): string {
  const documented = { origin: "", comment: [], deprecated: false };
  const message = (wire: WireType) => ({ wire, text: { text: "", names: [] } });
  const methods = all.map((type, index): ContractMethod => {
    const it: WireType = { kind: "object", fields: [{ name: "it", type, isOptional: false, comment: [] }] };
    const name = `m${index}`;
    return { ...documented, name, kind: "unary", parameter: "it", request: message(type), response: message(it) };
  });
  const node = {
    getSourceFile: () => ({ getFilePath: () => "/a.ts", getLineAndColumnAtPos: () => ({}) }),
    getStart: () => 0,
  };
  const service = { ...documented, node: node as never, name: "S", wireName: "a.v1.S", methods };
  const problems = new Problems("/");
  const { text } = protoFile([{ file: "/a.ts", services: [service] }], "a.proto", "/", new Map(), problems);
  expect(problems.hasErrors).toBe(false);
  return text;
}

/** Removes from a value what protobuf cannot tell from its absence: null or an empty list or map in an optional field. */
function asProto(type: WireType, value: unknown): unknown {
  if (type.kind === "named") return asProto(type.shape.type, value);
  if (type.kind === "tagged") {
    const members = type.types.map(([, member]) => member as WireType & { kind: "object" });
    const [one, other] = members.map(({ fields }) => fields.find(({ name }) => name === "value")?.type);
    return isDeepStrictEqual(one, other) ? asProto(members[0] as WireType, value) : value;
  }
  // Lists of lists and the like are any JSON.
  const inner = type.kind === "array" ? type.item : "value" in type ? type.value : undefined;
  if (inner !== undefined && ["array", "map", "record", "tuple", "union"].includes(inner.kind)) return value;
  if (type.kind === "array") return (value as unknown[]).map((one) => asProto(type.item, one));
  if (type.kind === "map")
    return new Map([...(value as Map<unknown, unknown>)].map(([key, one]) => [key, asProto(type.value, one)]));
  if (type.kind === "record") {
    return Object.fromEntries(Object.entries(value as object).map(([key, one]) => [key, asProto(type.value, one)]));
  }
  if (type.kind !== "object") return value;
  const fields = type.fields.flatMap((field): [string, unknown][] => {
    const one = Object.hasOwn(value as object, field.name) ? (value as Record<string, unknown>)[field.name] : undefined;
    const size = one instanceof Map ? one.size : Object.keys(one ?? {}).length;
    const isEmpty = ["array", "record", "map"].includes(field.type.kind) && size === 0;
    return one === undefined || (field.isOptional && isEmpty) ? [] : [[field.name, asProto(field.type, one)]];
  });
  return Object.fromEntries(fields);
}

/** Values in 64 bits and in the years of `google.protobuf.Timestamp`. */
const BOUNDS = { big: 2n ** 63n - 1n, first: new Date("0001-01-01T00:00:00Z") };
const typed = types.chain((type) =>
  fc.tuple(fc.constant(type), fc.array(valuesOf(type, BOUNDS), { minLength: 1, maxLength: 5 })),
);

describe("the proto file of a contract", () => {
  it("has the JSON of the contract, for random types and values", { timeout: 400_000 }, () => {
    let count = 0;
    fc.assert(
      fc.property(fc.array(typed, { minLength: 40, maxLength: 60 }), (all) => {
        const set = compile({ "a.proto": protoOf(all.map(([type]) => type)) });
        const service = createFileRegistry(set).getService("a.v1.S") as DescService;
        for (const [index, [type, values]] of all.entries()) {
          const { input, output } = service.methods[index] as DescService["methods"][number];
          for (const value of values) {
            const whole: WireType = { kind: "object", fields: [{ name: "it", type, isOptional: false, comment: [] }] };
            for (const [desc, wire, given] of [
              [input, type, value],
              [output, whole, { it: value }],
            ] as const) {
              const conversion = conversionOf(wire);
              const json = JSON.parse(JSON.stringify(conversion.toJson(given)));
              const message = jsonCodec.decode(desc, new TextEncoder().encode(JSON.stringify(json)));
              const answer = JSON.parse(new TextDecoder().decode(jsonCodec.encode(desc, message)));
              expect(conversion.fromJson(answer)).toEqual(
                desc.typeName.startsWith("google.") ? given : asProto(wire, given),
              );
              count++;
            }
          }
        }
      }),
      { numRuns: 5, endOnFailure: true },
    );
    expect(count).toBeGreaterThan(500);
  });
});

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "triple-es-proto-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

function write(path: string, text: string): void {
  mkdirSync(dirname(join(folder, path)), { recursive: true });
  writeFileSync(join(folder, path), text);
}

function argumentsOf(...more: string[]): Exclude<ReturnType<typeof readArguments>, "help"> {
  const read = readArguments(["src/api.ts", "--proto", "proto/a/v1/api.proto", ...more], "contract");
  if (read === "help") throw new Error("asks for help");
  return read;
}

const run = (...more: string[]): Outcome =>
  runContract(argumentsOf(...more), folder, join(root, "src/triple-contract.ts"));
const proto = (): string => readFileSync(join(folder, "proto/a/v1/api.proto"), "utf8");

/** Writes the contract of a message and returns the messages of its proto file. */
function messagesOf(message: string, more = ""): string {
  const service = "/** @service a.v1.Api */\nexport interface Api { put(m: M): Promise<void> }";
  write("src/api.ts", `${service}\nexport interface M ${message}\n${more}`);
  expect(run()).toMatchObject({ status: 0 });
  return proto().slice(proto().indexOf("message M"));
}

it("a map that contains itself has one message for its values", () => {
  expect(messagesOf("{ a: D }", "export interface D { [key: string]: { b: D; c: string } }")).toBe(
    "message M {\n  map<string, MA> a = 1;\n}\n\nmessage MA {\n  map<string, MA> b = 1;\n  optional string c = 2;\n}\n",
  );
});

describe("the numbers of fields", () => {
  it("are kept, and never used again", () => {
    expect(messagesOf("{ a: string; bC: boolean; c: bigint }")).toBe(
      "message M {\n  optional string a = 1;\n  optional bool b_c = 2;\n  optional int64 c = 3;\n}\n",
    );
    expect(run("--check")).toMatchObject({ status: 0 });
    expect(messagesOf("{ c: bigint; x: Date[]; a: string }")).toBe(
      'message M {\n  reserved 2;\n  reserved "b_c";\n  optional int64 c = 3;\n  repeated google.protobuf.Timestamp x = 4;\n  optional string a = 1;\n}\n',
    );
    // The same name with another type, and a name that returns.
    expect(messagesOf("{ c: bigint; x: Date; bC: boolean }")).toBe(
      'message M {\n  reserved 1, 2, 4;\n  reserved "a";\n  optional int64 c = 3;\n  google.protobuf.Timestamp x = 5;\n  optional bool b_c = 6;\n}\n',
    );
    expect(messagesOf("{}")).toBe('message M {\n  reserved 1, 2, 3, 4, 5, 6;\n  reserved "a", "b_c", "c", "x";\n}\n');
  });

  it("are kept for enums, maps, other names in JSON and messages with another name", () => {
    const fields = (kind: string, item: string): string =>
      messagesOf(
        `{ kind: ${kind}; "a-b": Map<bigint, ${item}>; "a_b": ${item}[] }`,
        `export interface ${item} { foo_bar: 1; fooBar: 2 }`,
      );
    const first = fields('"a" | "b"', "One");
    expect(first).toContain(
      'map<int64, One> a_b_2 = 2 [json_name = "a-b"];\n  repeated One a_b = 3 [json_name = "a_b"];',
    );
    const second = fields('"b" | "c"', "Two");
    expect(second).toContain("  optional MKind.Value kind = 1;\n");
    expect(second).toContain("repeated Two a_b = 3 [");
    expect(second).toContain(
      '    reserved 1;\n    reserved "a";\n    VALUE_UNSPECIFIED = 0;\n    b = 2;\n    c = 3;\n',
    );
    expect(fields('"b" | "c"', "Two")).toBe(second);
  });

  it("are not lost by a change by hand", () => {
    messagesOf("{ a: string }");
    const text = proto();
    for (const line of ["oneof x { string b = 3; }", "extensions 4 to max;", "reserved 5 to 7;"]) {
      write("proto/a/v1/api.proto", text.replace("message M {", `message M {\n  ${line}`));
      expect(() => run()).toThrow(
        `proto/a/v1/api.proto: "${line.replace(/[{;].*/, "").trim()}" was not written by triple-es`,
      );
    }
    write("proto/a/v1/api.proto", 'syntax = "proto3";\n');
    expect(run().stderr).toBe(
      "proto/a/v1/api.proto:1:1: error: this file was not generated by triple-es; move it away, or give another --out\n",
    );
  });

  it("are kept by the watch mode", async () => {
    messagesOf("{ a: string; b: string }");
    const outcomes: Outcome[] = [];
    const end = watchContract(argumentsOf("--watch"), folder, join(root, "src/triple-contract.ts"), (outcome) =>
      outcomes.push(outcome),
    );
    try {
      const text = readFileSync(join(folder, "src/api.ts"), "utf8");
      write("src/api.ts", text.replace("a: string; ", ""));
      await vi.waitFor(() => expect(proto()).toContain('reserved "a";\n  optional string b = 2;'), { timeout: 10_000 });
    } finally {
      end();
    }
  });
});

describe("a proto file", () => {
  const fixture = join(root, "fixtures/contract/proto");
  const buf = (...args: string[]): string => {
    const { stdout, stderr } = spawnSync(BUF, args, {
      cwd: fixture,
      encoding: "utf8",
      shell: process.platform === "win32",
    });
    return stdout + stderr;
  };

  it("is formatted as buf does", () => {
    expect(buf("format", "--diff", ".")).toBe("");
    messagesOf("{ a: string; b: 1 }");
    messagesOf('{ b: 2 | 3; "ü"?: [string, Date]; c: { d: "x" }[] }', "/** More. */");
    expect(buf("format", "--diff", join(folder, "proto"))).toBe("");
  });

  it("passes the lint of buf but for names that are on the wire", () => {
    const ofWire = /Service name|RPC (?:name|request|response)|RPC "|used as the request or response|Enum value name/;
    const lines = buf("lint", ".").trim().split("\n");
    expect(lines.filter((line) => !ofWire.test(line))).toEqual([]);
    expect(lines.length).toBeGreaterThan(10);
  });

  it("has the place of each problem", () => {
    const problems = (text: string): string => {
      write("src/api.ts", text);
      return run().stderr;
    };
    expect(problems("export interface S { a$b(): Promise<void> }")).toBe(
      "src/api.ts:1:1: error: S.a$b: a method of a proto file has letters, digits and _ in its name; rename it\n",
    );
    expect(problems('export interface S { m(a: { "[x]": string }): Promise<void> }')).toBe(
      "src/api.ts:1:1: error: MRequest.[x]: a field of a proto file cannot be called so; rename it\n",
    );
    expect(
      problems(
        "/** @service a.S */\nexport interface S { m(): Promise<void> }\nexport interface T { m(): Promise<void> }",
      ),
    ).toBe(
      'src/api.ts:2:1: error: a proto file has one package, and the services are in "a", ""; write a file for each, or name services with @service\n',
    );
    expect(problems("export interface S { m(a: { b?: string[]; c?: number | null }): Promise<void> }")).toBe(
      "src/api.ts:1:1: warning: MRequest.b: protobuf cannot tell absent from empty, which programs of the proto file mix up\n" +
        "src/api.ts:1:1: warning: MRequest.c: protobuf cannot tell absent from null, which programs of the proto file mix up\n",
    );
    expect(() => argumentsOf("--proto", "x")).toThrow("--proto must be a path that ends with .proto, not x");
  });
});
