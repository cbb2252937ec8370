/** The client of sub-protocol B: its requests, and its results for the responses of other servers. */
import { Code, type Interceptor, jsonCodec, protoCodec, RpcError } from "triple-es";
import { gzip, nodeCompressions } from "triple-es/node";
import { describe, expect, it, vi } from "vitest";
import { createGreetServiceClient } from "../../examples/gen/greet/v1/greet_triple.ts";
import { intercept } from "../../runtime/src/call/call.ts";
import type { CallOptions } from "../../runtime/src/client/client.ts";
import { createGrpcClient } from "../../runtime/src/grpc/client.ts";
import { streamBody } from "../../runtime/src/http/body.ts";
import type { Exchange, HttpResponse } from "../../runtime/src/http/exchange.ts";
import { type ClientProtocolOptions, resolveClientOptions } from "../../runtime/src/protocol/options.ts";
import {
  envelope,
  type Fields,
  type GivenResponse,
  greetRequest,
  greetResponse,
  joined,
  response,
  type WiredClient,
  wireClient,
} from "../support/greeter.ts";
import { arriving, failureOf, greetings } from "../support/server.ts";

const hi = envelope(greetResponse("Hi"));
const headers: Fields = { "content-type": "application/grpc+proto" };
const trailers: Fields = { "grpc-status": "0" };
const ok = (given: GivenResponse = {}): HttpResponse => response({ headers, body: hi, trailers, ...given });

const wire = (answer: HttpResponse | Exchange, options: Partial<ClientProtocolOptions> = {}): WiredClient =>
  wireClient(createGrpcClient, answer, options);

/** Returns the error with which both a unary and a streaming call fail for a response. */
async function failure(given: GivenResponse, options: Partial<ClientProtocolOptions> = {}): Promise<RpcError> {
  const unary = await failureOf(wire(response(given), options).client.greet({}));
  const stream = await failureOf(wire(response(given), options).client.greetEach({}));
  expect(stream.code).toBe(unary.code);
  return unary;
}

it.each([0, 1, 2])("cancels the body of a stream whose reader leaves after %i messages", async (count) => {
  const cancelled = vi.fn(async () => ({ done: true as const, value: undefined }));
  const chunks: AsyncIterable<Uint8Array> = {
    [Symbol.asyncIterator]: () => ({ next: async () => ({ done: false, value: hi }), return: cancelled }),
  };
  const options = resolveClientOptions({ codec: protoCodec, compressions: [] });
  const call = createGrpcClient(async () => ({ ...ok(), body: streamBody(chunks) }), options);
  const leaves: Interceptor = (next) => async (request) => {
    const answer = await next(request);
    if (!answer.stream) throw new Error("not a stream");
    const messages = answer.messages[Symbol.asyncIterator]();
    for (let i = 0; i < count; i++) await messages.next();
    await messages.return?.();
    throw new RpcError(Code.Aborted, `left after ${count}`);
  };
  const client = createGreetServiceClient({ call: intercept(call, [leaves]) });
  expect((await failureOf(client.greetEach({}))).rawMessage).toBe(`left after ${count}`);
  await expect.poll(() => cancelled.mock.calls.length).toBe(1);
});

