/** Edge cases of the plugin protocol: the responses to requests that cannot be served. */
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import {
  CodeGeneratorRequestSchema,
  CodeGeneratorResponseSchema,
  Edition,
  type FileDescriptorProto,
  FileDescriptorProtoSchema,
} from "@bufbuild/protobuf/wkt";
import { describe, expect, it } from "vitest";
import { plugin } from "../../src/plugin/plugin.ts";
import { compiled } from "../support/compiled.ts";
import { compile, requestFor, root } from "./support/protos.ts";

const set = compile({ "a.proto": 'syntax = "proto3";\npackage a;\nservice S { rpc R(M) returns (M); }\nmessage M {}' });
const request = requestFor(set);

function refusal(change: Partial<{ protoFile: FileDescriptorProto[]; fileToGenerate: string[] }>): string {
  const { error, file } = plugin.run({ ...request, ...change });
  expect(file).toEqual([]);
  expect(error).not.toMatch(/\n\s+at /);
  return error;
}

/** A file of the set with changes. */
function changed(change: (file: FileDescriptorProto) => void): Partial<{ protoFile: FileDescriptorProto[] }> {
  const [file] = set.file;
  const bytes = toBinary(FileDescriptorProtoSchema, file as FileDescriptorProto);
  const copy = fromBinary(FileDescriptorProtoSchema, bytes);
  change(copy);
  return { protoFile: [copy] };
}

describe("errors in the response", () => {
  it("name a file that is not in the request", () => {
    expect(refusal({ fileToGenerate: ["a.proto", "b.proto"] })).toBe(
      '"b.proto" is to be generated, but it is not in the request',
    );
  });

  it("name file, service and rpc of a message that is missing", () => {
    const error = refusal(
      changed((file) => {
        file.messageType = [];
      }),
    );
    expect(error).toBe("a.proto: rpc a.S.R needs the message a.M, which no file declares\n".repeat(2).trimEnd());
  });

  it("name an edition that is too new", () => {
    const error = refusal(
      changed((file) => {
        file.syntax = "editions";
        file.edition = Edition.EDITION_99999_TEST_ONLY;
      }),
    );
    expect(error).toMatch(/a\.proto.*edition/);
  });

  it("name the unstable edition, which the plugin does not claim to support", () => {
    const error = refusal(
      changed((file) => {
        file.syntax = "editions";
        file.edition = Edition.EDITION_UNSTABLE;
      }),
    );
    expect(error).toMatch(/^a\.proto: edition 9999 is not supported, the newest that is supported is 20\d\d$/);
  });

  it("name a public import that the file does not have", () => {
    const error = refusal(
      changed((file) => {
        file.publicDependency = [7];
      }),
    );
    expect(error).toBe("a.proto: public_dependency 7 is not the index of one of its 0 imports");
  });

  it("name invalid identifiers", () => {
    const error = refusal(
      changed((file) => {
        for (const service of file.service) service.name = "1S";
      }),
    );
    expect(error).toContain("a.proto: service a.1S begins with a digit");
    const quoted = refusal(
      changed((file) => {
        for (const service of file.service) service.name = 'S"; process.exit(); "';
      }),
    );
    expect(quoted).toContain("a.proto: invalid service name");
  });

  it.each(["../a.proto", "/etc/a.proto", "C:/a.proto", "a/../../b.proto", "a\\b.proto", "a//b.proto", "a\nb.proto"])(
    "refuse the path %j",
    (name) => {
      const move = changed((file) => {
        file.name = name;
      });
      expect(refusal({ ...move, fileToGenerate: [name] })).toContain("is not a path under the root");
    },
  );

  it("name two files that differ in case only", () => {
    const upper = create(FileDescriptorProtoSchema, { name: "A.proto", syntax: "proto3" });
    expect(refusal({ protoFile: [...set.file, upper], fileToGenerate: ["a.proto", "A.proto"] })).toBe(
      '"a.proto" and "A.proto" are one file where case is ignored, rename one of them',
    );
  });
});

describe("the process", () => {
  const start = (input: Uint8Array) =>
    spawnSync(process.execPath, [compiled("src/main.ts")], { cwd: root, input, maxBuffer: 2 ** 28 });

  it("answers an error with status 0, as the protocol demands", () => {
    const bytes = toBinary(CodeGeneratorRequestSchema, { ...request, parameter: "target=go" });
    const { status, stdout, stderr } = start(bytes);
    expect([status, stderr.toString()]).toEqual([0, ""]);
    expect(fromBinary(CodeGeneratorResponseSchema, stdout)).toMatchObject({
      error: expect.stringContaining("target"),
      file: [],
    });
  });

  it("reports in one line that its input is not a request", () => {
    const bytes = toBinary(CodeGeneratorRequestSchema, request);
    for (const input of [bytes.subarray(0, bytes.length - 5), new TextEncoder().encode("hello")]) {
      const { status, stdout, stderr } = start(input);
      expect([status, stdout.length]).toEqual([1, 0]);
      expect(stderr.toString()).toMatch(/^protoc-gen-triple-es: stdin is not a CodeGeneratorRequest: .*\n$/);
    }
  });

  it("ends without a stack trace when its reader closes the pipe", async () => {
    const files = Array.from({ length: 300 }, (_, i) => `rpc R${i}(M) returns (M);`).join("\n");
    const large = compile({ "a.proto": `syntax = "proto3";\nservice S { ${files} }\nmessage M {}` });
    const input = toBinary(CodeGeneratorRequestSchema, requestFor(large, "target=ts+js+dts"));
    for (const [script, args] of [
      ["src/main.ts", []],
      ["src/triple-es.ts", ["--help"]],
    ] as const) {
      const child = spawn(process.execPath, [compiled(script), ...args], { cwd: root });
      child.stdout.destroy();
      child.stdin.on("error", () => {}).end(input);
      let stderr = "";
      child.stderr.setEncoding("utf8").on("data", (text: string) => {
        stderr += text;
      });
      await once(child, "close");
      expect(stderr, script).toBe("");
    }
  });

  it("answers an empty request with its features and no file", () => {
    const { status, stdout } = start(new Uint8Array());
    expect(status).toBe(0);
    expect(fromBinary(CodeGeneratorResponseSchema, stdout)).toMatchObject({
      error: "",
      file: [],
      supportedFeatures: 3n,
      minimumEdition: Edition.EDITION_PROTO2,
      maximumEdition: expect.toSatisfy((edition: Edition) => edition >= Edition.EDITION_2024),
    });
  });
});
