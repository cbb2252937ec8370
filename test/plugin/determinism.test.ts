/** Equal bytes for equal proto files, whatever the locale of the machine and the order of the request. */
import { spawnSync } from "node:child_process";
import { fromBinary, toBinary } from "@bufbuild/protobuf";
import {
  CodeGeneratorRequestSchema,
  CodeGeneratorResponseSchema,
  type FileDescriptorProto,
} from "@bufbuild/protobuf/wkt";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { compiled } from "../support/compiled.ts";
import { buildDescriptors, requestFor, root, run } from "./support/protos.ts";

const descriptors = buildDescriptors(root);
const request = requestFor(descriptors);
const expected = [...run(request)];

/** The files in the order closest to the given one in which each follows its imports, as the protocol requires. */
function importsFirst(files: readonly FileDescriptorProto[]): FileDescriptorProto[] {
  const byName = new Map(files.map((file) => [file.name, file]));
  const sorted = new Set<FileDescriptorProto>();
  const add = (file: FileDescriptorProto): void => {
    for (const name of file.dependency) {
      const imported = byName.get(name);
      if (imported) {
        add(imported);
      }
    }
    sorted.add(file);
  };
  files.forEach(add);
  return [...sorted];
}

describe("output", () => {
  it.each([
    ["target=ts", 20],
    ["target=js+dts,server_base=true,fakes=true,java_names=true,proto_source_map=../proto", 5],
    ["target=ts,init_types=expanded", 5],
    ["target=ts,messages=json", 5],
  ])("does not depend on the order of the request with %s", (parameter, numRuns) => {
    const expected = [...run({ ...request, parameter })];
    const shuffled = <T>(items: readonly T[]) => fc.shuffledSubarray([...items], { minLength: items.length });
    fc.assert(
      fc.property(shuffled(request.protoFile), shuffled(request.fileToGenerate), (protoFile, fileToGenerate) => {
        expect([...run({ ...request, parameter, protoFile: importsFirst(protoFile), fileToGenerate })]).toEqual(
          expected,
        );
      }),
      { numRuns },
    );
  });

  it("does not depend on what else is generated", () => {
    for (const name of request.fileToGenerate) {
      for (const [path, content] of run({ ...request, fileToGenerate: [name] })) {
        expect(content, path).toBe(new Map(expected).get(path));
      }
    }
  });

  it.each([
    ["C", "T<Z Cheetah<Hare"],
    ["et_EE.UTF-8", "Z<T Cheetah<Hare"],
    ["cs_CZ.UTF-8", "T<Z Hare<Cheetah"],
    ["tr_TR.UTF-8", "T<Z Cheetah<Hare"],
  ])("does not depend on the locale: %s", (locale, order) => {
    const env = { ...process.env, LANG: locale, LC_ALL: locale };
    const node = (args: string[], input?: Uint8Array) =>
      spawnSync(process.execPath, args, { cwd: root, env, input, maxBuffer: 1 << 28 });

    const sorted = (a: string, b: string) => `["${a}", "${b}"].sort((a, b) => a.localeCompare(b)).join("<")`;
    const probe = node(["-p", `${sorted("T", "Z")} + " " + ${sorted("Hare", "Cheetah")}`]);
    expect(probe.stdout.toString().trim(), "the locale has its way with names").toBe(order);

    const { stdout } = node([compiled("src/main.ts")], toBinary(CodeGeneratorRequestSchema, request));
    const response = fromBinary(CodeGeneratorResponseSchema, stdout);
    expect(response.file.map(({ name, content }) => [name, content])).toEqual(expected);
  });
});