describe("a request", () => {
  it("has the headers of the specification", async () => {
    const { client, requests } = wire(ok(), { compressions: nodeCompressions, sendCompression: gzip });
    await client.greet({ name: "Ada" }, { headers: { authorization: "Bearer x" }, version: "1", group: "g" });
    const [request] = requests;
    expect(request).toMatchObject({ method: "POST", path: "/greet.v1.GreetService/Greet", version: "2" });
    expect([...(request?.headers ?? [])]).toEqual([
      ["content-type", "application/grpc+proto"],
      ["te", "trailers"],
      ["user-agent", expect.stringMatching(/^grpc-ts-triple-es\/\d+\.\d+\.\d+$/)],
      ["grpc-encoding", "gzip"],
      ["grpc-accept-encoding", nodeCompressions.map(({ name }) => name).join(",")],
      ["tri-service-version", "1"],
      ["tri-service-group", "g"],
      ["authorization", "Bearer x"],
    ]);
    expect(new Uint8Array((await request?.body.bytes(100)) ?? [])).toEqual(envelope(greetRequest("Ada")));
  });

  it("sends the user agent of the caller, once", async () => {
    const { client, requests } = wire(ok());
    await client.greet({}, { headers: { "user-agent": "inventory/2.1" } });
    expect(requests[0]?.headers.getAll("user-agent")).toEqual(["inventory/2.1"]);
  });

  it("has the remaining time as its timeout", async () => {
    const { client, requests } = wire(ok());
    await client.greet({}, { timeoutMs: 60_000 });
    expect(requests[0]?.headers.get("grpc-timeout")).toMatch(/^(?:60000|59\d{3})m$/);
  });

  it("has an envelope for each message of a stream, sent as they arrive", async () => {
    let sent: Uint8Array | undefined;
    const { client, requests } = wire(async ({ body }) => {
      sent = await body.bytes(100);
      return ok();
    });
    await client.greetTogether(arriving("Ada", "Bob"));
    expect(requests[0]?.body.whole).toBeUndefined();
    expect(sent).toEqual(joined(envelope(greetRequest("Ada")), envelope(greetRequest("Bob"))));
  });

  it.each(["content-type", "te", "grpc-timeout", "grpc-anything", "tri-service-group"])(
    "does not have %s from the user",
    async (name) => {
      const { client, requests } = wire(ok());
      const options = { headers: { [name]: "x" } };
      expect((await failureOf(client.greet({}, options))).rawMessage).toContain(name);
      expect((await failureOf(client.greetEach({}, options))).rawMessage).toContain(name);
      expect(requests).toEqual([]);
    },
  );

  it("is compressed from the minimum on", async () => {
    const { client, requests } = wire(async () => ok(), { sendCompression: gzip, compressMinBytes: 100 });
    await client.greet({ name: "Ada" });
    await client.greet({ name: "a".repeat(1000) });
    const flags = await Promise.all(requests.map(async ({ body }) => (await body.bytes(10_000))[0]));
    expect(flags).toEqual([0, 1]);
  });
});

describe("a response", () => {
  it("gives the message and the metadata", async () => {
    const seen: unknown[] = [];
    const options: CallOptions = {
      onHeaders: (fields) => seen.push([...fields]),
      onTrailers: (fields) => seen.push([...fields]),
    };
    const given = {
      headers: { ...headers, lead: "1", te: "trailers", "grpc-accept-encoding": "gzip" },
      trailers: { ...trailers, "trail-bin": "Aw==" },
    };
    expect((await wire(ok(given)).client.greet({}, options)).greeting).toBe("Hi");
    expect(await greetings(wire(ok(given)).client.greetEach({}, options))).toEqual(["Hi"]);
    const expected = [[["lead", "1"]], [["trail-bin", "Aw=="]]];
    expect(seen).toEqual([...expected, ...expected]);
  });

  it("may have the bare content type, with parameters or capitals", async () => {
    for (const type of ["application/grpc", "application/grpc;charset=utf-8", "Application/gRPC+Proto"]) {
      expect((await wire(ok({ headers: { "content-type": type } })).client.greet({})).greeting).toBe("Hi");
    }
  });

  it("may be compressed, with an encoding that was offered", async () => {
    const body = envelope(await gzip.compress(greetResponse("Hi")), 1);
    const given = ok({ headers: { ...headers, "grpc-encoding": "gzip" }, body });
    expect((await wire(given, { compressions: nodeCompressions }).client.greet({})).greeting).toBe("Hi");
    expect(await greetings(wire(given, { compressions: nodeCompressions }).client.greetEach({}))).toEqual(["Hi"]);
  });

  it("may be JSON", async () => {
    const given = ok({ headers: { "content-type": "application/grpc+json" }, body: envelope('{"greeting":"Hi"}') });
    expect((await wire(given, { codec: jsonCodec }).client.greet({})).greeting).toBe("Hi");
  });
});

