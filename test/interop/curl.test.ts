/** Interoperability with command-line tools: curl for sub-protocol A, buf curl for sub-protocol B. */
import { execFile, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { Code, RpcError } from "triple-es";
import { describe, expect, it, onTestFinished } from "vitest";
import { GreetRequestSchema, GreetResponseSchema } from "../../examples/gen/greet/v1/greet_pb.ts";
import { startServer } from "../support/server.ts";

const PATH = "/greet.v1.GreetService/Greet";
const JSON_TYPE = ["-H", "content-type: application/json"];

async function run(command: string, ...args: string[]): Promise<{ stdout: Buffer; stderr: Buffer }> {
  return promisify(execFile)(command, args, { encoding: "buffer", timeout: 60_000 });
}

/** The output of curl: the body, then the requested information on the transfer. */
async function curl(...args: string[]): Promise<Buffer> {
  return (await run("curl", "--silent", "--show-error", "--noproxy", "*", ...args)).stdout;
}

describe.skipIf(spawnSync("curl", ["--version"]).status !== 0)("curl (needs curl)", () => {
  const about = ["-w", "\n%{http_version} %{response_code} %{content_type}"];

  it.each([
    { http: "--http1.1", version: "1.1" },
    { http: "--http2-prior-knowledge", version: "2" },
    // curl requests an upgrade, which the server ignores.
    { http: "--http2", version: "1.1" },
  ])("calls with $http and an array in JSON", async ({ http, version }) => {
    const { baseUrl } = await startServer();
    const output = await curl(http, ...about, ...JSON_TYPE, "-d", '[{"name":"Ada"}]', baseUrl + PATH);
    expect(output.toString()).toBe(`{"greeting":"Hello, Ada!"}\n${version} 200 application/json`);
  });

  it("calls with a bare object in JSON", async () => {
    const { baseUrl } = await startServer();
    const output = await curl(...JSON_TYPE, "-d", '{"name":"Ada"}', baseUrl + PATH);
    expect(output.toString()).toBe('{"greeting":"Hello, Ada!"}');
  });

  it("calls with a body in proto", async () => {
    const folder = mkdtempSync(join(tmpdir(), "triple-es-"));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const file = join(folder, "request");
    writeFileSync(file, toBinary(GreetRequestSchema, create(GreetRequestSchema, { name: "Ada" })));
    const { baseUrl } = await startServer();
    const output = await curl("-H", "content-type: application/proto", "--data-binary", `@${file}`, baseUrl + PATH);
    expect(fromBinary(GreetResponseSchema, output).greeting).toBe("Hello, Ada!");
  });

  it("receives an error as an HTTP status and a body with the reason", async () => {
    const { baseUrl } = await startServer({
      greet: () => {
        throw new RpcError(Code.PermissionDenied, "not you");
      },
    });
    const output = await curl(...about, ...JSON_TYPE, "-d", "[{}]", baseUrl + PATH);
    expect(output.toString()).toBe(
      '{"status":70,"message":"not you","code":"permission_denied"}\n1.1 403 application/json',
    );
  });

  it("gets errors for an unknown path and for a verb other than POST", async () => {
    const { baseUrl } = await startServer();
    const missing = (
      await curl(...about, ...JSON_TYPE, "-d", "[{}]", `${baseUrl}/greet.v1.GreetService/Gone`)
    ).toString();
    expect(missing).toMatch(/^\{"status":60,"message":".*"\}\n1\.1 404 application\/json$/);
    const wrong = (await curl("-i", baseUrl + PATH)).toString();
    expect(wrong).toMatch(/^HTTP\/1\.1 405 /);
    expect(wrong.toLowerCase()).toContain("\r\nallow: post\r\n");
  });

  it("asks for compression, and sends it", async () => {
    const folder = mkdtempSync(join(tmpdir(), "triple-es-"));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const { baseUrl } = await startServer();
    const name = "Ada ".repeat(1000);
    const file = join(folder, "request");
    writeFileSync(file, `[{"name":"${name}"}]`);
    await run("gzip", file);
    const output = await curl(
      ...["--compressed", "-w", "\n%{size_download} %header{content-encoding}"],
      ...JSON_TYPE,
      ...["-H", "content-encoding: gzip", "--data-binary", `@${file}.gz`, baseUrl + PATH],
    );
    const [body, transfer] = output.toString().split("\n");
    expect(JSON.parse(body ?? "")).toEqual({ greeting: `Hello, ${name}!` });
    expect(Number(transfer?.split(" ")[0])).toBeLessThan(500);
  });

  it("sends metadata as headers, and receives it so", async () => {
    const { baseUrl } = await startServer({
      greet: (_, { requestHeaders, responseHeaders, responseTrailers }) => {
        responseHeaders.set("x-echo", requestHeaders.get("x-sent") ?? "");
        responseTrailers.set("x-bytes-bin", requestHeaders.getBinary("x-sent-bin") ?? new Uint8Array());
        return {};
      },
    });
    const sent = ["-H", "X-Sent: here", "-H", "x-sent-bin: AP8="];
    const output = (await curl("-i", ...sent, ...JSON_TYPE, "-d", "[{}]", baseUrl + PATH)).toString();
    expect(output).toContain("\r\nx-echo: here\r\n");
    expect(output).toContain("\r\ntrailer-x-bytes-bin: AP8\r\n");
  });

  it("makes several calls over one connection that is kept alive", async () => {
    const { baseUrl } = await startServer();
    const calls = Array.from({ length: 3 }, () => baseUrl + PATH);
    const output = await curl("-w", " %{num_connects}\n", ...JSON_TYPE, "-d", '[{"name":"Ada"}]', ...calls);
    const connects = output.toString().trim().split("\n");
    expect(connects).toEqual([1, 0, 0].map((count) => `{"greeting":"Hello, Ada!"} ${count}`));
  });
});

describe("buf curl", () => {
  const buf = async (baseUrl: string, method: string, data: string): Promise<string> => {
    const schema = ["--schema", "proto", "--protocol", "grpc", "--http2-prior-knowledge"];
    const url = `${baseUrl}/greet.v1.GreetService/${method}`;
    const { stdout } = await run("node_modules/.bin/buf", "curl", ...schema, "--data", data, url);
    return stdout.toString().replace(/\s+/g, " ").trim();
  };

  it("makes all four kinds of call", async () => {
    const { baseUrl } = await startServer();
    expect(await buf(baseUrl, "Greet", '{"name":"Ada"}')).toBe('{ "greeting": "Hello, Ada!" }');
    expect(await buf(baseUrl, "GreetEach", '{"names":["Ada","Bob"]}')).toBe(
      '{ "greeting": "Hello, Ada!" } { "greeting": "Hello, Bob!" }',
    );
    expect(await buf(baseUrl, "GreetTogether", '{"name":"Ada"}{"name":"Bob"}')).toBe(
      '{ "greeting": "Hello, Ada and Bob!" }',
    );
    expect(await buf(baseUrl, "GreetOnArrival", '{"name":"Ada"}{"name":"Bob"}')).toBe(
      '{ "greeting": "Hello, Ada!" } { "greeting": "Hello, Bob!" }',
    );
  });

  it("shows an error by its code and message", async () => {
    const { baseUrl } = await startServer({
      greet: () => {
        throw new RpcError(Code.ResourceExhausted, "100 % née");
      },
    });
    const error = await buf(baseUrl, "Greet", "{}").catch((reason) => reason);
    expect(JSON.parse(error.stderr.toString())).toEqual({ code: "resource_exhausted", message: "100 % née" });
  });
});
