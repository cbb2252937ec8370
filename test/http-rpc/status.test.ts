/** The tables of sub-protocol A: the response of a server to an error, and the error of a client for a response. */
import { create, createRegistry } from "@bufbuild/protobuf";
import { anyPack } from "@bufbuild/protobuf/wkt";
import fc from "fast-check";
import {
  Code,
  createDetail,
  findDetails,
  type Interceptor,
  Metadata,
  type RouterOptions,
  RpcError,
  Status,
} from "triple-es";
import { findDetails as findJsonDetails } from "triple-es/json";
import { describe, expect, it } from "vitest";
import { GreetRequestSchema } from "../../examples/gen/greet/v1/greet_pb.ts";
import { createHttpRpcClient } from "../../runtime/src/http-rpc/client.ts";
import { httpStatusOf } from "../../runtime/src/http-rpc/error-response.ts";
import { readErrorResponse } from "../../runtime/src/http-rpc/status.ts";
import { jsonOf, type RoutedGreeter, response, routeGreeter, rpcRequest, wireClient } from "../support/greeter.ts";
import { failureOf } from "../support/server.ts";

/** Returns the error of a client for a response. */
function failure(status: number, body: unknown): Promise<RpcError> {
  const bytes = typeof body === "string" ? body : JSON.stringify(body);
  return failureOf(wireClient(createHttpRpcClient, response({ status, body: bytes })).client.greet({}));
}

/** Returns the response to an error of a handler, and the error of a client for that response. */
async function thrown(
  error: unknown,
  options: RouterOptions = {},
): Promise<{ http: number; type: string | undefined; body: unknown; read: RpcError }> {
  const { exchange } = routeGreeter({ greet: () => Promise.reject(error) }, options);
  const answer = await exchange(rpcRequest());
  const body = await jsonOf(answer);
  return {
    http: answer.status,
    type: answer.headers.get("content-type"),
    body,
    read: await failure(answer.status, body),
  };
}

// Spec: Client-side inference of an RPC code from an HTTP status.
const INFERENCE: readonly (readonly [number, Code])[] = [
  [400, Code.InvalidArgument],
  [401, Code.Unauthenticated],
  [403, Code.PermissionDenied],
  [404, Code.Unimplemented],
  [408, Code.DeadlineExceeded],
  [409, Code.Aborted],
  [412, Code.FailedPrecondition],
  [413, Code.ResourceExhausted],
  [415, Code.Internal],
  [429, Code.Unavailable],
  [431, Code.ResourceExhausted],
  [502, Code.Unavailable],
  [503, Code.Unavailable],
  [504, Code.Unavailable],
];

describe("the code inferred from an HTTP status", () => {
  const codeOf = (http: number): Code =>
    readErrorResponse("", http, new Uint8Array(), { headers: new Metadata(), trailers: new Metadata() }).code;

  it.each(INFERENCE)("%i is code %i", async (http, code) => {
    expect(codeOf(http)).toBe(code);
    expect((await failure(http, "")).code).toBe(code);
  });

  it("is unknown for every other", () => {
    const known = new Set(INFERENCE.map(([http]) => http));
    for (let http = 100; http < 600; http++) if (!known.has(http)) expect(codeOf(http)).toBe(Code.Unknown);
  });

  it.each([201, 204, 301, 500])("is created for %i too, which is not a success", async (http) => {
    expect(await failure(http, "")).toMatchObject({
      code: Code.Unknown,
      rawMessage: `/greet.v1.GreetService/Greet answered with HTTP status ${http}`,
    });
  });
});

// The errors of handlers, with their names in the body and their HTTP statuses.
const THROWN: readonly (readonly [string, Code, number])[] = [
  ["canceled", Code.Canceled, 499],
  ["unknown", Code.Unknown, 500],
  ["invalid_argument", Code.InvalidArgument, 400],
  ["deadline_exceeded", Code.DeadlineExceeded, 408],
  ["not_found", Code.NotFound, 404],
  ["already_exists", Code.AlreadyExists, 409],
  ["permission_denied", Code.PermissionDenied, 403],
  ["resource_exhausted", Code.ResourceExhausted, 429],
  ["failed_precondition", Code.FailedPrecondition, 412],
  ["aborted", Code.Aborted, 409],
  ["out_of_range", Code.OutOfRange, 400],
  ["unimplemented", Code.Unimplemented, 404],
  ["internal", Code.Internal, 500],
  ["unavailable", Code.Unavailable, 503],
  ["data_loss", Code.DataLoss, 500],
  ["unauthenticated", Code.Unauthenticated, 401],
];

