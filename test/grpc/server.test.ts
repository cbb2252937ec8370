/** The server of sub-protocol B: the requests that it accepts, and its responses and errors. */
import { Code, jsonCodec, type RouterOptions, RpcError } from "triple-es";
import { gzip, nodeCompressions } from "triple-es/node";
import { describe, expect, it } from "vitest";
import { encodeEnvelope } from "../../runtime/src/grpc/envelope.ts";
import type { HttpResponse } from "../../runtime/src/http/exchange.ts";
import { readEnvelopes } from "../support/envelopes.ts";
import {
  envelope,
  type Fields,
  type GivenRequest,
  greetRequest,
  greetResponse,
  grpcRequest,
  joined,
  routeGreeter,
  textOf,
} from "../support/greeter.ts";
import { greeter } from "../support/server.ts";

const { exchange } = routeGreeter({}, { compressions: nodeCompressions, compressMinBytes: 10 });
const path = (method: string): string => `/greet.v1.GreetService/${method}`;
const named = (name: string): Uint8Array => envelope(greetRequest(name));

/** Returns the messages and the trailers of a response, including a trailers-only response. */
async function outcome(answer: HttpResponse): Promise<{ status?: string; message?: string; greetings: string[] }> {
  const greetings: string[] = [];
  for await (const { data } of readEnvelopes(answer.body, 1e6))
    greetings.push(new TextDecoder().decode(data.subarray(2)));
  const end = answer.trailers.has("grpc-status") ? answer.trailers : answer.headers;
  const [status, message] = [end.get("grpc-status"), end.get("grpc-message")];
  return { ...(status && { status }), ...(message && { message: decodeURIComponent(message) }), greetings };
}

const call = async (given: GivenRequest, send = exchange): ReturnType<typeof outcome> =>
  outcome(await send(grpcRequest(given)));

describe("a call", () => {
  it("is answered with headers, an envelope and trailers", async () => {
    const answer = await exchange(grpcRequest());
    expect(answer.status).toBe(200);
    expect([...answer.headers]).toEqual([["content-type", "application/grpc+proto"]]);
    expect([...(await answer.body.bytes(100))]).toEqual([...envelope(greetResponse("Hello, Ada!"))]);
    expect([...answer.trailers]).toEqual([["grpc-status", "0"]]);
  });

  it("has its complete response at once if it is unary", async () => {
    expect((await exchange(grpcRequest())).body.whole).toBeInstanceOf(Uint8Array);
  });

  it.each<[string, Uint8Array, string[]]>([
    ["GreetEach", envelope(joined(greetRequest("Ada"), greetRequest("Bob"))), ["Hello, Ada!", "Hello, Bob!"]],
    ["GreetTogether", joined(named("Ada"), named("Bob")), ["Hello, Ada and Bob!"]],
    ["GreetOnArrival", joined(named("Ada"), named("Bob")), ["Hello, Ada!", "Hello, Bob!"]],
    ["GreetOnArrival", new Uint8Array(0), []],
  ])("of %s returns its messages", async (method, body, greetings) => {
    expect(await call({ path: path(method), body })).toEqual({ status: "0", greetings });
  });

  it("may have an empty message", async () => {
    expect(await call({ body: envelope("") })).toEqual({ status: "0", greetings: ["Hello, !"] });
  });

  it("passes the metadata of Dubbo to the handler, and ignores unknown headers", async () => {
    const seen: Fields[] = [];
    const { exchange } = routeGreeter({
      greet: (request, context) => {
        seen.push(Object.fromEntries(context.requestHeaders));
        return greeter.greet(request, context);
      },
    });
    const headers = {
      timeout: "3000",
      interface: "greet.v1.GreetService",
      token: "t",
      "tri-consumer-appname": "demo",
      "tri-header-convert": "%7B%7D",
      authorization: "Bearer x",
      "grpc-accept-encoding": "bzip2,gzip,snappy",
    };
    expect(await call({ headers }, exchange)).toMatchObject({ status: "0" });
    expect(seen).toEqual([expect.objectContaining(headers)]);
  });
});

