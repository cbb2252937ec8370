/**
 * Editor support of generated code: hovers, definitions and completions.
 */
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parse } from "yaml";
import { readBlocks } from "../support/documents.ts";
import { Project } from "./support/project.ts";
import { compile, requestFor } from "./support/protos.ts";
import { LanguageServer, placeOf, type TextSpan } from "./support/tsserver.ts";

const proto = `syntax = "proto3";

package a.v1;

// Greets people.
service GreetService {
  // Says hello.
  rpc Greet(GreetRequest) returns (GreetResponse);
  rpc Greetings(GreetRequest) returns (stream GreetResponse);
  // Use Greet.
  rpc Hail(GreetRequest) returns (GreetResponse) {
    option deprecated = true;
  }
}

message GreetRequest { string name = 1; }
message GreetResponse { string text = 1; }
`;

const set = compile({ "a/v1/a.proto": proto });

interface TextChange {
  readonly newText: string;
  readonly start: { readonly line: number; readonly offset: number };
  readonly end: { readonly line: number; readonly offset: number };
}

interface CodeFix {
  readonly fixName: string;
  readonly changes: readonly { readonly textChanges: readonly TextChange[] }[];
}

/** From the last change to the first, so that positions stay valid. */
function applyChanges(text: string, changes: readonly TextChange[]): string {
  const lines = text.split("\n");
  const indexOf = ({ line, offset }: TextChange["start"]): number =>
    lines.slice(0, line - 1).join("\n").length + (line > 1 ? 1 : 0) + offset - 1;
  return [...changes]
    .sort((a, b) => indexOf(b.start) - indexOf(a.start))
    .reduce(
      (text, { newText, start, end }) => text.slice(0, indexOf(start)) + newText + text.slice(indexOf(end)),
      text,
    );
}

