/** The client of sub-protocol A: its requests, the responses it accepts, and the statuses that it sets itself. */
import { Code, jsonCodec, Metadata, RpcError, Status } from "triple-es";
import { gzip, nodeCompressions } from "triple-es/node";
import { describe, expect, it } from "vitest";
import type { CallOptions } from "../../runtime/src/client/client.ts";
import type { Exchange, HttpResponse } from "../../runtime/src/http/exchange.ts";
import { createHttpRpcClient } from "../../runtime/src/http-rpc/client.ts";
import type { ClientProtocolOptions } from "../../runtime/src/protocol/options.ts";
import { type Fields, greetResponse, response, textOf, type WiredClient, wireClient } from "../support/greeter.ts";
import { arriving, failureOf } from "../support/server.ts";

const ok = (headers: Fields = {}): HttpResponse =>
  response({ headers: { "content-type": "application/proto", ...headers }, body: greetResponse("Hi") });

const wire = (answer: HttpResponse | Exchange, options: Partial<ClientProtocolOptions> = {}): WiredClient =>
  wireClient(createHttpRpcClient, answer, options);

describe("a request", () => {
  it("has the headers of the specification", async () => {
    const { client, requests } = wire(ok(), { codec: jsonCodec, compressions: nodeCompressions });
    await failureOf(
      client.greet(
        { name: "Ada" },
        { headers: { user: "Ada" }, version: "1", group: "g", timeoutMs: Number.POSITIVE_INFINITY },
      ),
    );
    const [request] = requests;
    expect(request).toMatchObject({ method: "POST", path: "/greet.v1.GreetService/Greet" });
    expect(Object.fromEntries(request?.headers ?? [])).toEqual({
      "content-type": "application/json",
      "tri-protocol-version": "1.0.0",
      "accept-encoding": nodeCompressions.map(({ name }) => name).join(", "),
      "tri-service-version": "1",
      "tri-service-group": "g",
      user: "Ada",
    });
    expect(await textOf(request as { body: HttpResponse["body"] })).toBe('[{"name":"Ada"}]');
  });

  it("has the remaining milliseconds as its timeout", async () => {
    const { client, requests } = wire(ok());
    await client.greet({}, { timeoutMs: 60_000 });
    expect(Number(requests[0]?.headers.get("tri-service-timeout"))).toBeGreaterThan(59_000);
  });

  it.each(["content-type", "tri-protocol-version", "tri-service-version", "grpc-status", "host", "te"])(
    "does not have %s from the user",
    async (name) => {
      const { client, requests } = wire(ok());
      expect(await failureOf(client.greet({}, { headers: { [name]: "x" } }))).toMatchObject({
        status: Status.ClientError,
        rawMessage: expect.stringContaining(name),
      });
      expect(requests).toEqual([]);
    },
  );

  it("is rejected for a method whose request is a stream", async () => {
    const { client, requests } = wire(ok());
    const refused = {
      code: Code.Unimplemented,
      status: Status.ClientError,
      rawMessage: expect.stringContaining("gRPC"),
    };
    expect(await failureOf(client.greetTogether(arriving()))).toMatchObject(refused);
    expect(await failureOf(client.greetOnArrival(arriving()))).toMatchObject(refused);
    expect(requests).toEqual([]);
  });
});

describe("metadata of a response", () => {
  it("is trailing with the prefix, leading without it, and excludes fields of the protocol", async () => {
    const seen: Record<string, unknown> = {};
    const options: CallOptions = {
      onHeaders: (headers) => Object.assign(seen, { headers: [...headers] }),
      onTrailers: (trailers) => Object.assign(seen, { trailers: [...trailers] }),
    };
    const fields = { lead: "1", "trailer-trail": "2", "trailer-trail-bin": "Aw", date: "now", "content-length": "4" };
    const reserved = {
      "trailer-": "3",
      "trailer-grpc-status": "5",
      "trailer-content-type": "text/html",
      "trailer-te": "6",
    };
    await wire(ok({ ...fields, ...reserved })).client.greet({}, options);
    expect(seen).toEqual({
      headers: [["lead", "1"]],
      trailers: [
        ["trail", "2"],
        ["trail-bin", "Aw"],
      ],
    });
  });

  it("is present with an error too", async () => {
    const headers = { lead: "1", "trailer-trail": "2" };
    const error = await failureOf(wire(response({ status: 404, headers })).client.greet({}));
    expect([error.headers.get("lead"), error.trailers.get("trail")]).toEqual(["1", "2"]);
  });
});

