/** The strategy with definitions of generated code, and with options that it refuses. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Controller, Module, type Type } from "@nestjs/common";
import { NestFactory } from "@nestjs/core";
import { GrpcMethod, GrpcStreamMethod, type MicroserviceOptions } from "@nestjs/microservices";
import { from, map, NEVER, type Observable, reduce } from "rxjs";
import { Code } from "triple-es";
import { createTransport as createFetchTransport } from "triple-es/fetch";
import type { Server } from "triple-es/node";
import { TripleServer, type TripleServerOptions } from "triple-es-nest";
import { describe, expect, it, onTestFinished } from "vitest";
import type { GreetEachRequest, GreetRequest } from "../../examples/gen/greet/v1/greet_pb.ts";
import { createGreetServiceClient, GreetServiceDef } from "../../examples/gen/greet/v1/greet_triple.ts";
import { arriving, failureOf, greetings, openTransport } from "../support/server.ts";

interface Greeting {
  readonly greeting: string;
}
const greetingOf = ({ name }: { readonly name: string }): Greeting => ({ greeting: `Hello, ${name}!` });

@Controller()
class GreetController {
  @GrpcMethod("GreetService")
  greet(request: GreetRequest): Greeting | Observable<Greeting> {
    return request.name === "silent" ? NEVER : greetingOf(request);
  }

  @GrpcMethod("greet.v1.GreetService", "greetEach")
  greetEach({ names }: GreetEachRequest): Observable<Greeting> {
    return from(names.map((name) => greetingOf({ name })));
  }

  @GrpcStreamMethod("GreetService", "GreetTogether")
  async greetTogether(requests: Observable<GreetRequest>): Promise<Observable<Greeting>> {
    return requests.pipe(
      reduce((all, { name }) => `${all} ${name}`, ""),
      map((names) => greetingOf({ name: names.trim() })),
    );
  }
}

@Module({ controllers: [GreetController] })
class GreetModule {}

/** Starts an application on a free port, and returns its server. */
async function start(options: TripleServerOptions, module: Type = GreetModule): Promise<Server> {
  const strategy = new TripleServer({ url: "127.0.0.1:0", ...options });
  const app = await NestFactory.createMicroservice<MicroserviceOptions>(module, { strategy, logger: false });
  onTestFinished(() => app.close());
  await app.listen();
  return strategy.unwrap();
}

describe("TripleServer with definitions of generated code", () => {
  it("passes messages of protobuf-es to handlers, and takes init objects", async () => {
    const { address } = await start({ services: [GreetServiceDef] });
    const baseUrl = `http://127.0.0.1:${address.port}`;
    for (const transport of [openTransport(baseUrl), createFetchTransport({ baseUrl })]) {
      const greeter = createGreetServiceClient(transport);
      expect((await greeter.greet({ name: "Ann" })).greeting).toBe("Hello, Ann!");
      expect(await greetings(greeter.greetEach({ names: ["Ann", "Bob"] }))).toEqual(["Hello, Ann!", "Hello, Bob!"]);
    }
    const greeter = createGreetServiceClient(openTransport(baseUrl));
    expect((await greeter.greetTogether(arriving("Ann", "Bob"))).greeting).toBe("Hello, Ann Bob!");
    expect((await failureOf(greeter.greetOnArrival(arriving("Ann")))).code).toBe(Code.Unimplemented);
  });

  it("takes the options of grpc-js that mean its own defaults", async () => {
    const options = { credentials: undefined, maxReceiveMessageLength: -1 };
    const { address } = await start({ services: [GreetServiceDef], ...options });
    const greeter = createGreetServiceClient(openTransport(`http://127.0.0.1:${address.port}`));
    const name = "a".repeat(2_500_000);
    expect(await greetings(greeter.greetEach({ names: [name, name] }))).toHaveLength(2);
  });

  it("ends the call of a handler that never responds", async () => {
    const server = await start({ services: [GreetServiceDef], gracefulShutdown: true });
    const greeter = createGreetServiceClient(openTransport(`http://127.0.0.1:${server.address.port}`));
    const failure = await failureOf(greeter.greet({ name: "silent" }, { timeoutMs: 50 }));
    expect(failure.code).toBe(Code.DeadlineExceeded);
    // A call whose handler were still running would keep the server open.
    await server.close({ graceMs: 60_000 });
  });
});

function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "triple-es-nest-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return folder;
}

it("TripleServer serves a package that extends its own messages", async () => {
  const protoPath = join(temporaryFolder(), "a.proto");
  const extended = "message A { extensions 100 to 199; } extend A { optional string note = 100; }";
  writeFileSync(protoPath, `syntax = "proto2"; package a; ${extended} service S { rpc Get(A) returns (A); }`);
  await start({ package: "a", protoPath });
});

describe("TripleServer refuses", () => {
  it.each([
    ["options without services", {}, "TripleServer needs package or services"],
    ["options of grpc-js", { package: "a", credentials: {} }, "credentials is an option of @grpc/grpc-js"],
    ["unknown options", { package: "a", tls: {} }, 'TripleServer: "tls" is not among: url,'],
    ["unknown options of the server", { package: "a", server: { csfr: true } }, "csfr"],
  ])("%s", (_name, options, message) => {
    expect(() => new TripleServer(options as TripleServerOptions)).toThrow(message);
  });

  it("an address without a port", async () => {
    await expect(start({ services: [GreetServiceDef], url: "localhost" })).rejects.toThrow(
      "url must be a host and a port",
    );
  });

  it("packages that import each other", async () => {
    const folder = temporaryFolder();
    const write = (name: string, text: string): void =>
      writeFileSync(join(folder, name), `syntax = "proto3"; package ${text}`);
    write("a.proto", 'a; import "b.proto"; service A { rpc Get(b.B) returns (b.B); }');
    write("base.proto", "a; message Base { int32 id = 1; }");
    write("b.proto", 'b; import "base.proto"; message B { a.Base base = 1; }');
    const options = { package: "a", protoPath: join(folder, "a.proto"), loader: { includeDirs: [folder] } };
    await expect(start(options)).rejects.toThrow("the packages a, b import each other: generate code");
  });

  it("services without descriptors", async () => {
    const service = {
      Greet: { path: "/a.A/Greet", requestStream: false, responseStream: false, requestDeserialize: () => ({}) },
    };
    await expect(start({ package: "a", packageDefinition: { "a.A": service } })).rejects.toThrow(
      "the service a.A has no descriptors",
    );
  });
});
