/** Errors with more metadata or details than clients accept: their code and message arrive over every protocol. */
import { once } from "node:events";
import { connect } from "node:http2";
import { Code, type HandlerContext, RpcError, type RpcErrorOptions } from "triple-es";
import type { NodeTransportOptions } from "triple-es/node";
import { describe, expect, it } from "vitest";
import { connectGreeter, failureOf, startServer } from "../../support/server.ts";

const WAYS: Readonly<Record<string, Omit<NodeTransportOptions, "baseUrl">>> = {
  gRPC: { protocol: "grpc" },
  "HTTP RPC over HTTP/1.1": { protocol: "http-rpc" },
  "HTTP RPC over HTTP/2": { protocol: "http-rpc", httpVersion: "2" },
};

const cyclic: { self?: object } = {};
cyclic.self = cyclic;
const many = Object.fromEntries(Array.from({ length: 300 }, (_, i) => [`x-${i}`, "v"]));
const detail = (bytes: number, debug?: unknown) => ({ typeUrl: "t/a.B", value: new Uint8Array(bytes), debug });
const LARGE: Readonly<Record<string, RpcErrorOptions>> = {
  "a large header": { headers: { "x-large": "v".repeat(100_000) } },
  "a large trailer": { trailers: { "x-large": "v".repeat(100_000) } },
  "many trailers": { trailers: many },
  "large details": { details: [detail(100_000)] },
  "a detail whose debug member has no JSON": { details: [detail(1, cyclic)] },
};

describe.each(Object.entries(WAYS))("over %s", (_, options) => {
  it.each(Object.entries(LARGE))("an error with %s keeps its code and message", async (_, given) => {
    const { baseUrl } = await startServer({
      greet() {
        throw new RpcError(Code.NotFound, "no such greeting", given);
      },
      async *greetEach() {
        yield { greeting: "first" };
        throw new RpcError(Code.NotFound, "no such greeting", given);
      },
    });
    const client = connectGreeter(baseUrl, options);
    const expected = { code: Code.NotFound, rawMessage: "no such greeting" };
    expect(await failureOf(client.greet({}))).toMatchObject(expected);
    expect(await failureOf(client.greetEach({}))).toMatchObject(expected);
  });

  it("an error whose message is no text has the message as text", async () => {
    let message: unknown;
    const { baseUrl } = await startServer({
      greet() {
        throw new RpcError(Code.NotFound, message as string);
      },
    });
    const client = connectGreeter(baseUrl, options);
    for (const [given, expected] of [
      [undefined, ""],
      [null, ""],
      [42, "42"],
    ] as const) {
      message = given;
      expect(await failureOf(client.greet({}))).toMatchObject({ code: Code.NotFound, rawMessage: expected });
    }
  });
});

it.each<[what: string, message: string, details: number, kept: string, hasDetails: boolean]>([
  ["large details", "no", 7_000, "no", false],
  ["details that fit", "no", 5_500, "no", true],
  ["a long message in Chinese", "问".repeat(4_000), 0, `${"问".repeat(500)}…`, false],
])("a gRPC client that accepts 8 KiB of headers gets an error with %s", async (_, text, bytes, kept, hasDetails) => {
  const { baseUrl } = await startServer({
    greet() {
      throw new RpcError(Code.NotFound, text, bytes === 0 ? {} : { details: [detail(bytes)] });
    },
  });
  const session = connect(baseUrl, { settings: { maxHeaderListSize: 8 * 1024 } });
  const headers = { ":method": "POST", ":path": "/greet.v1.GreetService/Greet", "content-type": "application/grpc" };
  const [fields] = await once(session.request(headers).end(Buffer.alloc(5)), "response");
  session.close();
  expect(decodeURIComponent(fields["grpc-message"])).toBe(kept);
  expect(fields["grpc-status"]).toBe(String(Code.NotFound));
  expect(fields["grpc-status-details-bin"] !== undefined).toBe(hasDetails);
});

it("a stream that fails after its first message is not lost by the trailers of its handler", async () => {
  const { baseUrl } = await startServer({
    async *greetEach(_, { responseTrailers }: HandlerContext) {
      responseTrailers.set("x-large", "v".repeat(100_000));
      yield { greeting: "first" };
      throw new RpcError(Code.NotFound, "no more");
    },
  });
  const messages = connectGreeter(baseUrl).greetEach({})[Symbol.asyncIterator]();
  expect(await messages.next()).toMatchObject({ value: { greeting: "first" } });
  await expect(messages.next()).rejects.toMatchObject({ code: Code.NotFound, rawMessage: "no more" });
});
