/** Interoperability with Connect's implementation for Node, as a client and as a server of gRPC. */
import { createServer as createHttp2Server } from "node:http2";
import type { AddressInfo } from "node:net";
import { create } from "@bufbuild/protobuf";
import { anyPack } from "@bufbuild/protobuf/wkt";
import { Code as ConnectCode, ConnectError, createClient, type HandlerContext } from "@connectrpc/connect";
import { compressionGzip, connectNodeAdapter, createGrpcTransport } from "@connectrpc/connect-node";
import { Code, findDetails, RpcError } from "triple-es";
import { describe, expect, it, onTestFinished } from "vitest";
import { type GreetRequest, GreetRequestSchema, GreetService } from "../../examples/gen/greet/v1/greet_pb.ts";
import { arriving, connectGreeter, failureOf, greeter, greetings, startServer } from "../support/server.ts";

const failing = {
  code: Code.FailedPrecondition,
  message: "100 % née",
  detail: create(GreetRequestSchema, { name: "unknown" }),
};

describe.each(["proto", "json"] as const)("a gRPC client of Connect, in %s", (codec) => {
  const options = { useBinaryFormat: codec === "proto", sendCompression: compressionGzip, compressMinBytes: 100 };

  it("makes all four kinds of call", async () => {
    const { baseUrl } = await startServer();
    const client = createClient(GreetService, createGrpcTransport({ baseUrl, ...options }));
    const name = "Ada ".repeat(500);
    expect((await client.greet({ name })).greeting).toBe(`Hello, ${name}!`);
    expect(await greetings(client.greetEach({ names: ["Ada", "Bob"] }))).toEqual(["Hello, Ada!", "Hello, Bob!"]);
    expect((await client.greetTogether(arriving("Ada", "Bob"))).greeting).toBe("Hello, Ada and Bob!");
    expect(await greetings(client.greetOnArrival(arriving("Ada", "Bob")))).toEqual(["Hello, Ada!", "Hello, Bob!"]);
  });

  it("receives an error with its details, and metadata both ways", async () => {
    const { baseUrl } = await startServer({
      greet: (_, { requestHeaders, responseHeaders }) => {
        responseHeaders.set("x-echo", requestHeaders.get("x-echo") ?? "");
        const details = [anyPack(GreetRequestSchema, failing.detail)];
        throw new RpcError(failing.code, failing.message, { details, trailers: { "x-why": "because" } });
      },
    });
    const client = createClient(GreetService, createGrpcTransport({ baseUrl, ...options }));
    const error = ConnectError.from(
      await client.greet({}, { headers: { "x-echo": "here" } }).catch((reason) => reason),
    );
    expect([error.code, error.rawMessage]).toEqual([ConnectCode.FailedPrecondition, failing.message]);
    expect(error.findDetails(GreetRequestSchema)).toEqual([failing.detail]);
    expect(error.metadata.get("x-why")).toBe("because");
    expect(error.metadata.get("x-echo")).toBe("here");
  });
});

describe.each(["proto", "json"] as const)("a gRPC server of Connect, in %s", (codec) => {
  async function start(
    greet?: (request: GreetRequest, context: HandlerContext) => { greeting: string },
  ): Promise<string> {
    const routes = connectNodeAdapter({
      routes: ({ service }) => {
        service(GreetService, {
          greet: greet ?? (({ name }) => ({ greeting: `Hello, ${name}!` })),
          async *greetEach({ names }) {
            yield* greeter.greetEach({ names } as never, {} as never);
          },
          greetTogether: async (requests) => greeter.greetTogether(requests, {} as never),
          async *greetOnArrival(requests) {
            yield* greeter.greetOnArrival(requests, {} as never);
          },
        });
      },
    });
    const server = createHttp2Server(routes);
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => {
      server.close();
    });
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  it("answers all four kinds of call", async () => {
    const client = connectGreeter(await start(), { codec, compression: "gzip", compressMinBytes: 100 });
    const name = "Ada ".repeat(500);
    expect((await client.greet({ name })).greeting).toBe(`Hello, ${name}!`);
    expect(await greetings(client.greetEach({ names: ["Ada", "Bob"] }))).toEqual(["Hello, Ada!", "Hello, Bob!"]);
    expect((await client.greetTogether(arriving("Ada", "Bob"))).greeting).toBe("Hello, Ada and Bob!");
    expect(await greetings(client.greetOnArrival(arriving("Ada", "Bob")))).toEqual(["Hello, Ada!", "Hello, Bob!"]);
  });

  it("reports an error with its details, and metadata", async () => {
    const baseUrl = await start((_, { requestHeader, responseTrailer }) => {
      responseTrailer.set("x-echo", requestHeader.get("x-echo") ?? "");
      const error = new ConnectError(failing.message, ConnectCode.FailedPrecondition, { "x-why": "because" });
      error.details.push({ desc: GreetRequestSchema, value: failing.detail });
      throw error;
    });
    const error = await failureOf(connectGreeter(baseUrl, { codec }).greet({}, { headers: { "x-echo": "here" } }));
    expect([error.code, error.rawMessage]).toEqual([failing.code, failing.message]);
    expect(findDetails(error, GreetRequestSchema)).toEqual([failing.detail]);
    expect(error.trailers.get("x-why")).toBe("because");
    expect(error.trailers.get("x-echo")).toBe("here");
  });
});