describe("an error that a handler threw", () => {
  it.each(THROWN)("%s is code %i, HTTP %i", async (name, code, http) => {
    const { read, ...answer } = await thrown(new RpcError(code, "why"));
    expect(answer).toEqual({
      http,
      type: "application/json",
      body: { status: 70, message: "why", code: name },
    });
    expect([read.code, read.rawMessage, read.status]).toEqual([code, "why", Status.ServiceError]);
  });

  it("has www-authenticate if it is 401: that of the handler or interceptor, or else Bearer", async () => {
    const refusal = (trailers = {}) => new RpcError(Code.Unauthenticated, "who are you?", { trailers });
    const fields = async ({ exchange }: RoutedGreeter) => {
      const { status, headers } = await exchange(rpcRequest());
      return [status, headers.getAll("www-authenticate")];
    };
    const plain = routeGreeter({ greet: () => Promise.reject(refusal()) });
    expect(await fields(plain)).toEqual([401, ["Bearer"]]);
    const handler = routeGreeter({
      greet: (_, { responseHeaders }) => {
        responseHeaders.set("www-authenticate", "Negotiate");
        throw refusal();
      },
    });
    expect(await fields(handler)).toEqual([401, ["Negotiate"]]);
    const basic = 'Basic realm="shop"';
    const refuse: Interceptor = () => () => Promise.reject(refusal({ "www-authenticate": basic }));
    expect(await fields(routeGreeter({}, { interceptors: [refuse] }))).toEqual([401, [basic]]);
    const headers = { "www-authenticate": basic };
    const throws = () => Promise.reject(new RpcError(Code.Unauthenticated, "who are you?", { headers }));
    expect(await fields(routeGreeter({ greet: throws }))).toEqual([401, [basic]]);
    expect(await fields(routeGreeter({}, { interceptors: [() => throws] }))).toEqual([401, [basic]]);
  });

  it("covers every code", () => {
    expect(THROWN.map(([, code]) => code)).toEqual(Object.values(Code));
  });

  it("adds details if there are any, and they survive a round trip", async () => {
    const detail = anyPack(GreetRequestSchema, create(GreetRequestSchema, { name: "Ada" }));
    const { body, read } = await thrown(new RpcError(Code.InvalidArgument, "x", { details: [detail] }));
    expect(body).toEqual({
      status: 70,
      message: "x",
      code: "invalid_argument",
      details: [{ type: "greet.v1.GreetRequest", value: "CgNBZGE" }],
    });
    expect(findDetails(read, GreetRequestSchema)).toMatchObject([{ name: "Ada" }]);
  });

  it("has details as JSON if they were created from a message, or if the registry has their types", async () => {
    const created = createDetail(GreetRequestSchema, { name: "Ada" });
    const packed = anyPack(GreetRequestSchema, create(GreetRequestSchema, { name: "Bob" }));
    const broken = { typeUrl: packed.typeUrl, value: Uint8Array.of(0xff) };
    const error = new RpcError(Code.InvalidArgument, "x", { details: [created, packed, broken] });
    const { read } = await thrown(error, { registry: createRegistry(GreetRequestSchema) });
    expect(read.details.map(({ debug }) => debug)).toEqual([{ name: "Ada" }, { name: "Bob" }, undefined]);
    expect(findJsonDetails(read, "greet.v1.GreetRequest")).toEqual([{ name: "Ada" }, { name: "Bob" }]);
    expect(findJsonDetails(read, "v1.GreetRequest")).toEqual([]);
    expect(findDetails(read, GreetRequestSchema).map(({ name }) => name)).toEqual(["Ada", "Bob"]);
  });

  it("may have a message in any script, or none", async () => {
    expect((await thrown(new RpcError(Code.Unknown, "größer 日本 😀\n"))).read.rawMessage).toBe("größer 日本 😀\n");
    expect((await thrown(new RpcError(Code.Unknown, ""))).body).toEqual({ status: 70, message: "", code: "unknown" });
  });

  it.each([{ code: 99 }, { code: "ENOENT" }, { status: 99 }])("is 500 if JavaScript has given it %j", async (given) => {
    const error = Object.assign(new RpcError(Code.Internal, "broken"), given);
    expect((await thrown(error)).http).toBe(500);
  });

  it("keeps metadata that no header grammar would take, as it came from a peer", async () => {
    const { exchange } = routeGreeter({
      greet: async () => {
        const headers = { "trailer-empty": "", "trailer-latin": "é" };
        const inner = wireClient(createHttpRpcClient, response({ status: 404, headers }));
        return inner.client.greet({});
      },
    });
    const answer = await exchange(rpcRequest());
    expect([answer.status, answer.headers.get("trailer-empty")]).toEqual([404, ""]);
  });
});