describe("the content type", () => {
  it.each([
    ["application/grpc", "application/grpc"],
    ["application/grpc+proto", "application/grpc+proto"],
    ["application/grpc; charset=utf-8", "application/grpc+proto"],
    ["application/grpc+proto;x=y", "application/grpc+proto"],
    ["Application/GRPC+Proto", "application/grpc+proto"],
  ])("%s is binary, answered as %s", async (type, answered) => {
    const answer = await exchange(grpcRequest({ headers: { "content-type": type } }));
    expect(answer.headers.get("content-type")).toBe(answered);
    expect(answer.trailers.get("grpc-status")).toBe("0");
  });

  it("application/grpc+json is JSON, and so is the answer", async () => {
    const headers = { "content-type": "application/grpc+json" };
    const answer = await exchange(grpcRequest({ headers, body: envelope('{"name":"Ada"}') }));
    expect(answer.headers.get("content-type")).toBe("application/grpc+json");
    expect((await textOf(answer)).slice(5)).toBe('{"greeting":"Hello, Ada!"}');
  });

  it.each(["application/grpc+thrift", "application/grpc+", "application/grpc +proto"])(
    "%j is unsupported media, in plain HTTP",
    async (type) => {
      const answer = await exchange(grpcRequest({ headers: { "content-type": type } }));
      expect([answer.status, answer.headers.has("grpc-status")]).toEqual([415, false]);
      expect(answer.headers.get("accept-post")).toContain("application/grpc");
    },
  );

  it("a long content type is shortened in the error", async () => {
    const answer = await exchange(
      grpcRequest({ headers: { "content-type": `application/grpc+${"x".repeat(8_000)}` } }),
    );
    expect(answer.status).toBe(415);
    expect((await textOf(answer)).length).toBeLessThan(300);
  });

  it("application/grpc alone is unsupported without a codec for proto", async () => {
    const { exchange } = routeGreeter({}, { codecs: [jsonCodec] });
    for (const type of ["application/grpc", "application/grpc+proto"]) {
      const answer = await exchange(grpcRequest({ headers: { "content-type": type } }));
      expect([answer.status, answer.headers.get("accept-post")]).toEqual([415, "application/grpc+json"]);
    }
  });

  it("is repeated in an answer without messages", async () => {
    const headers = { "content-type": "application/grpc" };
    const answer = await exchange(grpcRequest({ headers, path: path("Nothing") }));
    expect(answer.headers.getAll("content-type")).toEqual(["application/grpc"]);
  });
});

describe("a request that is not gRPC's", () => {
  it("over HTTP/1.1 is answered with 505", async () => {
    expect((await exchange(grpcRequest({ version: "1.1" }))).status).toBe(505);
  });

  it.each(["GET", "PUT", "OPTIONS"])("with the method %s is answered with 405", async (method) => {
    const answer = await exchange(grpcRequest({ method }));
    expect([answer.status, answer.headers.get("allow")]).toEqual([405, "POST"]);
  });
});

