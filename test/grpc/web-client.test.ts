/** The client of gRPC-Web: its requests, and its results for well-formed and malformed responses. */
import { create } from "@bufbuild/protobuf";
import { Code, Metadata, RpcError, Status } from "triple-es";
import { describe, expect, it } from "vitest";
import { GreetRequestSchema } from "../../examples/gen/greet/v1/greet_pb.ts";
import { createGreetServiceClient, type GreetServiceClient } from "../../examples/gen/greet/v1/greet_triple.ts";
import { jsonCodec, protoCodec } from "../../runtime/src/codec/codec.ts";
import { createGrpcWebCall } from "../../runtime/src/grpc/web-client.ts";
import { streamBody } from "../../runtime/src/http/body.ts";
import type { Exchange, HttpRequest, HttpResponse } from "../../runtime/src/http/exchange.ts";
import { codecPayload } from "../../runtime/src/http-rpc/arguments.ts";
import { resolveUnaryOptions, type UnaryOptions } from "../../runtime/src/protocol/options.ts";
import {
  type Bytes,
  chunked,
  envelope,
  type GivenResponse,
  greetRequest,
  greetResponse,
  joined,
  response,
  routeGreeter,
} from "../support/greeter.ts";
import { arriving, failureOf, greetings, signalled } from "../support/server.ts";
import { createShopClient } from "../support/shop.ts";

const TYPE = { "content-type": "application/grpc-web+proto" };
const OK = "grpc-status: 0\r\n";
const trailers = (text: string): Uint8Array => envelope(text, 0x80);
const hello = envelope(greetResponse("Hello!"));

function connect(exchange: Exchange, options: Partial<UnaryOptions> = {}, codec = protoCodec): GreetServiceClient {
  const resolved = { ...resolveUnaryOptions({}), ...options };
  return createGreetServiceClient({ call: createGrpcWebCall(exchange, codecPayload(codec), resolved) });
}

/** A client whose calls receive the given response. */
const answered = (given: GivenResponse, options?: Partial<UnaryOptions>): GreetServiceClient =>
  connect(async () => response({ headers: TYPE, ...given }), options);

/** A client whose calls receive a response with the given body and the right content type. */
const withBody = (body: Bytes): GreetServiceClient => answered({ body });

describe("a client of gRPC-Web", () => {
  it("sends a message in an envelope, with the headers that pages may send", async () => {
    const requests: HttpRequest[] = [];
    const client = connect(async (request) => {
      requests.push(request);
      return response({ headers: TYPE, body: joined(hello, trailers(OK)) });
    });
    const headers = { "x-mine": "1", "x-bytes-bin": Uint8Array.of(1) };
    await client.greet({ name: "Ada" }, { headers, timeoutMs: 5000, version: "1.0.0", group: "blue" });
    const [request] = requests as [HttpRequest];
    expect([request.method, request.path]).toEqual(["POST", "/greet.v1.GreetService/Greet"]);
    expect([...request.headers]).toEqual([
      ["content-type", "application/grpc-web+proto"],
      ["x-grpc-web", "1"],
      ["grpc-timeout", expect.stringMatching(/^(5000|49\d\d)m$/)],
      ["tri-service-version", "1.0.0"],
      ["tri-service-group", "blue"],
      ["x-mine", "1"],
      ["x-bytes-bin", "AQ"],
    ]);
    expect(request.body.whole).toEqual(envelope(greetRequest("Ada")));
  });

  it.each([protoCodec, jsonCodec])("understands our server: $name", async (codec) => {
    const { exchange } = routeGreeter();
    const client = connect(exchange, {}, codec);
    expect((await client.greet({ name: "Ada" })).greeting).toBe("Hello, Ada!");
    expect(await greetings(client.greetEach({ names: ["Ada", "Bob"] }))).toEqual(["Hello, Ada!", "Hello, Bob!"]);
    expect(await greetings(client.greetEach({}))).toEqual([]);
  });

  it("receives metadata, before the first message and after the last", async () => {
    const { exchange } = routeGreeter({
      async *greetEach(_, { responseHeaders, responseTrailers }) {
        responseHeaders.set("x-lead", "a");
        yield { greeting: "one" };
        responseTrailers.append("x-end", "b").append("x-end", "c").set("x-end-bin", Uint8Array.of(0, 255));
      },
    });
    const seen: unknown[] = [];
    const messages = connect(exchange).greetEach(
      {},
      {
        onHeaders: (headers) => seen.push([...headers]),
        onTrailers: (fields) => seen.push(fields.getAll("x-end"), fields.getBinary("x-end-bin")),
      },
    );
    for await (const { greeting } of messages) seen.push(greeting);
    expect(seen).toEqual([[["x-lead", "a"]], "one", ["b", "c"], Uint8Array.of(0, 255)]);
  });

  it("receives an error with its message, details and metadata", async () => {
    const { exchange } = routeGreeter({
      greet: () => {
        const details = [{ typeUrl: "type.googleapis.com/x.Y", value: Uint8Array.of(1) }];
        throw new RpcError(Code.NotFound, "100 % née", { details, trailers: { "x-why": "gone" } });
      },
    });
    const error = await failureOf(connect(exchange).greet({}));
    expect([error.code, error.rawMessage, error.method]).toEqual([
      Code.NotFound,
      "100 % née",
      "/greet.v1.GreetService/Greet",
    ]);
    expect(error.details).toMatchObject([{ typeUrl: "type.googleapis.com/x.Y", value: Uint8Array.of(1) }]);
    expect([...error.trailers]).toEqual([["x-why", "gone"]]);
  });

  it("asks for a message of a stream when its reader does", async () => {
    let made = 0;
    const { exchange } = routeGreeter({
      async *greetEach() {
        for (;;) yield { greeting: String(++made) };
      },
    });
    const messages = connect(exchange).greetEach({})[Symbol.asyncIterator]();
    for (let i = 0; i < 3; i++) await messages.next();
    expect(made).toBe(3);
    await messages.return?.();
  });

  it("cancels the body when the reader of a stream leaves", async () => {
    const left = signalled();
    const body = streamBody(chunked([hello, hello, trailers(OK)], left.resolve));
    const client = connect(async () => ({ ...response({ headers: TYPE }), body }));
    for await (const _ of client.greetEach({})) break;
    await left.promise;
  });

  it.each([
    ["client streaming", (client: GreetServiceClient) => client.greetTogether(arriving("Ada"))],
    ["bidi streaming", (client: GreetServiceClient) => client.greetOnArrival(arriving("Ada"))],
  ])("refuses %s, which fetch does not support, and names an alternative", async (kind, call) => {
    const { exchange } = routeGreeter();
    const error = await failureOf(call(connect(exchange)));
    expect([error.code, error.status]).toEqual([Code.Unimplemented, Status.ClientError]);
    expect(error.rawMessage).toContain(
      `is ${kind}, which fetch cannot carry: use createWebSocketTransport or triple-es/node`,
    );
  });

  it("refuses methods without IDL, which need HTTP RPC", async () => {
    const { exchange } = routeGreeter();
    const call = createGrpcWebCall(exchange, codecPayload(jsonCodec), resolveUnaryOptions({}));
    const error = await failureOf(createShopClient({ call }).sayHi("Ada", "Hi"));
    expect([error.code, error.rawMessage]).toEqual([Code.Unimplemented, expect.stringContaining('"http-rpc"')]);
  });

  it("fails as an invalid argument for a message that cannot be encoded", async () => {
    const error = await failureOf(withBody("").greet("Ada" as never));
    expect([error.code, error.status]).toEqual([Code.InvalidArgument, Status.ClientError]);
  });
});

