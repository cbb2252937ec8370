/** The playground of the site: its compiler beside buf, and its page in Chromium. */
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { toJson } from "@bufbuild/protobuf";
import { type FileDescriptorProto, FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { writePlayground } from "../site/playground/bundle.ts";
import { compile, ProtoError } from "../site/playground/compile.ts";
import { PROTO } from "../site/playground/example.ts";
import { generate } from "../site/playground/service.ts";
import { createStaticServer } from "../site/serve.ts";
import { compile as compileWithBuf } from "./plugin/support/protos.ts";
import { EXECUTABLE, launchBrowser } from "./support/chromium.ts";
import { ROOT, readDocument } from "./support/documents.ts";

const isInstalled = existsSync(join(ROOT, "site/node_modules/protobufjs"));
const hasChromium = existsSync(EXECUTABLE);
if (!isInstalled) console.warn("skipped: the playground; npm run site installs its packages");

const NAME = "a/v1/a.proto";

const RICH = `syntax = "proto3";
package a.v1;

import "google/protobuf/timestamp.proto";
import "google/protobuf/wrappers.proto";

// Comment of S.
service S {
  // Comment of R,
  // of two lines.
  rpc R(M) returns (stream M.Inner) { option idempotency_level = IDEMPOTENT; }
  rpc Old(stream .a.v1.M) returns (a.v1.M) { option deprecated = true; }
}

// Comment of M.
message M {
  // Comment of a field.
  string first_name = 1;
  optional int32 some_2_number = 2 [deprecated = true, json_name = "other"];
  oneof choice {
    bytes a = 3;
    Inner b = 4;
  }
  map<string, Inner> by_name = 5;
  map<int64, Kind> kinds = 6;
  repeated Kind kind = 7 [packed = false];
  google.protobuf.Timestamp at = 8;
  optional google.protobuf.StringValue text = 9;
  message Inner { M m = 1; Kind kind = 2; enum Kind { KIND_ZERO = 0; } }
  reserved 20, 30 to 40;
}

enum Kind { KIND_UNSPECIFIED = 0; KIND_A = 1; KIND_B = -1; }
`;

describe.skipIf(!isInstalled)("the compiler of the playground", () => {
  /** The descriptor that buf makes of a file. */
  const judge = (source: string): FileDescriptorProto =>
    compileWithBuf({ [NAME]: source }).file.find(({ name }) => name === NAME) as FileDescriptorProto;

  it.each([
    ["its example", PROTO],
    ["the proto file of the demo", readDocument("proto/greet/v1/greet.proto").replace(/^\/\/.*\n+/, "")],
    ["each kind of element", RICH],
    ["a file without a package", PROTO.replace("package hello.v1;", "")],
  ])("has the descriptor of buf for %s, from which the plugin generates the same code", (_, source) => {
    const [ours, theirs] = [compile(source, NAME), judge(source)];
    /** Without positions and reserved numbers, which the playground leaves out, and without values that have no effect. */
    const withoutPositions = (file: FileDescriptorProto): unknown => {
      const { sourceCodeInfo: _, ...json } = toJson(FileDescriptorProtoSchema, file) as Record<string, unknown>;
      const isAbsent = (key: string, value: unknown): boolean =>
        key === "reservedRange" || (value === false && key !== "packed") || JSON.stringify(value) === "{}";
      return JSON.parse(JSON.stringify(json, (key, value) => (isAbsent(key, value) ? undefined : value)));
    };
    expect(withoutPositions(ours)).toEqual(withoutPositions(theirs));
    expect(generate(ours)).toEqual(generate(theirs));
  });

  it.each([
    ["message M {\n  string a = 1\n  string b = 2;\n}", "illegal token 'string', ';' expected", 5, 3],
    ["message M {\n  string a = ;\n}", "illegal id ';'", 4, 14],
    ["message M { string a = 1;", "illegal end of input 'null'", 3, 26],
    ["mesage M {}", "illegal token 'mesage'", 3, 1],
    ["message M {\n  strin a = 1;\n}", "there is no type strin", 4, 3],
    ["message M {\n  string a = 1;\n  string b = 1;\n}", "duplicate id 1 in Type M", 5, 3],
    ["service S { rpc R(M) returns (M); }", "there is no type M", 3, 19],
    ["message M { string a = 19500; }", "19500 is not a number of a field", 3, 24],
    ["enum E { A = 1; }", "the first value of the enum E must be 0", 3, 6],
    ['import "b.proto";', '"b.proto" is not a file of the well-known types', 3, 9],
    ["message M { option (b) = true; }", "the playground does not know the option (b)", 3, 9],
  ])("refuses %j with the position of the error", (body, message, line, column) => {
    const source = `syntax = "proto3";\npackage a;\n${body}`;
    let error: unknown;
    try {
      compile(source, NAME);
    } catch (reason) {
      error = reason;
    }
    expect(error).toBeInstanceOf(ProtoError);
    const { message: actual, line: actualLine, column: actualColumn } = error as ProtoError;
    expect([actual, actualLine, actualColumn]).toEqual([expect.stringContaining(message), line, column]);
  });
});

describe.skipIf(!isInstalled || !hasChromium)("the page of the playground in Chromium", () => {
  const folder = mkdtempSync(join(tmpdir(), "triple-es-playground-"));
  let browser: Browser;

  beforeAll(async () => {
    await writePlayground(folder);
    browser = await launchBrowser();
  });

  afterAll(async () => {
    await browser?.close();
    rmSync(folder, { recursive: true });
  });

  /** Opens the page. At the end of the test, it must have loaded nothing from another host, and have no errors. */
  async function open(): Promise<Page> {
    const server = createStaticServer(folder);
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
    const page = await browser.newPage();
    const problems: string[] = [];
    page.on("request", (request) => {
      if (!request.url().startsWith(url) && !request.url().startsWith("data:")) problems.push(request.url());
    });
    page.on("pageerror", (error) => problems.push(error.message));
    page.on("console", (message) => message.type() === "error" && problems.push(message.text()));
    onTestFinished(async () => {
      await page.close();
      server.closeAllConnections();
      server.close();
      expect(problems).toEqual([]);
    });
    await page.goto(`${url}index.html`);
    return page;
  }

  const result = (page: Page): Promise<string | null> => page.locator("#result").textContent();

  it("generates code from the proto file as it is edited", async () => {
    const page = await open();
    expect(await page.locator("#code").inputValue()).toContain("export interface HelloServiceClient");
    await page.locator("#proto").fill(PROTO.replaceAll("SayHello(", "Welcome("));
    expect(await page.locator("#code").inputValue()).toContain("welcome(request: SayHelloRequestInit");
    await page.locator("#file").selectOption("playground_codec.ts");
    expect(await page.locator("#code").inputValue()).toContain("export const SayHelloRequestCodec");
  });

  it.each([
    ["gRPC", "POST /hello.v1.HelloService/SayHello\n", "grpc-status: 0"],
    ["HTTP RPC", "content-type: application/json", '{"greeting":"Hello, Ann!"}'],
  ])("calls the handlers over %s, and shows the exchange", async (protocol, ...wire) => {
    const page = await open();
    await page.locator("#protocol").selectOption(protocol);
    await page.locator("#call").click();
    await expect.poll(() => result(page)).toBe('{"greeting":"Hello, Ann!"}\n');
    for (const text of wire) expect(await page.locator("#wire").textContent()).toContain(text);
  });

  it.each([
    ["SayHelloInAll", ["Hello, Ann!", "Bonjour, Ann!", "Hola, Ann!"]],
    ["SayHelloToEach", ["Hello, Ann!", "Hello, Bob!"]],
  ])("shows each message of the stream of %s", async (method, greetings) => {
    const page = await open();
    await page.locator("#method").selectOption(`HelloService.${method}`);
    await page.locator("#call").click();
    const lines = greetings.map((greeting) => `${JSON.stringify({ greeting })}\n`).join("");
    await expect.poll(() => result(page)).toBe(lines);
  });

  it("calls handlers that the visitor has edited, and shows their errors", async () => {
    const page = await open();
    await page.locator("#request").fill('{"name": ""}');
    await page.locator("#call").click();
    await expect.poll(() => result(page)).toBe("[invalid_argument] the name is empty\n");
    await page.locator("#request").fill('{"name": "Ann"}');
    for (const [handlers, expected] of [
      ['{ sayHello: () => ({ greeting: "Edited" }) }', /Edited/],
      ["{ sayHello: (", /^SyntaxError/],
      ["{}", /^TypeError: .* has none of its methods/],
    ] as const) {
      await page.locator("#handlers").fill(handlers);
      await page.locator("#call").click();
      await expect.poll(() => result(page)).toMatch(expected);
    }
  });

  it("writes handlers for a service of other methods", async () => {
    const page = await open();
    await page.locator("#proto").fill(RICH);
    await page.locator("#call").click();
    await expect.poll(() => result(page)).toMatch(/^(?:\{.*\}\n){3}$/);
  });

  it("shows a syntax error with its line and column, and keeps the last code", async () => {
    const page = await open();
    await page.locator("#proto").fill(PROTO.replace("string greeting", "strin greeting"));
    const problem = page.locator("#problem");
    expect(await problem.textContent()).toMatch(/^line 24, column 3: there is no type strin/);
    expect(await page.locator("#code").inputValue()).toContain("export interface HelloServiceClient");
    await problem.click();
    const caret = await page.locator("#proto").evaluate("document.activeElement.selectionStart");
    expect(caret).toBe(PROTO.indexOf("string greeting"));
    await page.locator("#proto").fill(PROTO);
    expect(await problem.isVisible()).toBe(false);
  });
});