// Spec: protocol error codes. Each is either set by the server's runtime or only received.
const RECEIVED: readonly (readonly [Status, number, Code])[] = [
  [Status.SerializationError, 400, Code.InvalidArgument],
  [Status.ClientTimeout, 408, Code.DeadlineExceeded],
  [Status.ServerTimeout, 408, Code.DeadlineExceeded],
  [Status.ChannelInactive, 500, Code.Unavailable],
  [Status.BadRequest, 400, Code.InvalidArgument],
  [Status.BadResponse, 500, Code.Internal],
  [Status.ServiceNotFound, 404, Code.Unimplemented],
  [Status.ServiceError, 500, Code.Unknown],
  [Status.ServerError, 500, Code.Internal],
  [Status.ClientError, 500, Code.Internal],
];

describe("a status of the specification", () => {
  it.each(RECEIVED)("%i with HTTP %i is read as code %i", async (status, http, code) => {
    expect(await failure(http, { status, message: "m" })).toMatchObject({ code, status, rawMessage: "m" });
  });

  it.each(RECEIVED.filter(([status]) => status !== Status.ServiceError))(
    "%i has HTTP %i, should a server send it",
    (status, http, code) => {
      expect(httpStatusOf(new RpcError(code, "", { status }))).toBe(http);
    },
  );

  it("covers the specification's table, of which 20 is no error", () => {
    expect([Status.Ok, ...RECEIVED.map(([status]) => status)]).toEqual(Object.values(Status));
  });

  it.each<[string, Parameters<typeof rpcRequest>[0], number, Status]>([
    ["a body that cannot be decoded", { body: "{" }, 400, Status.SerializationError],
    ["a request out of format", { headers: { "tri-service-timeout": "x" } }, 400, Status.BadRequest],
    ["an unknown method", { path: "/greet.v1.GreetService/Nothing" }, 404, Status.ServiceNotFound],
    ["an unknown service", { path: "/nothing/Greet" }, 404, Status.ServiceNotFound],
  ])("is sent for %s", async (_what, given, http, status) => {
    const answer = await routeGreeter().exchange(rpcRequest(given));
    expect(answer.status).toBe(http);
    expect(await jsonOf(answer)).toEqual({ status, message: expect.any(String), code: expect.any(String) });
  });

  it("31 is sent when the deadline passes on the server", async () => {
    const { exchange } = routeGreeter({ greet: () => new Promise(() => {}) });
    const answer = await exchange(rpcRequest({ headers: { "tri-service-timeout": "5" } }));
    expect([answer.status, await jsonOf(answer)]).toEqual([
      408,
      { status: 31, message: "the deadline of 5 ms has passed", code: "deadline_exceeded" },
    ]);
  });

  it("80 is sent when the server itself fails, with a fixed text", async () => {
    const secret = new Error("password is 1234");
    const unspeakable = {
      get greeting(): string {
        throw secret;
      },
    };
    const { exchange, errors } = routeGreeter({ greet: () => unspeakable });
    const answer = await exchange(rpcRequest());
    expect(answer.status).toBe(500);
    expect(await jsonOf(answer)).toEqual({ status: 80, message: "internal server error", code: "internal" });
    expect(errors).toEqual([secret]);
  });

  it("70 is sent when an interceptor fails, as when a handler does", async () => {
    const secret = new Error("password is 1234");
    const { exchange, errors } = routeGreeter({}, { interceptors: [() => () => Promise.reject(secret)] });
    const answer = await exchange(rpcRequest());
    expect(answer.status).toBe(500);
    expect(await jsonOf(answer)).toEqual({
      status: 70,
      message: "the service failed to handle the call",
      code: "unknown",
    });
    expect(errors).toEqual([secret]);
  });

  it("is not confused with an error that only looks like one", async () => {
    expect(await failure(503, { status: 99, message: "m" })).toMatchObject({
      code: Code.Unavailable,
      status: undefined,
    });
    expect(await failure(503, { status: 70.5 })).toMatchObject({ code: Code.Unavailable, status: undefined });
  });
});