describe("a response of gRPC-Web", () => {
  it("may be cut anywhere", async () => {
    const large = envelope(greetResponse("x".repeat(300)));
    const bytes = joined(hello, large, envelope(""), trailers(`${OK}x-end: 1\r\n`));
    for (const size of [1, 2, 5, 7, 64, 1000]) {
      const chunks = Array.from({ length: Math.ceil(bytes.length / size) }, (_, i) =>
        bytes.subarray(i * size, (i + 1) * size),
      );
      const seen = new Metadata();
      const messages = withBody(chunks).greetEach({}, { onTrailers: (fields) => seen.appendAll(fields) });
      expect(await greetings(messages)).toEqual(["Hello!", "x".repeat(300), ""]);
      expect([...seen]).toEqual([["x-end", "1"]]);
    }
  });

  it("may have empty chunks anywhere", async () => {
    const empty = new Uint8Array(0);
    const seen = new Metadata();
    const chunks = [empty, hello, empty, trailers(`${OK}x-end: 1\r\n`), empty];
    await greetings(withBody(chunks).greetEach({}, { onTrailers: (fields) => seen.appendAll(fields) }));
    expect([...seen]).toEqual([["x-end", "1"]]);
  });

  it.each([
    ["with no space after colons", "grpc-status:5\r\ngrpc-message:gone\r\nx-why:a:b\r\n"],
    ["with capitals", "Grpc-Status: 5\r\nGrpc-Message: gone\r\nX-Why: a:b\r\n"],
    ["with bare line feeds, and none at the end", "grpc-status: 5\ngrpc-message: gone\nx-why: a:b"],
  ])("may have trailers %s", async (_, text) => {
    const error = await failureOf(withBody(trailers(text)).greet({}));
    expect([error.code, error.rawMessage, error.trailers.get("x-why")]).toEqual([Code.NotFound, "gone", "a:b"]);
  });

  it("may have its trailers among its headers, if it has no body", async () => {
    const headers = { ...TYPE, "grpc-status": "5", "grpc-message": "gone", "x-why": "so" };
    for (const call of [answered({ headers }).greet({}), answered({ headers }).greetEach({})]) {
      const error = await failureOf(call);
      expect([error.code, error.rawMessage, error.trailers.get("x-why")]).toEqual([Code.NotFound, "gone", "so"]);
    }
  });

  it.each<[string, Bytes, Code, string]>([
    ["no trailers", hello, Code.Internal, "ended without grpc-status"],
    ["trailers without a status", joined(hello, trailers("x: 1\r\n")), Code.Internal, "ended without grpc-status"],
    ["trailers that are cut off", joined(hello, trailers(OK).subarray(0, 9)), Code.Internal, "middle of a frame"],
    ["a message that is cut off", hello.subarray(0, 8), Code.Internal, "middle of a frame"],
    ["a prefix that is cut off", hello.subarray(0, 3), Code.Internal, "middle of a frame"],
    ["bytes after its trailers", joined(hello, trailers(OK), hello), Code.Internal, "goes on after its trailers"],
    ["bytes in a chunk after its trailers", [hello, trailers(OK), hello], Code.Internal, "goes on after its trailers"],
    ["compressed trailers", joined(hello, envelope(OK, 0x81)), Code.Internal, "flags 0x81"],
    ["trailers of a megabyte", joined(hello, trailers("x".repeat(1 << 20))), Code.Internal, "1048576 bytes"],
    ["flags that are unknown", joined(envelope("", 2), trailers(OK)), Code.Internal, "unknown flags 0x2"],
    ["a compressed message", joined(envelope("", 1), trailers(OK)), Code.Internal, "marked as compressed"],
    ["no message", trailers(OK), Code.Unimplemented, "none was received"],
    ["two messages", joined(hello, hello, trailers(OK)), Code.Unimplemented, "more than one was received"],
    ["a message that cannot be decoded", joined(envelope("\xff"), trailers(OK)), Code.Internal, "cannot be decoded as"],
    ["an empty body", "", Code.Internal, "ended without grpc-status"],
  ])("with %s fails", async (_, body, code, message) => {
    const error = await failureOf(withBody(body).greet({}));
    expect([error.code, error.rawMessage]).toEqual([code, expect.stringContaining(message)]);
    expect(error.status).toBe(message.includes("received") ? error.status : Status.BadResponse);
  });

  it("yields the messages and then the error if it has both", async () => {
    const seen: string[] = [];
    const client = withBody(joined(hello, trailers("grpc-status: 10\r\n")));
    const error = await failureOf(
      (async () => {
        for await (const { greeting } of client.greetEach({})) seen.push(greeting);
      })(),
    );
    expect([seen, error.code]).toEqual([["Hello!"], Code.Aborted]);
  });

  it.each<[string, GivenResponse, Code]>([
    ["a page of a proxy", { status: 502, headers: { "content-type": "text/html" } }, Code.Unavailable],
    ["a status without a body", { status: 404, headers: {} }, Code.Unimplemented],
    ["plain gRPC, whose trailers are lost", { headers: { "content-type": "application/grpc+proto" } }, Code.Unknown],
    ["text, which was not asked for", { headers: { "content-type": "application/grpc-web-text" } }, Code.Unknown],
    ["another codec", { headers: { "content-type": "application/grpc-web+json" } }, Code.Internal],
    ["an HTTP status that says no", { status: 503 }, Code.Unavailable],
  ])("that is %s fails", async (_, given, code) => {
    const error = await failureOf(answered(given).greet({}));
    expect([error.code, error.status]).toEqual([code, Status.BadResponse]);
  });

  it("has the requested codec in bare application/grpc-web", async () => {
    const headers = { "content-type": "application/grpc-web; charset=x" };
    expect((await answered({ headers, body: joined(hello, trailers(OK)) }).greet({})).greeting).toBe("Hello!");
  });

  it("has messages of a limited size, refused by their prefix", async () => {
    const prefix = envelope(new Uint8Array(100)).subarray(0, 6);
    const error = await failureOf(answered({ body: [prefix, trailers(OK)] }, { maxMessageBytes: 99 }).greetEach({}));
    expect([error.code, error.rawMessage]).toEqual([Code.ResourceExhausted, expect.stringContaining("100 bytes")]);
  });

  it("fails with the reason if it is cut off before its status", async () => {
    const lost = new RpcError(Code.Unavailable, "the network is gone");
    const broken = (chunks: Uint8Array[]): HttpResponse => ({
      ...response({ headers: TYPE }),
      body: streamBody(
        (async function* () {
          yield* chunks;
          throw lost;
        })(),
      ),
    });
    const early = await failureOf(connect(async () => broken([hello])).greetEach({}));
    expect([early.code, early.rawMessage, early.status]).toEqual([
      Code.Unavailable,
      "the network is gone",
      Status.ChannelInactive,
    ]);
    const late = await failureOf(connect(async () => broken([trailers("grpc-status: 7\r\n")])).greetEach({}));
    expect(late.code).toBe(Code.PermissionDenied);
  });

  it("is the same for messages created with create", async () => {
    const client = withBody(joined(hello, trailers(OK)));
    expect((await client.greet(create(GreetRequestSchema, { name: "Ada" }))).greeting).toBe("Hello!");
  });
});
