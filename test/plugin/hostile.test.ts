/** Every word that means something, as the name of a message, a service and an rpc: the output type-checks all the same. */
import { create } from "@bufbuild/protobuf";
import {
  type CodeGeneratorRequest,
  CodeGeneratorRequestSchema,
  type FileDescriptorProto,
  FileDescriptorProtoSchema,
} from "@bufbuild/protobuf/wkt";
import { afterAll, describe, expect, it } from "vitest";
import { hostileNames } from "./support/hostile.ts";
import { Project } from "./support/project.ts";

/** Words that are one method once their first letter is small cannot share a service. */
const methodNames = [
  ...new Map(hostileNames.map((name) => [name.charAt(0).toLowerCase() + name.slice(1), name])).values(),
];

const fields = ["then", "constructor", "hasOwnProperty", "delete", "name", "toString"];

/** A file where the words are messages, services in turn, and rpcs of a service. */
const everything = create(FileDescriptorProtoSchema, {
  name: "hostile/everything.proto",
  package: "hostile",
  syntax: "proto3",
  messageType: hostileNames.map((name) => ({
    name,
    field: fields.map((name, i) => ({ name, number: i + 1, type: 9, label: 1, jsonName: name })),
  })),
  service: [
    service("Words", methodNames),
    // A service and a message cannot share a name, so these services have names of other words' parts.
    ...hostileNames.map((name, i) => service(`${name}_`, [name], i)),
  ],
});

/** Services named by the words themselves, with messages of another file. */
const services = create(FileDescriptorProtoSchema, {
  name: "hostile/services.proto",
  package: "hostile.services",
  dependency: ["hostile/everything.proto"],
  syntax: "proto3",
  service: hostileNames.map((name, i) => service(name, ["Call"], i)),
});

function service(name: string, methods: readonly string[], offset = 0) {
  const message = (i: number): string => `.hostile.${hostileNames[(i + offset) % hostileNames.length]}`;
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
}

const request = (parameter: string): CodeGeneratorRequest =>
  create(CodeGeneratorRequestSchema, {
    parameter,
    protoFile: [everything, services] satisfies FileDescriptorProto[],
    fileToGenerate: ["hostile/everything.proto", "hostile/services.proto"],
  });

describe("hostile names", () => {
  const project = new Project();
  afterAll(() => project[Symbol.dispose]());
  project.generateMessages(request("target=ts,import_extension=js,erasable_syntax=true"));

  it.each([
    "server_base=true,fakes=true",
    "init_types=expanded",
    "parts=client",
    "parts=server",
    "messages=json",
    "messages=none",
  ])(
    "type-check with %s",
    (options) => {
      expect(hostileNames.length).toBeGreaterThan(150);
      project.generate(request(`target=ts,import_extension=js,${options}`));
      expect(project.diagnostics().filter((line) => line.includes("_triple"))).toEqual([]);
    },
    60_000,
  );

  it("run as modules and as CommonJS", () => {
    project.write("esm/package.json", '{ "type": "module" }');
    project.write("cjs/package.json", '{ "type": "commonjs" }');
    for (const [folder, style] of [
      ["esm", "module"],
      ["cjs", "legacy_commonjs"],
    ] as const) {
      const parameter = `target=js,import_extension=js,js_import_style=${style}`;
      project.generateMessages(request(parameter), folder);
      project.generate(request(`${parameter},server_base=true,fakes=true`), folder);
    }
    const script = (load: string) =>
      `${load}.then(({ createWordsClient }) => { const client = createWordsClient({ call: async () => { throw new Error() } });
        return (async () => client)(); }).then((client) => console.log(Object.keys(client).length));`;
    const flags = ["--conditions=triple-source", "--import", "tsx", "--no-warnings"];
    const run = (code: string) => project.node([...flags, "--eval", code]);
    const esm = run(script('import("./esm/hostile/everything_triple.js")'));
    expect([esm.stderr.toString(), esm.stdout.toString().trim()]).toEqual(["", String(methodNames.length)]);
    const cjs = run(script('Promise.resolve(require("./cjs/hostile/everything_triple.js"))'));
    expect([cjs.stderr.toString(), cjs.stdout.toString().trim()]).toEqual(["", String(methodNames.length)]);
  }, 60_000);
});
