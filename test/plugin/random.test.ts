/** Requests that no compiler would send: for any content, the output parses and contains only declarations. */
import { create } from "@bufbuild/protobuf";
import {
  CodeGeneratorRequestSchema,
  type FileDescriptorProto,
  FileDescriptorProtoSchema,
} from "@bufbuild/protobuf/wkt";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { plugin } from "../../src/plugin/plugin.ts";
import { hostileNames, hostileStrings, mutant, unprintableMessages, unprintableServices } from "./support/hostile.ts";
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

/** Names that the plugin rejects in a path. */
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

/** A file with every element that reaches the output, with hostile text in each place for text. */
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
  "target=ts+js+dts,codecs=false",
  "target=ts+js+dts,codecs=false,js_import_style=legacy_commonjs,server_base,fakes,java_names",
  "target=ts+dts,codecs=false,init_types=expanded,descriptors,proto_source_map=../protos",
  "target=ts+js,messages=json",
  "target=ts,messages=none,parts=client",
];

/** Samples of what `npm run campaign` runs: files that are type-checked, and requests whose output is parsed. */
const numFiles = Number(process.env["RANDOM_FILES"] ?? 20);
const numRuns = Number(process.env["RANDOM_REQUESTS"] ?? 25);

describe("random requests", () => {
  // The seed is fixed, so that unchanged files need one run of the compiler.
  const drafts = fc.sample(draft, { numRuns: numFiles, seed: Number(process.env["RANDOM_SEED"] ?? 36) });
  /**
   * Drafts of files. With the modules of protoc-gen-es in the program, names that protoc-gen-es cannot print are replaced.
   */
  const filesOf = (isPrintable: (name: string) => boolean): FileDescriptorProto[] =>
    drafts
      .map((draft, i) => ({
        ...draft,
        file: `r${i}/a.proto`,
        packageName: `r${i}${draft.packageName === "" ? "" : ".nested"}`,
        messages: draft.messages.map((name, j) => (isPrintable(name) ? name : `Replaced${j}`)),
        services: draft.services.map((name, j) => (isPrintable(name) ? name : `Replaced${j}Service`)),
        fields: draft.fields.map((name, j) => (isPrintable(name) ? name : `replaced_${j}`)),
      }))
      .map((draft) => {
        const file = fileOf(draft);
        // Compilers reject two fields of a message with one JSON name, and TypeScript rejects the interface.
        for (const { field } of file.messageType) for (const [j, one] of field.entries()) one.jsonName += `_${j}`;
        return file;
      })
      .filter((file) => plugin.run(request("target=ts", [file])).error === "");
  const request = (parameter: string, protoFile: FileDescriptorProto[]) =>
    create(CodeGeneratorRequestSchema, { parameter, protoFile, fileToGenerate: protoFile.map(({ name }) => name) });
  // protoc-gen-es prints the properties of fields such as `_1st` and `__` as `1st` and as nothing, without quotes.
  const unprintable = [...unprintableMessages, ...unprintableServices];
  const printable = filesOf((name) => !unprintable.includes(name) && !/^_+(?:\d|$)/.test(name));

  const check = (project: Project, files: FileDescriptorProto[], options: string, by = plugin): string[] => {
    expect(files.length).toBeGreaterThan(numFiles / 2);
    project.generate(request(`target=ts,import_extension=js,${options}`, files), "", by);
    return project.diagnostics();
  };
  const misspelled = expect.stringMatching(/_triple\.ts.*Cannot find name 'Promis'/);

  describe("with messages of protoc-gen-es", () => {
    const project = new Project();
    afterAll(() => project[Symbol.dispose]());
    beforeAll(() => {
      // Without comments, which protoc-gen-es would turn into directives.
      const files = printable.map(({ sourceCodeInfo: _, ...file }) => create(FileDescriptorProtoSchema, file));
      project.generateMessages(request("target=ts,import_extension=js,erasable_syntax=true", files));
    });

    const modes = ["server_base=true,fakes=true,java_names=true", "init_types=expanded", "descriptors=true"];
    it.each(modes)("type-check with %s", (options) => expect(check(project, printable, options)).toEqual([]));

    it("do not type-check if the plugin misspells a type", () => {
      expect(check(project, printable, "init_types=alias", mutant)).toContainEqual(misspelled);
    });
  });

  describe("without messages of protoc-gen-es", () => {
    const project = new Project();
    afterAll(() => project[Symbol.dispose]());
    const files = filesOf(() => true);

    it("type-check with messages=json", () => {
      expect(check(project, files, "messages=json")).toEqual([]);
    });

    it("do not type-check if the plugin misspells a type", () => {
      expect(check(project, files, "messages=json", mutant)).toContainEqual(misspelled);
    });
  });
});

describe.each(parameters)("random requests with %s", (parameter) => {
  it("result in declarations only, or in an error", () => {
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
          // Names that compilers reject, and rpcs that would become one method.
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
