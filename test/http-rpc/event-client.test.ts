/** Server streams over HTTP RPC on the client: server-sent events (WHATWG HTML, section 9.2), and the errors of broken ones. */
import { gzipSync } from "node:zlib";
import { Code, jsonCodec, protoCodec, RpcError, Status } from "triple-es";
import { nodeCompressions } from "triple-es/node";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { streamBody } from "../../runtime/src/http/body.ts";
import type { HttpResponse } from "../../runtime/src/http/exchange.ts";
import { createHttpRpcClient } from "../../runtime/src/http-rpc/client.ts";
import { type Bytes, response, textOf, wireClient } from "../support/greeter.ts";
import { aborted, connectGreeter, failureOf, greetings, startServer } from "../support/server.ts";

const EVENTS = { "content-type": "text/event-stream" };
const ADA = 'data: {"greeting":"Hello, Ada!"}\n\n';
const BOB = 'data: {"greeting":"Hello, Bob!"}\n\n';
const LIKE_ERROR = 'data: {"message":"a","status":"500"}\n\n';
const END = "event: end\ndata:\n\n";

const events = (body: Bytes, headers = {}): HttpResponse => response({ headers: { ...EVENTS, ...headers }, body });

const wire = (answer: HttpResponse, codec = jsonCodec) =>
  wireClient(createHttpRpcClient, answer, { codec, maxMessageBytes: 1_000, compressions: nodeCompressions });

describe("a server stream over HTTP RPC", () => {
  it.each([jsonCodec, protoCodec])("is asked for in JSON, as events", async (codec) => {
    const { client, requests } = wire(events([ADA + BOB + END].map((text) => new TextEncoder().encode(text))), codec);
    expect(await greetings(client.greetEach({ names: ["Ada", "Bob"] }))).toEqual(["Hello, Ada!", "Hello, Bob!"]);
    const [request] = requests;
    expect(request?.headers.get("content-type")).toBe("application/json");
    expect([...(request?.headers ?? [])].filter(([name]) => name === "accept")).toEqual([
      ["accept", "application/json, text/event-stream"],
    ]);
    expect(request?.headers.has("accept-encoding")).toBe(false);
    expect(await textOf(request as { body: HttpResponse["body"] })).toBe('[{"names":["Ada","Bob"]}]');
  });

  it.each([
    ["without an event at its end", ADA + BOB],
    ["with events of other names", `event: ping\ndata: {}\n\n${ADA}event: message\n${BOB}${END}`],
    ["with comments and ids", `: hello\n\nid: 1\n${ADA}:\n\nretry: 10\nid: 2\n${BOB}${END}`],
    [
      "with messages that look like errors of Dubbo for Java",
      `${LIKE_ERROR}${ADA}${LIKE_ERROR}${BOB}${LIKE_ERROR}${END}`,
    ],
    ["that goes on after its end", `${ADA}${BOB}${END}data: never\n\n`],
  ])("is read %s", async (_, body) => {
    const received = await greetings(wire(events(body)).client.greetEach({}));
    expect(received.filter((greeting) => greeting !== "")).toEqual(["Hello, Ada!", "Hello, Bob!"]);
    expect(received).toHaveLength(2 + body.split(LIKE_ERROR).length - 1);
  });

  it("has the metadata of its response", async () => {
    const heads: unknown[] = [];
    const { client } = wire(events(END, { "content-type": "Text/Event-Stream; charset=utf-8", shop: "Ada" }));
    await greetings(client.greetEach({}, { onHeaders: (headers) => heads.push(headers.get("shop")) }));
    expect(heads).toEqual(["Ada"]);
  });

  it.each([END, "event: failure\ndata: {}\n\n"])(
    "is read to the end of its body, which keeps the connection: %j",
    async (last) => {
      let isWhole = false;
      async function* body() {
        yield new TextEncoder().encode(ADA + last);
        isWhole = true;
      }
      const { client } = wire({ ...events(""), body: streamBody(body()) });
      await greetings(client.greetEach({})).catch(() => {});
      expect(isWhole).toBe(true);
    },
  );

  it("ends soon if its body does not", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    async function* body() {
      yield new TextEncoder().encode(ADA + END);
      await new Promise(() => {});
    }
    const { client } = wire({ ...events(""), body: streamBody(body()) });
    const read = greetings(client.greetEach({}));
    await vi.advanceTimersByTimeAsync(1_000);
    expect(await read).toEqual(["Hello, Ada!"]);
  });

  it("cancels its body if the reader leaves", async () => {
    const cancelled = vi.fn(async () => ({ done: true as const, value: undefined }));
    const endless = {
      [Symbol.asyncIterator]: () => ({
        next: async () => ({ done: false as const, value: new TextEncoder().encode(ADA) }),
        return: cancelled,
      }),
    };
    const { client } = wire({ ...events(""), body: streamBody(endless) });
    for await (const { greeting } of client.greetEach({})) {
      expect(greeting).toBe("Hello, Ada!");
      break;
    }
    expect(cancelled).toHaveBeenCalled();
  });
});