describe("a failure without messages", () => {
  it("is one set of headers with HTTP status 200", async () => {
    const { exchange } = routeGreeter({ greet: () => Promise.reject(new RpcError(Code.NotFound, "größer")) });
    const answer = await exchange(grpcRequest());
    expect(answer.status).toBe(200);
    expect([...answer.headers]).toEqual([
      ["content-type", "application/grpc+proto"],
      ["grpc-status", "5"],
      ["grpc-message", "gr%C3%B6%C3%9Fer"],
    ]);
    expect([answer.body.whole?.byteLength, answer.trailers.size]).toEqual([0, 0]);
  });

  it.each<[string, GivenRequest, Code, string]>([
    ["an unknown method", { path: path("Nothing") }, Code.Unimplemented, "no method is served at"],
    ["an unknown service", { path: "/nothing/Greet" }, Code.Unimplemented, "no method is served at"],
    ["another version", { headers: { "tri-service-version": "2" } }, Code.Unimplemented, "version"],
    ["another group", { headers: { "tri-service-group": "g" } }, Code.Unimplemented, "group"],
    ["no message", { body: "" }, Code.Unimplemented, "none"],
    ["two messages", { body: joined(named("Ada"), named("Bob")) }, Code.Unimplemented, "more than one"],
    ["no message to a stream", { path: path("GreetEach"), body: "" }, Code.Unimplemented, "none"],
    [
      "two messages to a stream of the server",
      { path: path("GreetEach"), body: joined(named("Ada"), named("Bob")) },
      Code.Unimplemented,
      "more than one",
    ],
    ["half a message", { body: named("Ada").subarray(0, 7) }, Code.Internal, "middle"],
    ["a message that cannot be decoded", { body: envelope(Uint8Array.of(0x0a, 0xff)) }, Code.Internal, "decoded"],
    ["unknown flags", { body: envelope(greetRequest("Ada"), 2) }, Code.Internal, "flags"],
    ["a compressed message without an encoding", { body: envelope("x", 1) }, Code.Internal, "grpc-encoding"],
    [
      "a compressed message with identity",
      { body: envelope("x", 1), headers: { "grpc-encoding": "identity" } },
      Code.Internal,
      "grpc-encoding",
    ],
    [
      "a message that is not in its encoding",
      { body: envelope("x", 1), headers: { "grpc-encoding": "gzip" } },
      Code.Internal,
      "gzip",
    ],
    ["an unknown encoding", { headers: { "grpc-encoding": "snappy" } }, Code.Unimplemented, "snappy"],
    ["bytes that are no base64", { headers: { "trace-bin": "*" } }, Code.InvalidArgument, "trace-bin"],
    ["headers that are too large", { headers: { big: "x".repeat(17_000) } }, Code.ResourceExhausted, "16384"],
  ])("%s", async (_what, given, code, message) => {
    const answer = await exchange(grpcRequest(given));
    expect([answer.status, answer.headers.get("content-type")]).toEqual([200, "application/grpc+proto"]);
    expect(await outcome(answer)).toEqual({
      status: String(code),
      message: expect.stringContaining(message),
      greetings: [],
    });
  });

  it("names the supported encodings if the encoding is unknown", async () => {
    const answer = await exchange(grpcRequest({ headers: { "grpc-encoding": "snappy" } }));
    expect(answer.headers.get("grpc-accept-encoding")).toBe(nodeCompressions.map(({ name }) => name).join(","));
  });

  it.each(["Greet", "GreetTogether"])("is resource_exhausted for a message over the limit: %s", async (method) => {
    const { exchange } = routeGreeter({}, { maxMessageBytes: 10 });
    expect(await call({ path: path(method), body: named("Ada") }, exchange)).toMatchObject({ status: "0" });
    expect(await call({ path: path(method), body: named("a".repeat(9)) }, exchange)).toMatchObject({
      status: "8",
      message: expect.stringContaining("the limit of 10 bytes (option maxMessageBytes"),
    });
  });

  it("is hidden and reported once if an interceptor throws, as for a handler", async () => {
    const secret = new Error("password is 1234");
    const { exchange, errors } = routeGreeter({}, { interceptors: [() => () => Promise.reject(secret)] });
    expect(await call({}, exchange)).toEqual({
      status: "2",
      message: "the service failed to handle the call",
      greetings: [],
    });
    expect(errors).toEqual([secret]);
  });
});