describe.each([
  ["5.9", "ts59"],
  ["6.0", "ts60"],
])("TypeScript %s in an editor", (_, compiler) => {
  let project: Project;
  let server: LanguageServer;
  let main: string;
  let handler: string;

  beforeAll(() => {
    project = new Project();
    mkdirSync(join(project.folder, "gen"));
    project.write("proto/a/v1/a.proto", proto);
    project.generateMessages(requestFor(set, "target=js+dts,import_extension=js"), "gen");
    project.generate(requestFor(set, "target=js+dts,import_extension=js,proto_source_map=../proto"), "gen");
    const flags = {
      module: "NodeNext",
      moduleResolution: "NodeNext",
      verbatimModuleSyntax: true,
      strict: true,
    };
    project.write(
      "tsconfig.json",
      JSON.stringify({
        compilerOptions: { ...flags, target: "ES2022", noEmit: true, allowImportingTsExtensions: true, types: [] },
      }),
    );
    project.write(
      "main.ts",
      `import { createGreetServiceClient, GreetService_hail } from "./gen/a/v1/a_triple.js";
const client = createGreetServiceClient({} as never);
export const answer = client.greet({ name: "a" });
export const old = client.hail({});
export const method = GreetService_hail;
`,
    );
    project.write(
      "handler.ts",
      `import type { GreetServiceHandler } from "./gen/a/v1/a_triple.js";
export class Greeter implements GreetServiceHandler {
}
`,
    );
    main = join(project.folder, "main.ts");
    handler = join(project.folder, "handler.ts");
    server = new LanguageServer(compiler);
  });

  afterAll(() => {
    server.stop();
    project[Symbol.dispose]();
  });

  interface Info {
    readonly displayString: string;
    readonly documentation: string;
    readonly tags: readonly { readonly name: string; readonly text: string }[];
  }

  it("shows a method with the words of its author", async () => {
    const info = await server.ask<Info>("quickinfo", placeOf(main, "client.greet", "greet"));
    expect(info.displayString).toBe(
      "(method) GreetServiceClient.greet(request: GreetRequestInit, options?: CallOptions): Promise<GreetResponse>",
    );
    expect(info.documentation).toBe("Says hello.");
    expect(info.tags).toEqual([{ name: "generated", text: "from rpc a.v1.GreetService.Greet" }]);
  });

  it("strikes out deprecated methods", async () => {
    for (const [text, part, documentation] of [
      ["client.hail", "hail", "Use Greet."],
      // The author's text is in the interfaces only.
      ["method = GreetService_hail", "GreetService_hail", ""],
    ] as const) {
      const info = await server.ask<Info>("quickinfo", placeOf(main, text, part));
      expect(info.documentation).toBe(documentation);
      expect(info.tags.map(({ name }) => name)).toContain("deprecated");
    }
  });

  it.each([
    ["client.greet", "greet", "Greet(", "a stub's method"],
    ["= createGreetServiceClient", "createGreetServiceClient", "GreetService {", "the factory"],
    ["method = GreetService_hail", "GreetService_hail", "Hail(", "a method's constant"],
  ])("leads from %s to the proto file", async (text, part, target) => {
    const [definition] = await server.ask<TextSpan[]>("definition", placeOf(main, text, part));
    expect(definition?.file).toBe(join(project.folder, "proto/a/v1/a.proto"));
    const lines = proto.slice(0, proto.indexOf(target)).split("\n");
    expect(definition?.start).toEqual({ line: lines.length, offset: (lines.at(-1)?.length ?? 0) + 1 });
  });

  it("leads from the client of the README's quick start to the proto file, by its buf.gen.yaml", async () => {
    using quickStart = new Project();
    const files = Object.fromEntries(readBlocks("README.md").map(({ path, text }) => [path, text]));
    quickStart.write("tsconfig.json", JSON.stringify({ compilerOptions: { module: "NodeNext", types: [] } }));
    for (const path of ["proto/hello/v1/hello.proto", "src/client.ts"]) quickStart.write(path, files[path] as string);
    const hello = compile({ "hello/v1/hello.proto": files["proto/hello/v1/hello.proto"] as string });
    const [messages, services] = parse(files["buf.gen.yaml"] as string).plugins;
    quickStart.generateMessages(requestFor(hello, String(messages.opt)), messages.out);
    quickStart.generate(requestFor(hello, String(services.opt)), services.out);
    const client = join(quickStart.folder, "src/client.ts");
    const [definition] = await server.ask<TextSpan[]>("definition", placeOf(client, "hello.sayHello", "sayHello"));
    expect(definition?.file).toBe(join(quickStart.folder, "proto/hello/v1/hello.proto"));
    expect(definition?.start).toEqual({ line: 4, offset: 28 });
  });

  it("implements the handler with code that compiles", async () => {
    const place = placeOf(handler, "Greeter");
    const { line, offset } = place;
    const range = { startLine: line, startOffset: offset, endLine: line, endOffset: offset + 7, errorCodes: [2420] };
    const fixes = await server.ask<CodeFix[]>("getCodeFixes", place, range);
    const fix = fixes.find(({ fixName }) => fixName === "fixClassIncorrectlyImplementsInterface");
    const changes = fix?.changes.flatMap(({ textChanges }) => textChanges) ?? [];
    project.write("fixed.ts", applyChanges(readFileSync(handler, "utf8"), changes));
    const fixed = readFileSync(join(project.folder, "fixed.ts"), "utf8");
    expect(fixed).toMatch(
      /greet\(request: GreetRequest, context: HandlerContext\): GreetResponseInit \| Promise<GreetResponseInit>/,
    );
    expect(fixed).toMatch(
      /greetings\(request: GreetRequest, context: HandlerContext\): AsyncIterable<GreetResponseInit>/,
    );
    const diagnostics = project.diagnostics({
      skipLibCheck: false,
      noUnusedParameters: false,
      noImplicitOverride: false,
    });
    expect(diagnostics.filter((line) => line.startsWith("fixed.ts"))).toEqual([]);
  });
});
