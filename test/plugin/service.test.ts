/**
 * Generated code for services: client, handler, constants, definition.
 */
import { describe, expect, it } from "vitest";
import { compile, generate, requestFor, run } from "./support/protos.ts";

const kinds = `
  service S {
    rpc Unary(I) returns (O);
    rpc Server(I) returns (stream O);
    rpc Client(stream I) returns (O);
    rpc Bidi(stream I) returns (stream O);
  }
  message I {}
  message O {}`;

describe("the four kinds", () => {
  const file = generate(kinds);

  it("are methods of the client, which accepts init shapes and returns messages", () => {
    expect(file).toContain("\n  unary(request: IInit, options?: CallOptions): Promise<O>;\n");
    expect(file).toContain("\n  server(request: IInit, options?: CallOptions): AsyncIterable<O>;\n");
    expect(file).toContain("\n  client(requests: AsyncIterable<IInit>, options?: CallOptions): Promise<O>;\n");
    expect(file).toContain("\n  bidi(requests: AsyncIterable<IInit>, options?: CallOptions): AsyncIterable<O>;\n");
  });

  it("are methods of the handler, which receives messages and returns init shapes", () => {
    expect(file).toContain("\n  unary(request: I, context: HandlerContext): OInit | Promise<OInit>;\n");
    expect(file).toContain(
      "\n  server(request: I, context: HandlerContext): AsyncIterable<OInit> | Iterable<OInit>;\n",
    );
    expect(file).toContain(
      "\n  client(requests: AsyncIterable<I>, context: HandlerContext): OInit | Promise<OInit>;\n",
    );
    expect(file).toContain(
      "\n  bidi(requests: AsyncIterable<I>, context: HandlerContext): AsyncIterable<OInit> | Iterable<OInit>;\n",
    );
  });

  it("are constants with the facts of a call", () => {
    expect(file).toContain(`
export const S_server: ServerStreamingMethod<IInit, O> = {
  kind: "server_streaming",
  service: "a.v1.S",
  name: "Server",
  path: "/a.v1.S/Server",
  input: ISchema,
  output: OSchema,
  codecs: { input: ICodec, output: OCodec },
};
`);
    expect(file).toContain("export const S_unary: UnaryMethod<IInit, O> = {");
    expect(file).toContain("export const S_client: ClientStreamingMethod<IInit, O> = {");
    expect(file).toContain("export const S_bidi: BidiStreamingMethod<IInit, O> = {");
  });

  it("are collected in the definition, from which the client is created", () => {
    expect(file).toContain(`
export const SDef: ServiceDef<SClient, SHandler> = {
  typeName: "a.v1.S",
  methods: {
    unary: S_unary,
    server: S_server,
    client: S_client,
    bidi: S_bidi,
  },
  format: 1,
};

/** Creates a client of a.v1.S. */
export function createSClient(transport: Transport, defaults?: CallDefaults): SClient {
  return createClient(SDef, transport, defaults);
}
`);
  });

  it("need only the types that occur", () => {
    const unary = generate("service S { rpc Unary(M) returns (M); }\nmessage M {}");
    expect(unary).toContain(
      'import type { CallDefaults, CallOptions, HandlerContext, ServiceDef, Transport, UnaryMethod } from "triple-es";',
    );
    const empty = generate("service S {}");
    expect(empty).toContain('import type { CallDefaults, ServiceDef, Transport } from "triple-es";');
    expect(empty).not.toContain("@bufbuild");
  });
});

describe("facts from options", () => {
  it("carries the idempotency level that was set", () => {
    const file = generate(`
      service S {
        rpc Read(M) returns (M) { option idempotency_level = NO_SIDE_EFFECTS; }
        rpc Put(M) returns (M) { option idempotency_level = IDEMPOTENT; }
        rpc Add(M) returns (M);
      }
      message M {}`);
    expect(file.match(/^ {2}(name|idempotency): .*/gm)).toEqual([
      '  name: "Read",',
      '  idempotency: "no_side_effects",',
      '  name: "Put",',
      '  idempotency: "idempotent",',
      '  name: "Add",',
    ]);
  });

  it.each([
    ["rpc", "service S { rpc R(M) returns (M) { option deprecated = true; } }\nmessage M {}", 3],
    ["service", "service S { option deprecated = true; rpc R(M) returns (M); }\nmessage M {}", 7],
    ["file", "option deprecated = true;\nservice S { rpc R(M) returns (M); }\nmessage M {}", 7],
  ])("carries deprecation of the %s down to the methods", (_, body, tags) => {
    const file = generate(body);
    expect(file.match(/\* @deprecated$/gm)).toHaveLength(tags);
    expect(file).toContain("  output: MSchema,\n  codecs: { input: MCodec, output: MCodec },\n  deprecated: true,\n};");
  });
});

describe("files", () => {
  const protos = compile({
    "b.proto": 'syntax = "proto3";\nservice NoPackage { rpc Call(M) returns (M); }\nmessage M {}',
    "messages.proto": 'syntax = "proto3";\nmessage Only {}',
  });

  it("exist for services, and for messages", () => {
    expect([...run(requestFor(protos)).keys()]).toEqual(["b_triple.ts", "b_codec.ts", "messages_codec.ts"]);
    expect([...run(requestFor(protos, "target=ts,codecs=false")).keys()]).toEqual(["b_triple.ts"]);
    expect([...run(requestFor(protos, "target=ts,codecs=false,keep_empty_files=true")).keys()]).toEqual([
      "b_triple.ts",
      "messages_triple.ts",
    ]);
  });

  it("exist for proto files without messages too with keep_empty_files", () => {
    const parameter = "target=ts,keep_empty_files=true";
    const files = run(requestFor(compile({ "empty.proto": 'syntax = "proto3";\nenum E { ZERO = 0; }' }), parameter));
    expect([...files.keys()]).toEqual(["empty_triple.ts", "empty_codec.ts"]);
    expect(files.get("empty_codec.ts")).toMatch(/\n\nexport \{\};\n$/);
  });

  it("need no package", () => {
    expect(run(requestFor(protos)).get("b_triple.ts")).toContain('  path: "/NoPackage/Call",');
  });

  it("begin with their origin and end with one line break", () => {
    const file = generate("service S {}", "target=ts,elide_plugin_version=true");
    expect(file.slice(0, file.indexOf("import"))).toBe(
      '// @generated by protoc-gen-triple-es with parameter "target=ts,elide_plugin_version=true"\n' +
        "// @generated from file a/v1/a.proto (package a.v1, syntax proto3)\n/* eslint-disable */\n\n",
    );
    expect(file).toMatch(/[^\n]\n$/);
  });
});
