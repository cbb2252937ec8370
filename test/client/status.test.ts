/**
 * `RpcError.status` of errors that a client makes itself: 30, 35, 50 and 90 of the specification, in both
 * sub-protocols. That of an error of the server is the one received.
 */
import { Code, createInMemoryTransport, createRouter, RpcError, Status } from "triple-es";
import { describe, expect, it } from "vitest";
import {
  createGreetServiceClient,
  type GreetServiceClient,
  GreetServiceDef,
} from "../../examples/gen/greet/v1/greet_triple.ts";
import { createGrpcClient } from "../../runtime/src/grpc/client.ts";
import { streamBody } from "../../runtime/src/http/body.ts";
import type { Exchange, HttpResponse } from "../../runtime/src/http/exchange.ts";
import { createHttpRpcClient } from "../../runtime/src/http-rpc/client.ts";
import type { ClientProtocol } from "../../runtime/src/protocol/protocol.ts";
import { envelope, type GivenResponse, greetResponse, response, wireClient } from "../support/greeter.ts";
import { arriving, connectGreeter, failureOf, greeter, openTransport, startServer } from "../support/server.ts";

type Options = Parameters<GreetServiceClient["greet"]>[1];
const CALLS = {
  greet: (client: GreetServiceClient, options?: Options) => client.greet({}, options),
  greetEach: (client: GreetServiceClient, options?: Options) => client.greetEach({}, options),
  greetTogether: (client: GreetServiceClient, options?: Options) => client.greetTogether(arriving("Ada"), options),
  greetOnArrival: (client: GreetServiceClient, options?: Options) => client.greetOnArrival(arriving("Ada"), options),
};
const WAYS: readonly (readonly [protocol: "grpc" | "http-rpc", kind: keyof typeof CALLS])[] = [
  ["http-rpc", "greet"],
  ["grpc", "greet"],
  ["grpc", "greetEach"],
  ["grpc", "greetTogether"],
  ["grpc", "greetOnArrival"],
];
const CLIENTS: Record<"grpc" | "http-rpc", ClientProtocol> = {
  grpc: createGrpcClient,
  "http-rpc": createHttpRpcClient,
};

describe.each(WAYS)("the status of an error over %s, %s,", (protocol, kind) => {
  const fail = (answer: HttpResponse | Exchange, options = {}, callOptions: Options = {}): Promise<RpcError> =>
    failureOf(CALLS[kind](wireClient(CLIENTS[protocol], answer, options).client, callOptions));

  it("is 35 if the connection fails", async () => {
    const client = connectGreeter("http://127.0.0.1:9", { protocol });
    expect(await failureOf(CALLS[kind](client))).toMatchObject({
      code: Code.Unavailable,
      status: Status.ChannelInactive,
    });
  });

  it("is 35 if the transport is closed", async () => {
    const transport = openTransport("http://127.0.0.1:9", { protocol });
    await transport.close();
    const client = createGreetServiceClient(transport);
    expect(await failureOf(CALLS[kind](client))).toMatchObject({ status: Status.ChannelInactive });
  });

  it("is 30 if the deadline passes", async () => {
    const error = await fail(() => new Promise(() => {}), {}, { timeoutMs: 5 });
    expect(error).toMatchObject({ code: Code.DeadlineExceeded, status: Status.ClientTimeout });
  });

  it("is 90 if the call is cancelled after the response has begun", async () => {
    const cancel = (): Promise<never> => Promise.reject(new DOMException("", "AbortError"));
    const body = streamBody({ [Symbol.asyncIterator]: () => ({ next: cancel }) });
    const error = await fail({ ...response({ headers: { "content-type": type } }), body });
    expect(error).toMatchObject({ code: Code.Canceled, status: Status.ClientError });
  });

  const type = protocol === "grpc" ? "application/grpc+proto" : "application/proto";
  const trailers = { "grpc-status": "0" };
  const framed = (bytes: Uint8Array): Uint8Array => (protocol === "grpc" ? envelope(bytes) : bytes);
  it.each<[string, () => HttpResponse, object?]>([
    [
      "cannot be decoded",
      () => response({ headers: { "content-type": type }, body: framed(Uint8Array.of(0xff)), trailers }),
    ],
    ["has another content type", () => response({ headers: { "content-type": "text/html" }, body: "<html>" })],
    [
      "is too large",
      () => response({ headers: { "content-type": type }, body: framed(greetResponse("x".repeat(100))), trailers }),
      { maxMessageBytes: 50 },
    ],
  ])("is 50 if the response %s", async (_, answer, options) => {
    expect((await fail(answer(), options)).status).toBe(Status.BadResponse);
  });

  it.runIf(protocol === "grpc").each<[string, GivenResponse]>([
    ["has no grpc-status", { body: envelope(greetResponse("x")) }],
    ["has an envelope with unknown flags", { body: envelope(greetResponse("x"), 8), trailers }],
    ["is compressed without an encoding", { body: envelope(greetResponse("x"), 1), trailers }],
    ["ends in the middle of an envelope", { body: envelope(greetResponse("x")).subarray(0, 6), trailers }],
    ["has an unknown encoding", { headers: { "grpc-encoding": "lzw" }, body: envelope(greetResponse("x")), trailers }],
  ])("is 50 if the response %s", async (_, { headers, ...given }) => {
    const answer = response({ ...given, headers: { "content-type": type, ...headers } });
    expect((await fail(answer)).status).toBe(Status.BadResponse);
  });

  it("is 90 if the caller's metadata is reserved", async () => {
    const error = await fail(response(), {}, { headers: { host: "example.com" } });
    expect(error).toMatchObject({ code: Code.InvalidArgument, status: Status.ClientError });
  });

  it("is the server's if the server failed", async () => {
    const refuse = (): never => {
      throw new RpcError(Code.Unavailable, "come back later");
    };
    const { baseUrl } = await startServer({
      greet: refuse,
      greetEach: refuse,
      greetTogether: refuse,
      greetOnArrival: refuse,
    });
    const error = await failureOf(CALLS[kind](connectGreeter(baseUrl, { protocol })));
    expect(error).toMatchObject({
      code: Code.Unavailable,
      status: protocol === "grpc" ? undefined : Status.ServiceError,
    });
  });
});

describe("a call without a message", () => {
  const router = createRouter().add(GreetServiceDef, greeter);
  const cases = (["grpc", "http-rpc"] as const).flatMap((protocol) =>
    (["proto", "json"] as const).flatMap((codec) =>
      [undefined, null, 5, "text", []].map((message) => [message, protocol, codec] as const),
    ),
  );
  it.each(cases)("is the caller's mistake: %j, %s, %s", async (message, protocol, codec) => {
    const client = createGreetServiceClient(createInMemoryTransport(router, { protocol, codec }));
    const error = await failureOf(client.greet(message as never));
    expect(error).toMatchObject({ code: Code.InvalidArgument, status: Status.ClientError });
    expect(error.rawMessage).toMatch(/^a message of type greet\.v1\.GreetRequest must be an object, not /);
  });

  it("is the caller's mistake in streams", async () => {
    const client = connectGreeter((await startServer()).baseUrl);
    async function* nothing(): AsyncGenerator<never, void> {
      yield undefined as never;
    }
    const calls = [
      client.greetEach(undefined as never),
      client.greetTogether(nothing()),
      client.greetOnArrival(nothing()),
    ];
    for (const call of calls) {
      expect(await failureOf(call)).toMatchObject({ code: Code.InvalidArgument, status: Status.ClientError });
    }
  });
});
