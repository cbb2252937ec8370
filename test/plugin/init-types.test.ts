/** Expanded init types are equivalent to those of protobuf-es: both accept the same values. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Project } from "./support/project.ts";
import { buildDescriptors, requestFor, root } from "./support/protos.ts";

const descriptors = buildDescriptors(root);
const only = (pattern: RegExp, parameter: string) => {
  const request = requestFor(descriptors, parameter);
  return { ...request, fileToGenerate: request.fileToGenerate.filter((name) => pattern.test(name)) };
};

const messages = ["FindRequest", "FindRequest_Filter", "FindResponse"];

describe("expanded init types", () => {
  const project = new Project();
  afterAll(() => project[Symbol.dispose]());

  beforeAll(() => {
    project.generateMessages(only(/^fixture\/options/, "target=ts,import_extension=js,erasable_syntax=true"));
    project.generate(only(/^fixture\/options/, "target=ts,import_extension=js,init_types=expanded"));
  });

  const head = `
import type { MessageInitShape } from "@bufbuild/protobuf";
import type * as triple from "./fixture/options/v1/options_triple.js";
import type * as pb from "./fixture/options/v1/options_pb.js";
import type * as shared from "./fixture/options/v1/shared_pb.js";
`;
  const check = (body: string): string[] => {
    project.write("check.ts", `${head}\n${body}\nexport type { MessageInitShape, triple, pb, shared };\n`);
    return project.diagnostics();
  };

  it("accept messages, and everything that protobuf-es accepts", () => {
    const lines = messages.flatMap((name) => [
      `export const fromMessage_${name} = (message: pb.${name}): triple.${name}Init => message;`,
      `export const fromInit_${name} = (init: MessageInitShape<typeof pb.${name}Schema>): triple.${name}Init => init;`,
    ]);
    expect(check(lines.join("\n"))).toEqual([]);
  });

  it("are taken by protobuf-es, once they are no messages", () => {
    // An init shape of protobuf-es has no name of the message. Nested messages may be complete on both sides.
    const lines = messages.map(
      (name) =>
        `export const toInit_${name} = (init: Omit<triple.${name}Init, "$typeName">): { [K in keyof Omit<triple.${name}Init, "$typeName">]: unknown } & Partial<Record<Exclude<keyof pb.${name}, "$typeName" | "$unknown">, unknown>> => init;`,
    );
    expect(check(lines.join("\n"))).toEqual([]);
  });

  it("refuse other messages, other fields and other types", () => {
    const wrong = [
      "(message: pb.FindResponse): triple.FindRequestInit => message",
      "(): triple.FindRequestInit => ({ nam: 1 })",
      "(): triple.FindRequestInit => ({ name: 1 })",
      '(): triple.FindRequestInit => ({ by: { case: "id", value: 1 } })',
      "(): triple.FindResponseInit => ({ byName: { a: { parts: [1] } } })",
    ];
    const lines = wrong.map((expression, i) => `export const wrong${i} = ${expression};`);
    const found = check(lines.join("\n")).filter((line) => line.startsWith("check.ts"));
    expect(found).toHaveLength(wrong.length);
  });
});

describe("barrels", () => {
  const project = new Project();
  afterAll(() => project[Symbol.dispose]());

  it("can refer to generated files in other folders, and to two with one name", () => {
    const files = /^fixture\/(options|same|wellknown|proto2|names|services|other|imports)/;
    project.generateMessages(only(files, "target=ts,import_extension=js,erasable_syntax=true"));
    project.generate(only(files, "target=ts,import_extension=js"));
    for (const name of ["names", "proto2", "services", "imports"]) {
      const path = `./fixture/${name}/v1/${name}`;
      project.write(`${name}.ts`, `export * from "${path}_pb.js";\nexport * from "${path}_triple.js";\n`);
    }
    project.write(
      "two.ts",
      ["a", "b"].map((name) => `export * as ${name} from "./fixture/same/${name}/v1/same_triple.js";\n`).join(""),
    );
    expect(project.diagnostics()).toEqual([]);
  });
});
