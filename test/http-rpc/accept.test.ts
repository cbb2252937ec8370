/** Clients that request another type of response, or name the type of their messages. */
import { type HandlerContext, protoCodec } from "triple-es";
import { createTransport as createFetchTransport } from "triple-es/fetch";
import { createTransport } from "triple-es/node";
import { describe, expect, it } from "vitest";
import { createGreetServiceClient } from "../../examples/gen/greet/v1/greet_triple.ts";
import { createGrpcClient } from "../../runtime/src/grpc/client.ts";
import { createHttpRpcClient } from "../../runtime/src/http-rpc/client.ts";
import { envelope, greetResponse, response, wireClient } from "../support/greeter.ts";
import { connectGreeter, failureOf, greeter, startServer } from "../support/server.ts";

async function recordingServer() {
  const seen: (string | undefined)[][] = [];
  const greet: typeof greeter.greet = (message, context: HandlerContext) => {
    const { requestHeaders } = context;
    seen.push(["content-type", "accept", "grpc-message-type"].map((name) => requestHeaders.get(name)));
    return greeter.greet(message, context);
  };
  return { ...(await startServer({ greet })), seen };
}

describe("a client of http-rpc", () => {
  it.each([
    ["json", "proto"],
    ["proto", "json"],
  ] as const)("sends %s and gets %s, which its option accept asks for", async (codec, accept) => {
    const { baseUrl, seen } = await recordingServer();
    const over = [
      connectGreeter(baseUrl, { protocol: "http-rpc", codec, accept }),
      connectGreeter(baseUrl, { protocol: "http-rpc", httpVersion: "2", codec, accept }),
      createGreetServiceClient(createFetchTransport({ baseUrl, codec, accept })),
    ];
    for (const client of over) expect((await client.greet({ name: "Ada" })).greeting).toBe("Hello, Ada!");
    expect(seen).toEqual(over.map(() => [`application/${codec}`, `application/${accept}`, undefined]));
  });

  it("sends an accept of a call's own headers", async () => {
    const { baseUrl, seen } = await recordingServer();
    const client = connectGreeter(baseUrl, { protocol: "http-rpc", codec: "json", accept: "proto" });
    const headers = { accept: "application/proto, application/json;q=0" };
    expect((await client.greet({ name: "Ada" }, { headers })).greeting).toBe("Hello, Ada!");
    expect(seen).toEqual([["application/json", headers.accept, undefined]]);
    const wanted = { headers: { accept: "application/xml" } };
    const plain = connectGreeter(baseUrl, { protocol: "http-rpc", codec: "json" });
    expect((await failureOf(plain.greet({ name: "Ada" }, wanted))).rawMessage).toContain(
      "answered with application/xml, not application/json",
    );
  });

  it("sends no accept by default", async () => {
    const answer = response({ headers: { "content-type": "application/proto" }, body: greetResponse("hi") });
    const { client, requests } = wireClient(createHttpRpcClient, answer);
    await client.greet({});
    expect(requests[0]?.headers.has("accept")).toBe(false);
  });
});

describe("a client of grpc", () => {
  it("names the type of its messages by the option messageType, in streams too", async () => {
    const { baseUrl, seen } = await recordingServer();
    await connectGreeter(baseUrl, { messageType: true }).greet({ name: "Ada" });
    await connectGreeter(baseUrl).greet({ name: "Ada" });
    await connectGreeter(baseUrl).greet({ name: "Ada" }, { headers: { "grpc-message-type": "acme.Other" } });
    expect(seen.map(([, , type]) => type)).toEqual(["greet.v1.GreetRequest", undefined, "acme.Other"]);
    const answer = response({
      headers: { "content-type": "application/grpc+proto" },
      body: envelope(greetResponse("hi")),
      trailers: { "grpc-status": "0" },
    });
    const { client, requests } = wireClient(createGrpcClient, answer, { codec: protoCodec, messageType: true });
    for await (const _ of client.greetEach({ names: [] }));
    expect(requests[0]?.headers.get("grpc-message-type")).toBe("greet.v1.GreetEachRequest");
  });

  it("has no other codec for responses than for requests", () => {
    expect(() => createTransport({ baseUrl: "http://127.0.0.1:1", accept: "json" })).toThrow(
      'accept needs protocol "http-rpc"',
    );
  });
});