describe("the error bodies of other implementations", () => {
  it.each<[string, number, unknown, Code, string, Status | undefined]>([
    [
      "Java: the HTTP status as text",
      404,
      { message: "Invoker not found", status: "404" },
      Code.Unimplemented,
      "Invoker not found",
      undefined,
    ],
    [
      "Java: followed by a code of the RPC",
      504,
      { message: "late", status: "504" },
      Code.Unavailable,
      "late",
      undefined,
    ],
    ["JavaScript: gRPC's number", 404, { status: 5, message: "no" }, Code.NotFound, "no", undefined],
    ["JavaScript: gRPC's last number", 500, { status: 16, message: "who" }, Code.Unauthenticated, "who", undefined],
    ["JavaScript: an unknown number", 503, { status: 19, message: "m" }, Code.Unavailable, "m", undefined],
    ["Go: the name", 500, { code: "data_loss", message: "lost" }, Code.DataLoss, "lost", undefined],
    ["Go: gRPC's spelling", 500, { code: "CANCELLED", message: "m" }, Code.Canceled, "m", undefined],
    ["Go: a business error", 500, { code: "code_17", message: "biz" }, Code.Unknown, "biz", undefined],
    ["Go: an unknown name", 409, { code: "odd", message: "m" }, Code.Aborted, "m", undefined],
    ["the specification", 400, { status: 25, message: "bad" }, Code.InvalidArgument, "bad", Status.SerializationError],
    [
      "the specification, with a code that wins",
      404,
      { status: 70, message: "m", code: "not_found" },
      Code.NotFound,
      "m",
      Status.ServiceError,
    ],
    [
      "Dubbo: the thread pool is exhausted",
      500,
      { status: 100, message: "busy" },
      Code.ResourceExhausted,
      "busy",
      undefined,
    ],
    ["a number of HTTP", 403, { status: 500, message: "m" }, Code.PermissionDenied, "m", undefined],
  ])("%s", async (_who, http, body, code, message, status) => {
    expect(await failure(http, body)).toMatchObject({ code, rawMessage: message, status });
  });

  it.each<[string, string]>([
    ["nothing", ""],
    ["HTML", "<html><body>Bad Gateway</body></html>"],
    ["half of it", '{"status":70,"mess'],
    ["an array", "[1]"],
    ["null", "null"],
    ["a number", "7"],
    ["nothing usable", '{"status":{},"code":5,"message":[],"details":"x"}'],
  ])("%s: the HTTP status decides", async (_what, body) => {
    expect(await failure(502, body)).toMatchObject({
      code: Code.Unavailable,
      rawMessage: `/greet.v1.GreetService/Greet answered with HTTP status 502`,
      details: [],
    });
  });

  it("of any content becomes an error", async () => {
    const members = fc.record(
      { status: fc.jsonValue(), code: fc.jsonValue(), message: fc.jsonValue(), details: fc.jsonValue() },
      { requiredKeys: [] },
    );
    const body = fc.oneof(
      fc.string(),
      fc.json(),
      members.map((value) => JSON.stringify(value)),
    );
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 201, max: 599 }), body, async (http, text) => {
        const error = await failure(http, text);
        expect(Object.values(Code)).toContain(error.code);
        expect(typeof error.rawMessage).toBe("string");
      }),
    );
  });

  it("too large to be read: the HTTP status decides", async () => {
    const body = JSON.stringify({ status: 5, message: "x".repeat(100_000) });
    expect(await failure(503, body)).toMatchObject({ code: Code.Unavailable });
  });

  it("details are read padded and unpadded, and omitted if they are malformed", async () => {
    const type = "greet.v1.GreetRequest";
    const details = [
      { type, value: "CgJBYg==" },
      { type, value: "CgJBYg" },
      // The name is "?>~" in both alphabets of base64.
      { type, value: "CgM/Pn4=" },
      { type, value: "Cgg_Pn4_Pj8-fg" },
      { type, value: "*" },
      { type },
      { value: "" },
      null,
      7,
    ];
    const error = await failure(400, { message: "m", details });
    expect(findDetails(error, GreetRequestSchema).map(({ name }) => name)).toEqual(["Ab", "Ab", "?>~", "?>~?>?>~"]);
  });
});