describe("the content type of an answer", () => {
  const greetWith = (type: string | undefined): Promise<unknown> =>
    wire(response({ headers: { "content-type": type }, body: greetResponse("Hi") }))
      .client.greet({})
      .then(
        ({ greeting }) => greeting,
        (error: RpcError) => error.rawMessage,
      );

  it.each([
    "application/proto",
    "Application/Proto",
    "application/protobuf",
    "application/x-protobuf",
    "application/proto; messageType=greet.v1.GreetResponse",
    "application/proto;charset=UTF-8",
    'application/proto ; Charset = "utf8"',
    "application/proto; charset=us-ascii;",
  ])("%j is that of the request", async (type) => {
    expect(await greetWith(type)).toBe("Hi");
  });

  it.each([
    undefined,
    "",
    "application/",
    "application/json",
    "application/prototype",
    "application/proto+x",
    "application/proto, application/proto",
    "application/proto; charset=utf-16",
    'application/proto; charset="iso-8859-1"',
    "text/proto",
    "x-application/proto",
    "proto",
  ])("%j is not", async (type) => {
    expect(await greetWith(type)).toMatch(
      /^\/greet\.v1\.GreetService\/Greet answered with .+, not application\/proto$/,
    );
  });
});

describe("an answer that is no answer", () => {
  it.each<[string, HttpResponse]>([
    ["in another codec", response({ headers: { "content-type": "application/json" }, body: "{}" })],
    ["of another type", response({ headers: { "content-type": "text/html" }, body: "<html>" })],
    ["without a type", response({ body: greetResponse("Hi") })],
    ["that cannot be decoded", response({ headers: { "content-type": "application/proto" }, body: "\xff" })],
    ["in an unknown encoding", ok({ "content-encoding": "lzma" })],
    ["that is not in the encoding it says", ok({ "content-encoding": "gzip" })],
  ])("%s has status 50", async (_what, answer) => {
    const error = await failureOf(wire(answer, { compressions: nodeCompressions }).client.greet({}));
    expect([error.code, error.status]).toEqual([Code.Internal, Status.BadResponse]);
  });

  it("over the limit has status 50 and is resource_exhausted", async () => {
    const error = await failureOf(wire(ok(), { maxMessageBytes: 3 }).client.greet({}));
    expect([error.code, error.status]).toEqual([Code.ResourceExhausted, Status.BadResponse]);
  });

  it("is resource_exhausted too if it inflates beyond the limit", async () => {
    const body = await gzip.compress(greetResponse("a".repeat(100_000)));
    const headers = { "content-type": "application/proto", "content-encoding": "gzip" };
    const options = { maxMessageBytes: 1000, compressions: nodeCompressions };
    const error = await failureOf(wire(response({ headers, body }), options).client.greet({}));
    expect([error.code, error.status]).toEqual([Code.ResourceExhausted, Status.BadResponse]);
  });
});

describe("a failure on this side", () => {
  it.each<[string, () => unknown, Code, Status]>([
    ["a lost connection", () => new RpcError(Code.Unavailable, "gone"), Code.Unavailable, Status.ChannelInactive],
    ["a deadline", () => new DOMException("", "TimeoutError"), Code.DeadlineExceeded, Status.ClientTimeout],
    ["a cancellation", () => new DOMException("", "AbortError"), Code.Canceled, Status.ClientError],
    ["anything else", () => new Error("broken"), Code.Internal, Status.ClientError],
  ])("%s has a separate status", async (_what, make, code, status) => {
    const error = await failureOf(wire(() => Promise.reject(make())).client.greet({}));
    expect([error.code, error.status]).toEqual([code, status]);
  });

  it("a deadline that passes while the server is silent has status 30", async () => {
    const error = await failureOf(wire(() => new Promise(() => {})).client.greet({}, { timeoutMs: 5 }));
    expect([error.code, error.status]).toEqual([Code.DeadlineExceeded, Status.ClientTimeout]);
  });

  it("a message that cannot be encoded has status 90, and nothing is sent", async () => {
    const { client, requests } = wire(ok());
    const init = {
      get name(): string {
        throw new Error("not today");
      },
    };
    expect(await failureOf(client.greet(init))).toMatchObject({
      code: Code.InvalidArgument,
      status: Status.ClientError,
    });
    expect(requests).toEqual([]);
  });

  it("keeps its cause", async () => {
    const cause = new Error("broken");
    expect((await failureOf(wire(() => Promise.reject(cause)).client.greet({}))).cause).toBe(cause);
  });
});

it("an error of the server is not changed to one of this side", async () => {
  const answer = response({ status: 503, body: '{"status":70,"message":"later"}' });
  const error = await failureOf(wire(answer).client.greet({}));
  expect([error.code, error.status, error.rawMessage]).toEqual([Code.Unavailable, Status.ServiceError, "later"]);
});

it("frozen metadata can be shared by calls", async () => {
  const shared = new Metadata({ user: "Ada" }).freeze();
  const { client, requests } = wire(async () => ok());
  await client.greet({}, { headers: shared });
  await client.greet({}, { headers: shared });
  expect(requests.map(({ headers }) => headers.getAll("user"))).toEqual([["Ada"], ["Ada"]]);
});
