/** The length of error messages on a client whose server sends long texts in fields that errors quote. */
import { Code, type Codec, Metadata, protoCodec, type RpcError, Status } from "triple-es";
import { createTransport } from "triple-es/fetch";
import { nodeCompressions } from "triple-es/node";
import type { Serialization } from "triple-es-dubbo/java";
import { describe, expect, it } from "vitest";
import { readException } from "../dubbo/src/interface/wrapper/client.ts";
import { encodeWrapper } from "../dubbo/src/interface/wrapper/wrapper.ts";
import { createGreetServiceClient, type GreetServiceClient } from "../examples/gen/greet/v1/greet_triple.ts";
import { connectionError } from "../runtime/src/connection/error.ts";
import { createGrpcClient } from "../runtime/src/grpc/client.ts";
import { createGrpcWebCall } from "../runtime/src/grpc/web-client.ts";
import { codecPayload } from "../runtime/src/http-rpc/arguments.ts";
import { createHttpRpcClient } from "../runtime/src/http-rpc/client.ts";
import { resolveUnaryOptions } from "../runtime/src/protocol/options.ts";
import { envelope, type GivenResponse, response, wireClient } from "./support/greeter.ts";
import { failureOf } from "./support/server.ts";

const LONG = "a".repeat(20_000);
/** Maximum length of a message. The fixed part of one may name a method and an option. */
const MAX_LENGTH = 1_000;

/** A codec whose errors quote everything that it cannot decode. */
const quotingCodec: Codec = { ...protoCodec, name: "quoting", decode: quoteAll };

function quoteAll(): never {
  throw new Error(`cannot decode ${LONG}`);
}

const grpc = (given: GivenResponse, codec: Codec): GreetServiceClient =>
  wireClient(createGrpcClient, response(given), { codec, compressions: nodeCompressions }).client;

const rpc = (given: GivenResponse, codec: Codec): GreetServiceClient =>
  wireClient(createHttpRpcClient, response(given), { codec, compressions: nodeCompressions }).client;

const web = (given: GivenResponse, codec: Codec): GreetServiceClient =>
  createGreetServiceClient({
    call: createGrpcWebCall(async () => response(given), codecPayload(codec), resolveUnaryOptions({})),
  });

const GRPC = { "content-type": "application/grpc" };
const WEB = { "content-type": "application/grpc-web" };
const ok = { "grpc-status": "0" };

describe("an error of a client truncates a text of the server", () => {
  it.each<[string, typeof grpc, GivenResponse, Code]>([
    ["content-type, over gRPC", grpc, { headers: { "content-type": LONG } }, Code.Unknown],
    [
      "the codec in content-type, over gRPC",
      grpc,
      { headers: { "content-type": `application/grpc+${LONG}` } },
      Code.Internal,
    ],
    ["grpc-encoding", grpc, { headers: { ...GRPC, "grpc-encoding": LONG } }, Code.Internal],
    ["grpc-status in trailers", grpc, { headers: GRPC, trailers: { "grpc-status": LONG } }, Code.Unknown],
    ["grpc-status in headers", grpc, { headers: { ...GRPC, "grpc-status": LONG } }, Code.Unknown],
    ["content-type, over gRPC-Web", web, { headers: { "content-type": LONG } }, Code.Unknown],
    [
      "the codec in content-type, over gRPC-Web",
      web,
      { headers: { "content-type": `application/grpc-web+${LONG}` } },
      Code.Internal,
    ],
    [
      "grpc-status, over gRPC-Web",
      web,
      { headers: WEB, body: envelope(`grpc-status: ${LONG}\r\n`, 0x80) },
      Code.Unknown,
    ],
  ])("in %s", async (_field, connect, given, code) => {
    expectShort(await failureOf(connect(given, protoCodec).greet({})), code);
    expectShort(await failureOf(connect(given, protoCodec).greetEach({})), code);
  });

  it.each<[string, GivenResponse]>([
    ["content-type", { headers: { "content-type": LONG } }],
    ["content-encoding", { headers: { "content-type": "application/proto", "content-encoding": LONG } }],
  ])("in %s, over HTTP RPC", async (_field, given) => {
    const error = await failureOf(rpc(given, protoCodec).greet({}));
    expectShort(error, Code.Internal);
    expect(error.status).toBe(Status.BadResponse);
  });

  it.each<[string, typeof grpc, GivenResponse]>([
    ["gRPC", grpc, { headers: GRPC, body: envelope("x"), trailers: ok }],
    ["gRPC-Web", web, { headers: WEB, body: envelope("x") }],
    ["HTTP RPC", rpc, { headers: { "content-type": "application/quoting" }, body: "x" }],
  ])("that a codec quotes, over %s", async (_protocol, connect, given) => {
    const error = await failureOf(connect(given, quotingCodec).greet({}));
    expectShort(error, Code.Internal);
    expect(error.rawMessage).toContain("cannot be decoded as greet.v1.GreetResponse: cannot decode aaa");
  });

  it("that a serialization quotes", () => {
    const quoting: Serialization = {
      name: "quoting",
      encode: quoteAll,
      decode: quoteAll,
      decodeException: quoteAll,
    };
    const bytes = encodeWrapper({ serializeType: "quoting", values: [Uint8Array.of(1)], types: [] });
    const headers = new Metadata({ "tri-exception-code": "3" });
    const received = { headers, trailers: new Metadata(), bytes };
    expectShort(readException(received, { serializations: [quoting] }) as RpcError, Code.Unknown);
  });

  it("in a certificate, and keeps the hint", async () => {
    const cause = new Error(`Hostname/IP does not match certificate's altnames: Host: a. is not in: DNS:${LONG}`);
    const error = connectionError(cause, "host:1");
    expectShort(error, Code.Unavailable);
    expect(error.rawMessage).toMatch(/… \(tls\.servername sets the expected name\)$/);

    const fetch = (): Promise<Response> => Promise.reject(new TypeError("fetch failed", { cause }));
    const client = createGreetServiceClient(createTransport({ baseUrl: "https://a.example", fetch }));
    expectShort(await failureOf(client.greet({})), Code.Unavailable);
  });
});

it("an error of a client has the whole message of the server", async () => {
  const trailers = { "grpc-status": "13", "grpc-message": LONG };
  expect((await failureOf(grpc({ headers: GRPC, trailers }, protoCodec).greet({}))).rawMessage).toBe(LONG);
  const body = JSON.stringify({ status: 80, message: LONG });
  expect((await failureOf(rpc({ status: 500, body }, protoCodec).greet({}))).rawMessage).toBe(LONG);
});

function expectShort({ code, message }: RpcError, expected: Code): void {
  expect(code).toBe(expected);
  expect(message.length).toBeLessThan(MAX_LENGTH);
}