describe("an error that the server reports", () => {
  it.each([200, 404, 408, 415, 500, 503])(
    "is read from headers without trailers, with HTTP status %i",
    async (status) => {
      const fields = { ...headers, "grpc-status": "2", "grpc-message": "broken", why: "fire" };
      const error = await failure({ status, headers: fields });
      expect([error.code, error.rawMessage, error.trailers.get("why")]).toEqual([Code.Unknown, "broken", "fire"]);
    },
  );

  it("is unimplemented for a 404 with unimplemented, as Dubbo for Java sends it", async () => {
    const fields = {
      "content-type": "application/grpc",
      "grpc-status": "12",
      "grpc-message": "Invoker for gRPC not found",
    };
    expect(await failure({ status: 404, headers: fields })).toMatchObject({ code: Code.Unimplemented });
  });

  it.each<[string, Fields, Code, string]>([
    ["with a message", { "grpc-status": "5", "grpc-message": "no%20such" }, Code.NotFound, "no such"],
    ["without a message", { "grpc-status": "5" }, Code.NotFound, ""],
    ["with a raw message", { "grpc-status": "5", "grpc-message": "größe 100%" }, Code.NotFound, "größe 100%"],
    [
      "with code 17",
      { "grpc-status": "17", "grpc-message": "biz" },
      Code.Unknown,
      "biz (the server sent grpc-status 17)",
    ],
    ["with no number", { "grpc-status": "abc" }, Code.Unknown, "(the server sent grpc-status abc)"],
    ["without a status", { other: "1" }, Code.Internal, "the response ended without grpc-status"],
    ["without trailers", {}, Code.Internal, "the response ended without grpc-status"],
  ])("in trailers, %s", async (_what, given, code, message) => {
    expect(await failure({ headers, body: hi, trailers: given })).toMatchObject({ code, rawMessage: message });
  });

  it("follows the messages of a stream", async () => {
    const { client } = wire(ok({ trailers: { "grpc-status": "15" } }));
    const got: string[] = [];
    const error = await failureOf(
      (async () => {
        for await (const { greeting } of client.greetEach({})) got.push(greeting);
      })(),
    );
    expect([got, error.code]).toEqual([["Hi"], Code.DataLoss]);
  });

  it.each<[string, Fields, GivenResponse["body"]]>([
    ["none", {}, ""],
    ["two messages", {}, joined(hi, hi)],
    ["half a message", {}, hi.subarray(0, 7)],
    ["half a message behind a whole one", {}, joined(hi, hi.subarray(0, 7))],
    ["unknown flags", {}, envelope("x", 4)],
    ["a message over the limit", {}, envelope(greetResponse("a".repeat(100)))],
    ["a message that cannot be decoded", {}, envelope(Uint8Array.of(0x0a, 0xff))],
    ["a message compressed without an encoding", {}, envelope("x", 1)],
    ["a message that is not what its encoding says", { "grpc-encoding": "gzip" }, envelope("x", 1)],
  ])("takes precedence in trailers over a body of %s, in every kind of call", async (_what, more, body) => {
    const given = { headers: { ...headers, ...more }, body: body ?? "", trailers: { "grpc-status": "5" } };
    const options = { maxMessageBytes: 50, compressions: nodeCompressions };
    expect((await failure(given, options)).code).toBe(Code.NotFound);
    const { client } = wire(response(given), options);
    expect((await failureOf(client.greetTogether(arriving()))).code).toBe(Code.NotFound);
  });

  it("takes precedence over errors in its body", async () => {
    const body = {
      [Symbol.asyncIterator]: () => ({ next: () => Promise.reject(new RpcError(Code.Unavailable, "reset")) }),
    };
    const codesOf = async (given: GivenResponse): Promise<Code[]> => {
      const { client } = wire({ ...ok(given), body: streamBody(body) });
      const calls = [client.greet({}), client.greetEach({}), client.greetTogether(arriving())];
      return Promise.all(calls.map(async (call) => (await failureOf(call)).code));
    };
    expect(await codesOf({ trailers: { "grpc-status": "5" } })).toEqual(Array(3).fill(Code.NotFound));
    const inHeaders = { headers: { ...headers, "grpc-status": "5" }, trailers: {} };
    expect(await codesOf(inHeaders)).toEqual(Array(3).fill(Code.NotFound));
    for (const trailers of [{}, { "grpc-status": "0" }]) {
      expect(await codesOf({ trailers })).toEqual(Array(3).fill(Code.Unavailable));
    }
  });
});