describe("a server stream over HTTP RPC fails", () => {
  const error = { code: Code.NotFound, rawMessage: "no such shop", status: Status.ServiceError };
  const body = '{"status":70,"code":"not_found","message":"no such shop"}';

  it.each<[string, HttpResponse, number, object]>([
    [
      "before its first message",
      response({ status: 404, headers: { "content-type": "application/json" }, body }),
      0,
      error,
    ],
    ["after a message", events(`${ADA}event: failure\ndata: ${body}\n\n`), 1, error],
    ["as Dubbo for Java writes some errors", events(`${ADA}${body}`), 1, error],
    [
      "as Dubbo for Java writes others",
      events(`${ADA}data:{"message":"no \\"shop\\"","status":"503"}\n\n`),
      1,
      { code: Code.Unavailable, rawMessage: 'no "shop"' },
    ],
    ["with a body that is no error", events("event: failure\ndata: oops\n\n"), 0, { code: Code.Unknown }],
    [
      "with another content type",
      response({ headers: { "content-type": "text/html" }, body: "<html>" }),
      0,
      {
        code: Code.Internal,
        status: Status.BadResponse,
        rawMessage: expect.stringMatching(/with text\/html, not text\/event-stream$/),
      },
    ],
    [
      "without a content type",
      response({ body: ADA }),
      0,
      { code: Code.Internal, rawMessage: expect.stringContaining("no content type") },
    ],
    [
      "with an event that is no message",
      events(`${ADA}data: {"greeting":1}\n\n${BOB}`),
      1,
      {
        code: Code.Internal,
        status: Status.BadResponse,
        rawMessage: expect.stringContaining("cannot be decoded as greet.v1"),
      },
    ],
    [
      "that ends within an event",
      events(`${ADA}data: {"greeting":"Hello, Bo`),
      1,
      { rawMessage: "the body ended within an event" },
    ],
    [
      "that ends before the blank line of an event",
      events(`${ADA}event: failure\n`),
      1,
      { code: Code.Internal, status: Status.BadResponse, rawMessage: "the body ended within an event" },
    ],
    [
      "in a content encoding, which streams do not have",
      events(gzipSync(`${ADA}${END}`), { "content-encoding": "gzip" }),
      0,
      {
        code: Code.Internal,
        status: Status.BadResponse,
        rawMessage: expect.stringContaining('content encoding "gzip"'),
      },
    ],
    [
      "with an event that is too large",
      events(`${ADA}data: ${"x".repeat(1_001)}`),
      1,
      {
        code: Code.ResourceExhausted,
        status: Status.BadResponse,
        rawMessage: expect.stringContaining("limit of 1000 bytes"),
      },
    ],
  ])("%s", async (_, answer, count, expected) => {
    const { client } = wire(answer);
    const received: string[] = [];
    const failed = await failureOf(
      (async () => {
        for await (const { greeting } of client.greetEach({})) received.push(greeting);
      })(),
    );
    expect(failed).toMatchObject(expected);
    expect(received).toHaveLength(count);
  });

  it("if it is cancelled amid events", async () => {
    const { baseUrl } = await startServer({
      async *greetEach(_, { signal }) {
        yield { greeting: "Ada" };
        await aborted(signal);
      },
    });
    const controller = new AbortController();
    const stream = connectGreeter(baseUrl, { protocol: "http-rpc" }).greetEach({}, controller);
    const failed = await failureOf(
      (async () => {
        for await (const _ of stream) setImmediate(() => controller.abort());
      })(),
    );
    expect(failed).toMatchObject({ code: Code.Canceled, status: Status.ClientError });
  });

  it("if its connection is lost", async () => {
    async function* lost() {
      yield new TextEncoder().encode(ADA);
      throw new RpcError(Code.Unavailable, "the connection was lost");
    }
    const { client } = wire({ ...events(""), body: streamBody(lost()) });
    const failed = await failureOf(greetings(client.greetEach({})));
    expect(failed).toMatchObject({ code: Code.Unavailable, status: Status.ChannelInactive });
  });
});
