/** Generated code in use: as a module, through require, as CommonJS, and as TypeScript whose types Node strips. */
import { afterAll, describe, expect, it } from "vitest";
import { Project } from "./support/project.ts";
import { compile, requestFor } from "./support/protos.ts";

const set = compile({
  "a/v1/a.proto": `syntax = "proto3";
package a.v1;
service EchoService {
  rpc Echo(Text) returns (Text);
  rpc Count(Text) returns (stream Text);
  rpc Missing(Text) returns (Text);
  rpc Joined(stream Text) returns (Text);
}
message Text { string text = 1; }`,
});

/** Calls a service of the generated base class, with a client and with a fake of it. */
const scenario = (generated: string, runtime: string) => `
const { createEchoServiceClient, createFakeEchoService, EchoServiceBase, EchoServiceDef } = ${generated};
const { createInMemoryTransport, createRouter } = ${runtime};
class Echo extends EchoServiceBase {
  echo(request, context) { return { text: request.text + "!" }; }
  async *count(request, context) { for (const text of request.text) yield { text }; }
}
const client = createEchoServiceClient(createInMemoryTransport(createRouter().add(EchoServiceDef, new Echo())));
const fake = createFakeEchoService({ echo: async () => ({ text: "fake" }) });
const codeOf = (promise) => promise.then(() => "none", (error) => error.message);
(async () => {
  const counted = [];
  for await (const { text } of client.count({ text: "abc" })) counted.push(text);
  console.log(JSON.stringify([
    (await client.echo({ text: "a" })).text,
    counted,
    await codeOf(client.missing({})),
    await codeOf(client.joined((async function* () {})())),
    (await fake.echo({})).text,
    await codeOf(fake.missing({})),
  ]));
})();
`;

const outcome = [
  "a!",
  ["a", "b", "c"],
  "[unimplemented] /a.v1.EchoService/Missing is not implemented",
  "[unimplemented] /a.v1.EchoService/Joined is not implemented",
  "fake",
  "[unimplemented] /a.v1.EchoService/Missing was called, but the fake client has no such method",
];

describe("a base class, a client and a fake", () => {
  const project = new Project();
  afterAll(() => project[Symbol.dispose]());

  const generate = (target: string): void => {
    const request = requestFor(set, target);
    project.generateMessages(
      requestFor(set, `${target}${target.includes("target=ts") ? ",erasable_syntax=true" : ""}`),
    );
    project.generate({ ...request, parameter: `${target},server_base=true,fakes=true` });
  };
  const run = (file: string): unknown => {
    const { stdout, stderr } = project.node([file]);
    expect(stderr.toString()).toBe("");
    return JSON.parse(stdout.toString());
  };

  it("work in a module", () => {
    project.write("package.json", '{ "type": "module" }');
    generate("target=js+dts,import_extension=js");
    project.write("main.js", scenario('await import("./a/v1/a_triple.js")', 'await import("triple-es")'));
    expect(run("main.js")).toEqual(outcome);
  });

  it("work through require of a module", () => {
    project.write("main.cjs", scenario('require("./a/v1/a_triple.js")', 'require("triple-es")'));
    expect(run("main.cjs")).toEqual(outcome);
  });

  it("work in CommonJS", () => {
    project.write("package.json", '{ "type": "commonjs" }');
    generate("target=js+dts,import_extension=js,js_import_style=legacy_commonjs");
    project.write("main.cjs", scenario('require("./a/v1/a_triple.js")', 'require("triple-es")'));
    expect(run("main.cjs")).toEqual(outcome);
  });

  it.skipIf(!("typescript" in process.features))("are TypeScript that Node runs by stripping types", () => {
    project.write("package.json", '{ "type": "module" }');
    generate("target=ts,import_extension=ts");
    project.write(
      "main.mts",
      `// @ts-nocheck\n${scenario('await import("./a/v1/a_triple.ts")', 'await import("triple-es")')}`,
    );
    const { stdout, stderr } = project.node(["--no-warnings", "main.mts"]);
    expect(stderr.toString()).toBe("");
    expect(JSON.parse(stdout.toString())).toEqual(outcome);
  });
});
