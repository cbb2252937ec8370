/**
 * Tests health, reflection and errors with grpcurl and buf curl, which read the schema from the server.
 * `scripts/grpcurl.sh` installs grpcurl.
 */
import { execFile, spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { create } from "@bufbuild/protobuf";
import { anyPack } from "@bufbuild/protobuf/wkt";
import { Code, RpcError } from "triple-es";
import { addHealth } from "triple-es/health";
import { addReflection } from "triple-es/reflection";
import { describe, expect, it } from "vitest";
import { GreetRequestSchema } from "../../examples/gen/greet/v1/greet_pb.ts";
import { GreetServiceDef, type GreetServiceHandler } from "../../examples/gen/greet/v1/greet_triple.ts";
import { OldServiceDef$ as OldServiceDef } from "../../fixtures/gen/fixture/proto2/v1/proto2_triple.ts";
import { grpcurlLine } from "../../runtime/src/openapi/command-line.ts";
import { greeter, startServer } from "../support/server.ts";

const cached = fileURLToPath(new URL("../../.ci/cache/bin/grpcurl", import.meta.url));
const grpcurl = existsSync(cached) ? cached : "grpcurl";
const installed = spawnSync(grpcurl, ["-version"]).status === 0;

/** Runs grpcurl against a server with health and reflection. */
async function prepare(greet?: () => never) {
  const { server, port } = await startServer(greet === undefined ? {} : { greet });
  const health = addHealth(server);
  addReflection(server);
  server.add(OldServiceDef, { call: () => ({}) });
  const run = (...args: string[]) => {
    const options = args.slice(0, -1);
    const verb = args.at(-1) ?? "";
    return promisify(execFile)(grpcurl, ["-plaintext", ...options, `127.0.0.1:${port}`, ...verb.split(" ")], {
      timeout: 60_000,
    }).then(
      ({ stdout }) => ({ code: 0, stdout, stderr: "" }),
      ({ code, stdout, stderr }) => ({ code, stdout, stderr }),
    );
  };
  return { health, run, server, port };
}

describe.skipIf(!installed)("grpcurl (needs grpcurl: sh scripts/grpcurl.sh)", () => {
  it("lists services and methods", async () => {
    const { run } = await prepare();
    expect((await run("list")).stdout.trim().split("\n")).toEqual([
      "fixture.proto2.v1.OldService",
      "greet.v1.GreetService",
      "grpc.health.v1.Health",
      "grpc.reflection.v1.ServerReflection",
      "grpc.reflection.v1alpha.ServerReflection",
    ]);
    const { stdout } = await run("list greet.v1.GreetService");
    expect(stdout).toContain("greet.v1.GreetService.GreetOnArrival\n");
  });

  it("describes services, methods, messages and fields", async () => {
    const { run } = await prepare();
    expect((await run("describe greet.v1.GreetService.GreetEach")).stdout).toContain(
      "rpc GreetEach ( .greet.v1.GreetEachRequest ) returns ( stream .greet.v1.GreetEachResponse );",
    );
    expect((await run("describe greet.v1.GreetEachRequest")).stdout).toContain("repeated string names = 1;");
    expect((await run("describe fixture.proto2.v1.CallRequest")).stdout).toContain("required string id = 1;");
    expect((await run("describe acme.Shop")).stderr).toContain("Symbol not found: acme.Shop");
  });

  it("calls methods by the line that the page of the option console shows", async () => {
    const { port } = await prepare();
    const messages = `{"name": "it's Ada"}\n{"name": "Bob"}`;
    const request = { url: `http://127.0.0.1:${port}/`, headers: {}, body: messages };
    const line = grpcurlLine("/greet.v1.GreetService/GreetOnArrival", request);
    const env = { ...process.env, PATH: `${dirname(cached)}:${process.env["PATH"]}` };
    const { stdout } = await promisify(execFile)("sh", ["-c", line], { env, timeout: 60_000 });
    expect(JSON.parse(`[${stdout.replaceAll("}\n{", "},{")}]`)).toEqual([
      { greeting: "Hello, it's Ada!" },
      { greeting: "Hello, Bob!" },
    ]);
  });

  it("selects the version and sends the timeout of the line that the page shows", async () => {
    const { server, port } = await prepare();
    const timeouts: (number | undefined)[] = [];
    const second: GreetServiceHandler = {
      ...greeter,
      async *greetOnArrival(_requests, { timeoutMs }) {
        timeouts.push(timeoutMs());
        yield { greeting: "from version 2" };
      },
    };
    server.add(GreetServiceDef, second, { version: "2.0.0", group: "blue" });
    const headers = { "tri-service-version": "2.0.0", "tri-service-group": "blue", "tri-service-timeout": "12500" };
    const request = { url: `http://127.0.0.1:${port}/`, headers, body: "{}" };
    const line = grpcurlLine("/greet.v1.GreetService/GreetOnArrival", request);
    const env = { ...process.env, PATH: `${dirname(cached)}:${process.env["PATH"]}` };
    const { stdout } = await promisify(execFile)("sh", ["-c", line], { env, timeout: 60_000 });
    expect(JSON.parse(stdout)).toEqual({ greeting: "from version 2" });
    expect(timeouts[0]).toBeGreaterThan(0);
    expect(timeouts[0]).toBeLessThanOrEqual(12_500);
  });

  it("calls all kinds of methods with what it learned", async () => {
    const { run } = await prepare();
    const call = async (data: string, method: string) =>
      JSON.parse(`[${(await run("-d", data, method)).stdout.replaceAll("}\n{", "},{")}]`);
    const [ada, bob] = [{ greeting: "Hello, Ada!" }, { greeting: "Hello, Bob!" }];
    expect(await call('{"name":"Ada"}', "greet.v1.GreetService/Greet")).toEqual([ada]);
    expect(await call('{"names":["Ada","Bob"]}', "greet.v1.GreetService/GreetEach")).toEqual([ada, bob]);
    const names = '{"name":"Ada"}{"name":"Bob"}';
    expect(await call(names, "greet.v1.GreetService/GreetTogether")).toEqual([{ greeting: "Hello, Ada and Bob!" }]);
    expect(await call(names, "greet.v1.GreetService/GreetOnArrival")).toEqual([ada, bob]);
  });

  it("shows an error with its details, which reflection explains", async () => {
    const details = [anyPack(GreetRequestSchema, create(GreetRequestSchema, { name: "unknown" }))];
    const { run } = await prepare(() => {
      throw new RpcError(Code.FailedPrecondition, "no such person", { details });
    });
    const { code, stderr } = await run("-d", "{}", "greet.v1.GreetService/Greet");
    // The exit status is 64 plus the code.
    expect(code).toBe(64 + Code.FailedPrecondition);
    expect(stderr).toContain("Code: FailedPrecondition");
    expect(stderr).toContain("no such person");
    expect(stderr).toContain('"@type": "type.googleapis.com/greet.v1.GreetRequest"');
    expect(stderr).toContain('"name": "unknown"');
  });

  it("asks for health", async () => {
    const { health, run } = await prepare();
    const check = (service: string) => run("-d", JSON.stringify({ service }), "grpc.health.v1.Health/Check");
    expect(JSON.parse((await check("")).stdout)).toEqual({ status: "SERVING" });
    health.set("greet.v1.GreetService", "not_serving");
    expect(JSON.parse((await check("greet.v1.GreetService")).stdout)).toEqual({ status: "NOT_SERVING" });
    expect((await check("acme.Shop")).code).toBe(64 + Code.NotFound);
    const watched = await run("-max-time", "1", "-d", '{"service":"acme.Shop"}', "grpc.health.v1.Health/Watch");
    expect(JSON.parse(watched.stdout)).toEqual({ status: "SERVICE_UNKNOWN" });
    expect(watched.code).toBe(64 + Code.DeadlineExceeded);
  });
});

describe("buf curl without a schema", () => {
  it.each(["grpc-v1", "grpc-v1alpha"])("learns it by reflection: %s", async (version) => {
    const { server, baseUrl } = await startServer();
    addReflection(server);
    const options = ["curl", "--protocol", "grpc", "--http2-prior-knowledge", "--reflect-protocol", version];
    const call = (...args: string[]) =>
      promisify(execFile)("node_modules/.bin/buf", [...options, ...args], { timeout: 60_000 });
    const data = ["--data", '{"name":"Ada"}'];
    const { stdout } = await call(...data, `${baseUrl}/greet.v1.GreetService/Greet`);
    expect(JSON.parse(stdout)).toEqual({ greeting: "Hello, Ada!" });
    const { stderr } = await call(...data, `${baseUrl}/greet.v1.GreetService/Missing`).catch((reason) => reason);
    expect(stderr).toContain("Missing");
  });
});
