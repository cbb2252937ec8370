/** Output for messages, services and rpcs whose names have a meaning in TypeScript type-checks. */
import { create } from "@bufbuild/protobuf";
import {
  type CodeGeneratorRequest,
  CodeGeneratorRequestSchema,
  type FileDescriptorProto,
  FileDescriptorProtoSchema,
} from "@bufbuild/protobuf/wkt";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { hostileNames, mutant, unprintableMessages, unprintableServices } from "./support/hostile.ts";
import { Project } from "./support/project.ts";

/** Words that give the same method name with a lower-case first letter cannot share a service. */
const methodNames = [
  ...new Map(hostileNames.map((name) => [name.charAt(0).toLowerCase() + name.slice(1), name])).values(),
];

const fields = ["then", "constructor", "hasOwnProperty", "delete", "name", "toString"];

/**
 * Two files: one in which words are messages, services in turn, and rpcs of a service, and one with services named by the
 * words, whose messages are those of the first file.
 */
function hostileFiles(messages: readonly string[], services = hostileNames): FileDescriptorProto[] {
  const service = (name: string, methods: readonly string[], offset = 0) => {
    const message = (i: number): string => `.hostile.${messages[(i + offset) % messages.length]}`;
    return {
      name,
      method: methods.map((name, i) => ({
        name,
        inputType: message(i),
        outputType: message(i + 1),
        clientStreaming: i % 4 > 1,
        serverStreaming: i % 2 > 0,
      })),
    };
  };
  return [
    create(FileDescriptorProtoSchema, {
      name: "hostile/everything.proto",
      package: "hostile",
      syntax: "proto3",
      messageType: messages.map((name) => ({
        name,
        field: fields.map((name, i) => ({ name, number: i + 1, type: 9, label: 1, jsonName: name })),
      })),
      service: [
        service("Words", methodNames),
        // A service and a message cannot share a name, so these services are named after other kinds of words.
        ...hostileNames.map((name, i) => service(`${name}_`, [name], i)),
      ],
    }),
    create(FileDescriptorProtoSchema, {
      name: "hostile/services.proto",
      package: "hostile.services",
      dependency: ["hostile/everything.proto"],
      syntax: "proto3",
      service: services.map((name, i) => service(name, ["Call"], i)),
    }),
  ];
}

const printable = hostileFiles(hostileNames.filter((name) => !unprintableMessages.includes(name)));
const everything = hostileFiles(hostileNames);
/** Files whose modules of protoc-gen-es parse, so that services can be imported from them. */
const described = hostileFiles(
  hostileNames.filter((name) => !unprintableMessages.includes(name)),
  hostileNames.filter((name) => !unprintableServices.includes(name)),
);

const request = (parameter: string, protoFile: FileDescriptorProto[] = printable): CodeGeneratorRequest =>
  create(CodeGeneratorRequestSchema, { parameter, protoFile, fileToGenerate: protoFile.map(({ name }) => name) });

const MESSAGES = "target=ts,import_extension=js,erasable_syntax=true";

describe("hostile names", () => {
  const project = new Project();
  afterAll(() => project[Symbol.dispose]());
  // Stubs import the messages, and with the last of their options also the descriptors of services.
  project.generateMessages(request(MESSAGES, described));

  it.each(["server_base=true,fakes=true", "init_types=expanded", "init_types=alias", "parts=client", "parts=server"])(
    "type-check with %s",
    (options) => {
      expect(hostileNames.length).toBeGreaterThan(150);
      project.generate(request(`target=ts,import_extension=js,${options}`));
      expect(project.diagnostics()).toEqual([]);
    },
  );

  it("type-check with descriptors=true", () => {
    project.generate(request("target=ts,import_extension=js,descriptors=true", described));
    expect(project.diagnostics()).toEqual([]);
  });

  it("do not type-check if the plugin misspells a type", () => {
    project.generate(request("target=ts,import_extension=js"), "", mutant);
    expect(project.diagnostics()).toContainEqual(expect.stringMatching(/_triple\.ts.*Cannot find name 'Promis'/));
  });

  it("run as modules and as CommonJS", () => {
    project.write("esm/package.json", '{ "type": "module" }');
    project.write("cjs/package.json", '{ "type": "commonjs" }');
    for (const [folder, style] of [
      ["esm", "module"],
      ["cjs", "legacy_commonjs"],
    ] as const) {
      const parameter = `target=js,import_extension=js,js_import_style=${style}`;
      project.generateMessages(request(parameter, printable.slice(0, 1)), folder);
      project.generate(request(`${parameter},server_base=true,fakes=true`), folder);
    }
    const script = (load: string) =>
      `${load}.then(({ createWordsClient }) => { const client = createWordsClient({ call: async () => { throw new Error() } });
        return (async () => client)(); }).then((client) => console.log(Object.keys(client).length));`;
    const run = (code: string) => project.node(["--eval", code]);
    const esm = run(script('import("./esm/hostile/everything_triple.js")'));
    expect([esm.stderr.toString(), esm.stdout.toString().trim()]).toEqual(["", String(methodNames.length)]);
    const cjs = run(script('Promise.resolve(require("./cjs/hostile/everything_triple.js"))'));
    expect([cjs.stderr.toString(), cjs.stdout.toString().trim()]).toEqual(["", String(methodNames.length)]);
  });
});

describe("hostile names without messages of protoc-gen-es", () => {
  const project = new Project();
  afterAll(() => project[Symbol.dispose]());

  it.each(["messages=json", "messages=none"])("type-check with %s", (options) => {
    project.generate(request(`target=ts,import_extension=js,${options}`, everything));
    expect(project.diagnostics()).toEqual([]);
  });

  it("do not type-check if the plugin misspells a type", () => {
    project.generate(request("target=ts,import_extension=js,messages=json", everything), "", mutant);
    expect(project.diagnostics()).toContainEqual(expect.stringMatching(/_triple\.ts.*Cannot find name 'Promis'/));
  });
});

describe("text that is omitted from messages", () => {
  const project = new Project();
  afterAll(() => project[Symbol.dispose]());

  const found: string[] = [];
  beforeAll(() => {
    let left = [...unprintableMessages];
    // A file in a folder for each word, all of them by one run of protoc-gen-es.
    const files = left.map((word, i) => {
      const { messageType } = hostileFiles([word])[0] as FileDescriptorProto;
      return create(FileDescriptorProtoSchema, {
        name: `${word}/message.proto`,
        package: `omitted.w${i}`,
        syntax: "proto3",
        messageType,
      });
    });
    project.generateMessages(request(MESSAGES, files));
    // Files with errors of syntax hide errors of types in others.
    for (let broken = left; broken.length > 0; ) {
      const output = project.compile();
      broken = left.filter((word) => new RegExp(`^${word}/\\S+_pb\\.ts`, "m").test(output));
      for (const word of broken) project.remove(word);
      left = left.filter((word) => !broken.includes(word));
      found.push(...broken);
    }
  });

  it.each(unprintableMessages)("%s is one that protoc-gen-es cannot print", (word) => expect(found).toContain(word));
});