describe("a failure after messages", () => {
  it("is reported in the trailers", async () => {
    const { exchange } = routeGreeter({
      async *greetEach() {
        yield { greeting: "a" };
        throw new RpcError(Code.DataLoss, "lost", { trailers: { why: "fire" } });
      },
    });
    const answer = await exchange(grpcRequest({ path: path("GreetEach") }));
    expect(await outcome(answer)).toEqual({ status: "15", message: "lost", greetings: ["a"] });
    expect(answer.trailers.get("why")).toBe("fire");
    expect(answer.headers.has("grpc-status")).toBe(false);
  });

  it("is reported in the same way for a later request", async () => {
    const body = joined(named("Ada"), envelope(greetRequest("Bob"), 7));
    expect(await call({ path: path("GreetOnArrival"), body })).toEqual({
      status: "13",
      message: expect.stringContaining("flags"),
      greetings: ["Hello, Ada!"],
    });
  });
});

describe("compression", () => {
  const compressed = async (name: string): Promise<Uint8Array> =>
    encodeEnvelope(await gzip.compress(greetRequest(name)), 1);

  it("is read, message by message", async () => {
    const headers = { "grpc-encoding": "gzip" };
    expect(await call({ headers, body: await compressed("Ada") })).toEqual({ status: "0", greetings: ["Hello, Ada!"] });
    const body = joined(await compressed("Ada"), named("Bob"));
    expect(await call({ path: path("GreetTogether"), headers, body })).toEqual({
      status: "0",
      greetings: ["Hello, Ada and Bob!"],
    });
  });

  it.each([
    ["gzip", "gzip"],
    ["bzip2,gzip,snappy", "gzip"],
    ["snappy,br", "br"],
    ["snappy", undefined],
    ["identity", undefined],
    [undefined, undefined],
  ])("is used if the client accepts it: %s", async (accepted, chosen) => {
    for (const method of ["Greet", "GreetOnArrival"]) {
      const answer = await exchange(grpcRequest({ path: path(method), headers: { "grpc-accept-encoding": accepted } }));
      expect(answer.headers.get("grpc-encoding")).toBe(chosen);
      expect((await answer.body.bytes(100))[0]).toBe(chosen === undefined ? 0 : 1);
    }
  });

  it("leaves small messages as they are", async () => {
    const { exchange } = routeGreeter({}, { compressions: [gzip], compressMinBytes: 1000 });
    const answer = await exchange(grpcRequest({ headers: { "grpc-accept-encoding": "gzip" } }));
    expect((await answer.body.bytes(100))[0]).toBe(0);
  });

  it("does not inflate beyond the limit", async () => {
    const { exchange } = routeGreeter({}, { compressions: [gzip], maxMessageBytes: 10_000 });
    const headers = { "grpc-encoding": "gzip" };
    const body = await compressed("a".repeat(1_000_000));
    expect(body.byteLength).toBeLessThan(10_000);
    expect(await call({ headers, body }, exchange)).toMatchObject({
      status: "8",
      message: expect.stringMatching(
        `^message of ${body.byteLength - 5} bytes inflates to more than the limit of 10000`,
      ),
    });
  });
});

describe("te: trailers", () => {
  const status = async (te: string | undefined, options: RouterOptions = {}) =>
    (await call({ headers: { te } }, routeGreeter({}, options).exchange)).status;

  it("may be absent, as with some peers", async () => {
    expect(await status(undefined)).toBe("0");
    expect(await status("deflate")).toBe("0");
  });

  it("can be required", async () => {
    const options = { requireTe: true };
    expect(await status("trailers", options)).toBe("0");
    expect(await status("deflate, Trailers;q=1", options)).toBe("0");
    expect(await status(undefined, options)).toBe(String(Code.InvalidArgument));
    expect(await status("nottrailers", options)).toBe(String(Code.InvalidArgument));
    const answer = await routeGreeter({}, options).exchange(grpcRequest({ headers: { te: undefined } }));
    expect(answer.headers.get("grpc-message")).toContain("te: trailers is missing");
  });
});
