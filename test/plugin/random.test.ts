/** Requests no compiler would make: whatever stands in them, the output parses and holds nothing but declarations. */
import { create } from "@bufbuild/protobuf";
import {
  CodeGeneratorRequestSchema,
  type FileDescriptorProto,
  FileDescriptorProtoSchema,
} from "@bufbuild/protobuf/wkt";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { plugin } from "../../src/plugin/plugin.ts";
import { hostileNames, hostileStrings } from "./support/hostile.ts";
import { Project } from "./support/project.ts";
import { foreignShapes } from "./support/shapes.ts";

const text = fc
  .array(fc.oneof(fc.constantFrom(...hostileStrings), fc.string({ unit: "grapheme", maxLength: 5 })), { maxLength: 6 })
  .map((parts) => parts.join(""));
const name = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom(...hostileNames) },
  { weight: 1, arbitrary: fc.stringMatching(/^[A-Za-z_]\w{0,8}$/) },
);
const names = (maxLength: number) => fc.uniqueArray(name, { minLength: 1, maxLength });

interface Draft {
  file: string;
  packageName: string;
  messages: string[];
  fields: string[];
  services: string[];
  methods: string[];
  texts: string[];
  flags: number;
}

/** What the plugin refuses in a path. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are among it
const noPath = /[/\\\u0000-\u001f]|^[A-Za-z]:|\.\.|\p{Surrogate}/gu;

const draft: fc.Arbitrary<Draft> = fc.record({
  file: text.map((part) => `${part.replace(noPath, "")}a.proto`),
  packageName: fc.oneof(
    fc.constant(""),
    fc.constant("a.v1"),
    name,
    text.filter((part) => !part.includes(".")),
  ),
  messages: names(5),
  fields: names(5),
  services: names(3),
  methods: names(5),
  texts: fc.array(text, { minLength: 8, maxLength: 8 }),
  flags: fc.nat(1023),
});

/** A file with everything in it that reaches the output, and words of ill will at each place that takes words. */
function fileOf({ file, packageName, messages, fields, services, methods, texts, flags }: Draft) {
  const at = <T>(items: readonly T[], index: number): T => items[index % items.length] as T;
  const path = (message: string): string => `.${packageName === "" ? "" : `${packageName}.`}${message}`;
  const location = (path: number[], index: number) => ({
    path,
    span: [1, 0, 1],
    leadingComments: at(texts, index),
    trailingComments: at(texts, index + 1),
    leadingDetachedComments: [at(texts, index + 2)],
  });
  return create(FileDescriptorProtoSchema, {
    name: file,
    package: packageName,
    syntax: "proto3",
    options: { deprecated: (flags & 512) > 0, javaPackage: at(texts, 3), goPackage: at(texts, 4) },
    messageType: messages.map((message, i) => ({
      name: message,
      field: fields.map((field, j) => ({
        name: field,
        number: j + 1,
        type: [9, 3, 12, 1, 8][(i + j) % 5] as number,
        label: 1,
        jsonName: at(texts, i + j),
      })),
    })),
    enumType: [],
    service: services.map((service, i) => ({
      name: service,
      options: { deprecated: i === 0 && (flags & 256) > 0 },
      method: methods.map((method, j) => ({
        name: method,
        inputType: path(at(messages, i + j)),
        outputType: path(at(messages, i + j + 1)),
        clientStreaming: ((flags >> j) & 1) > 0,
        serverStreaming: ((flags >> (j + 1)) & 1) > 0,
        options: { idempotencyLevel: j % 3, deprecated: j === 1 },
      })),
    })),
    sourceCodeInfo: {
      location: [
        ...[[12], [2], [8]].map((path, i) => location(path, i)),
        ...messages.map((_, i) => location([4, i], i)),
        ...messages.flatMap((_, i) => fields.map((_, j) => location([4, i, 2, j], i + j))),
        ...services.map((_, i) => location([6, i], i)),
        ...services.flatMap((_, i) => methods.map((_, j) => location([6, i, 2, j], i + j))),
      ],
    },
  });
}

const parameters = [
  "target=ts+js+dts",
  "target=ts+js+dts,js_import_style=legacy_commonjs,server_base,fakes,java_names",
  "target=ts+dts,init_types=expanded,proto_source_map=../protos",
  "target=ts+js,messages=json",
  "target=ts,messages=none,parts=client",
];

describe("random requests", () => {
  const project = new Project();
  afterAll(() => project[Symbol.dispose]());

  // The seed is fixed, so that a compiler is started once for files that stay the same.
  const protoFile = fc
    .sample(draft, { numRuns: 60, seed: 36 })
    .map((draft, i) =>
      fileOf({ ...draft, file: `r${i}/a.proto`, packageName: `r${i}${draft.packageName === "" ? "" : ".nested"}` }),
    );
  const request = (parameter: string, protoFile: FileDescriptorProto[]) =>
    create(CodeGeneratorRequestSchema, { parameter, protoFile, fileToGenerate: protoFile.map(({ name }) => name) });
  const usable = protoFile.filter((file) => plugin.run(request("target=ts", [file])).error === "");

  beforeAll(
    () => project.generateMessages(request("target=ts,import_extension=js,erasable_syntax=true", usable)),
    60_000,
  );

  it.each(["server_base=true,fakes=true,java_names=true", "init_types=expanded", "messages=json"])(
    "type-check with %s",
    (options) => {
      expect(usable.length).toBeGreaterThan(40);
      project.generate(request(`target=ts,import_extension=js,${options}`, usable));
      expect(project.diagnostics().filter((line) => line.includes("_triple"))).toEqual([]);
    },
    60_000,
  );
});

const numRuns = Number(process.env["RANDOM_REQUESTS"] ?? 300);

describe.each(parameters)("random requests with %s", (parameter) => {
  it("give declarations and nothing else, or an error", () => {
    const outcomes = { files: 0, errors: 0 };
    fc.assert(
      fc.property(draft, (draft) => {
        const file = fileOf(draft);
        const response = plugin.run(
          create(CodeGeneratorRequestSchema, { parameter, protoFile: [file], fileToGenerate: [file.name] }),
        );
        if (response.error !== "") {
          outcomes.errors++;
          expect(response.file).toEqual([]);
          // What the compilers never let through, and rpcs that would be one method.
          expect(response.error).toMatch(/are both|begins with a digit|invalid \w+ name|cannot|not found|missing/);
        }
        for (const { name, content } of response.file) {
          if (name.endsWith(".map")) {
            JSON.parse(content);
            continue;
          }
          outcomes.files++;
          const extension = /\.d\.ts$|\.[jt]s$/.exec(name)?.[0] ?? "";
          expect(foreignShapes(`a${extension}`, content)).toEqual([]);
        }
      }),
      { numRuns },
    );
    expect(outcomes.files).toBeGreaterThan(numRuns / 2);
  }, 300_000);
});