describe("a response that is not gRPC's", () => {
  it.each([
    [200, Code.Unknown],
    [400, Code.Internal],
    [401, Code.Unauthenticated],
    [403, Code.PermissionDenied],
    [404, Code.Unimplemented],
    [429, Code.Unavailable],
    [500, Code.Unknown],
    [502, Code.Unavailable],
    [503, Code.Unavailable],
    [504, Code.Unavailable],
  ])("with HTTP status %i is code %i", async (status, code) => {
    expect((await failure({ status, headers: { "content-type": "text/html" }, body: "<html>" })).code).toBe(code);
    expect((await failure({ status, headers: { "content-type": "text/html", "grpc-status": "0" } })).code).toBe(code);
    expect((await failure({ status })).code).toBe(code);
    if (status !== 200) expect((await failure({ status, headers })).code).toBe(code);
  });

  it("is cancelled without reading its body", async () => {
    const left = vi.fn();
    let asked = 0;
    const body = streamBody({
      [Symbol.asyncIterator]: () => ({
        next: async () => ({ done: false, value: Uint8Array.of(++asked) }),
        return: async () => {
          left();
          return { done: true, value: undefined };
        },
      }),
    });
    await failureOf(wire({ ...response({ status: 503 }), body }).client.greet({}));
    expect([asked, left.mock.calls.length]).toEqual([0, 1]);
  });

  it("is in a codec that was not requested", async () => {
    expect(await failure({ headers: { "content-type": "application/grpc+json" }, body: hi, trailers })).toMatchObject({
      code: Code.Internal,
      rawMessage: expect.stringContaining("application/grpc+json"),
    });
  });

  it.each<[string, GivenResponse, Code]>([
    ["an encoding that was not offered", { headers: { ...headers, "grpc-encoding": "snappy" } }, Code.Internal],
    ["compressed without an encoding", { body: envelope("x", 1) }, Code.Internal],
    ["unknown flags", { body: envelope("x", 4) }, Code.Internal],
    ["half a message", { body: hi.subarray(0, 7) }, Code.Internal],
    ["a message that cannot be decoded", { body: envelope(Uint8Array.of(0x0a, 0xff)) }, Code.Internal],
    ["a message over the limit", { body: envelope(greetResponse("a".repeat(100))) }, Code.ResourceExhausted],
  ])("has %s", async (_what, given, code) => {
    const options = { maxMessageBytes: 50, compressions: nodeCompressions };
    expect((await failure({ headers, body: hi, trailers, ...given }, options)).code).toBe(code);
  });

  it("has no message or two instead of one", async () => {
    for (const body of ["", joined(hi, hi)]) {
      expect((await failureOf(wire(ok({ body })).client.greet({}))).code).toBe(Code.Unimplemented);
      expect((await failureOf(wire(ok({ body })).client.greetTogether(arriving()))).code).toBe(Code.Unimplemented);
    }
  });
});

describe("an exchange that fails", () => {
  it.each<[string, unknown, Code]>([
    ["with an RpcError", new RpcError(Code.Unavailable, "gone"), Code.Unavailable],
    ["because it was cancelled", new DOMException("", "AbortError"), Code.Canceled],
    ["with anything else", new Error("broken"), Code.Internal],
  ])("%s fails the call", async (_what, reason, code) => {
    const { client } = wire(() => Promise.reject(reason));
    expect((await failureOf(client.greet({}))).code).toBe(code);
    expect((await failureOf(client.greetEach({}))).code).toBe(code);
  });

  it("is deadline_exceeded if the server cancelled it after the deadline", async () => {
    const { client } = wire(() => {
      // Blocks the event loop, so that the client's own timer cannot fire first.
      for (const end = performance.now() + 25; performance.now() < end; );
      return Promise.reject(new RpcError(Code.Canceled, "the stream was reset with HTTP/2 code 8"));
    });
    for (const call of [client.greet({}, { timeoutMs: 20 }), client.greetEach({}, { timeoutMs: 20 })]) {
      const error = await failureOf(call);
      expect([error.code, error.status]).toEqual([Code.DeadlineExceeded, 30]);
    }
    expect((await failureOf(client.greet({}, { timeoutMs: 60_000 }))).code).toBe(Code.Canceled);
  });
});
