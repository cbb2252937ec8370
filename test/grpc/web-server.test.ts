/** The server of gRPC-Web: sub-protocol B over either version of HTTP, with the trailers at the end of the body. */
import fc from "fast-check";
import { Code, createRouter, RpcError } from "triple-es";
import { fetchHandler } from "triple-es/fetch";
import { gzip, nodeCompressions } from "triple-es/node";
import { describe, expect, it } from "vitest";
import { GreetServiceDef } from "../../examples/gen/greet/v1/greet_triple.ts";
import { decodeBase64Body } from "../../runtime/src/grpc/web-text.ts";
import { streamBody } from "../../runtime/src/http/body.ts";
import type { HttpRequest, HttpResponse } from "../../runtime/src/http/exchange.ts";
import {
  envelope,
  type GivenRequest,
  greetRequest,
  greetResponse,
  grpcRequest,
  joined,
  routeGreeter,
  textOf,
} from "../support/greeter.ts";
import { aborted, greeter, signalled } from "../support/server.ts";

const TYPE = "application/grpc-web+proto";
const path = (method: string): string => `/greet.v1.GreetService/${method}`;
const { exchange } = routeGreeter();
const bytesOf = (answer: HttpResponse): Promise<Uint8Array> => answer.body.bytes(1e6);
const trailers = (text: string): Uint8Array => envelope(text, 0x80);

/** A request as a page sends it: without `te`, over either version of HTTP. */
function webRequest({ headers, ...given }: GivenRequest = {}): HttpRequest {
  return grpcRequest({ version: "1.1", ...given, headers: { "content-type": TYPE, te: undefined, ...headers } });
}

/** The trailers of a response, and the messages before them. */
async function outcome(answer: HttpResponse): Promise<{ messages: Uint8Array[]; trailers: string }> {
  const bytes = await bytesOf(answer);
  const messages: Uint8Array[] = [];
  for (let at = 0; ; ) {
    const [flags, length] = [bytes[at], new DataView(bytes.buffer, bytes.byteOffset).getUint32(at + 1)];
    const data = bytes.subarray(at + 5, at + 5 + length);
    if (flags === 0x80) {
      expect(at + 5 + length).toBe(bytes.byteLength);
      return { messages, trailers: new TextDecoder().decode(data) };
    }
    messages.push(data);
    at += 5 + length;
  }
}

describe.each(["1.1", "2"] as const)("a call of gRPC-Web over HTTP/%s", (version) => {
  it("is answered with its message and its trailers in one body", async () => {
    const answer = await exchange(webRequest({ version }));
    expect([answer.status, [...answer.headers], answer.trailers.size]).toEqual([200, [["content-type", TYPE]], 0]);
    expect(answer.body.whole).toEqual(joined(envelope(greetResponse("Hello, Ada!")), trailers("grpc-status: 0\r\n")));
  });

  it.each<[string, Uint8Array, string[]]>([
    ["GreetEach", envelope(joined(greetRequest("Ada"), greetRequest("Bob"))), ["Hello, Ada!", "Hello, Bob!"]],
    ["GreetEach", envelope(""), []],
    ["GreetTogether", joined(envelope(greetRequest("Ada")), envelope(greetRequest("Bob"))), ["Hello, Ada and Bob!"]],
    [
      "GreetOnArrival",
      joined(envelope(greetRequest("Ada")), envelope(greetRequest("Bob"))),
      ["Hello, Ada!", "Hello, Bob!"],
    ],
  ])("of %s returns its messages", async (method, body, greetings) => {
    const { messages, trailers } = await outcome(await exchange(webRequest({ version, path: path(method), body })));
    expect(messages).toEqual(greetings.map(greetResponse));
    expect(trailers).toBe("grpc-status: 0\r\n");
  });

  it("passes metadata and a deadline to the handler, and its metadata to the page", async () => {
    const { exchange } = routeGreeter({
      greet: (_, { requestHeaders, responseHeaders, responseTrailers, timeoutMs }) => {
        responseHeaders.set("x-lead", requestHeaders.get("x-mine") ?? "");
        responseTrailers.append("x-end", "1").append("x-end", "2").set("x-end-bin", Uint8Array.of(255));
        return { greeting: (timeoutMs() ?? 0) > 1000 ? "in time" : "late" };
      },
    });
    const answer = await exchange(webRequest({ version, headers: { "x-mine": "7", "grpc-timeout": "9S" } }));
    expect(answer.headers.get("x-lead")).toBe("7");
    const { messages, trailers } = await outcome(answer);
    expect(messages).toEqual([greetResponse("in time")]);
    expect(trailers).toBe("grpc-status: 0\r\nx-end: 1\r\nx-end: 2\r\nx-end-bin: /w\r\n");
  });
});

describe("an error of gRPC-Web", () => {
  it("is in the trailers of the body, which pages of other origins can read", async () => {
    const { exchange } = routeGreeter({
      greet: () => {
        throw new RpcError(Code.NotFound, "missing – name", { trailers: { "x-why": "gone" } });
      },
    });
    const answer = await exchange(webRequest());
    expect([answer.status, [...answer.headers]]).toEqual([200, [["content-type", TYPE]]]);
    expect(answer.body.whole).toEqual(
      trailers("grpc-status: 5\r\ngrpc-message: missing %E2%80%93 name\r\nx-why: gone\r\n"),
    );
  });

  it("follows the headers that the handler set", async () => {
    const { exchange } = routeGreeter({
      greet: (_, { responseHeaders }) => {
        responseHeaders.set("x-lead", "here");
        throw new RpcError(Code.Aborted, "no");
      },
    });
    const answer = await exchange(webRequest());
    expect(answer.headers.get("x-lead")).toBe("here");
    expect(await textOf(answer)).toContain("grpc-status: 10\r\ngrpc-message: no\r\n");
  });

  it("follows the messages of a stream that fails", async () => {
    const { exchange } = routeGreeter({
      async *greetEach() {
        yield { greeting: "one" };
        throw new RpcError(Code.DataLoss, "lost");
      },
    });
    const { messages, trailers } = await outcome(await exchange(webRequest({ path: path("GreetEach") })));
    expect(messages).toEqual([greetResponse("one")]);
    expect(trailers).toBe("grpc-status: 15\r\ngrpc-message: lost\r\n");
  });

  it.each<[string, GivenRequest, string]>([
    ["an unknown path", { path: "/greet.v1.GreetService/Missing" }, "grpc-status: 12\r\n"],
    ["an encoding that is not supported", { headers: { "grpc-encoding": "bzip2" } }, "grpc-status: 12\r\n"],
    ["an invalid timeout", { headers: { "grpc-timeout": "soon" } }, "grpc-status: 3\r\n"],
    ["a message that is cut off", { body: envelope("abc").subarray(0, 6) }, "grpc-status: 13\r\n"],
    ["a message that cannot be decoded", { body: envelope("\xff") }, "grpc-status: 13\r\n"],
  ])("answers %s", async (_, given, status) => {
    const answer = await exchange(webRequest(given));
    expect([answer.status, answer.headers.get("content-type")]).toEqual([200, TYPE]);
    expect((await outcome(answer)).trailers).toContain(status);
  });

  it("names the supported encodings in a header", async () => {
    const { exchange } = routeGreeter({}, { compressions: nodeCompressions });
    const answer = await exchange(webRequest({ headers: { "grpc-encoding": "bzip2" } }));
    expect(answer.headers.get("grpc-accept-encoding")).toContain("gzip");
  });
});

describe("a request of gRPC-Web", () => {
  it.each([
    ["application/grpc-web", TYPE.replace("+proto", "")],
    ["Application/gRPC-Web+Proto; charset=utf-8", TYPE],
    ["application/grpc-web+proto", TYPE],
  ])("in %s is answered in %s", async (contentType, answered) => {
    const answer = await exchange(webRequest({ headers: { "content-type": contentType } }));
    expect(answer.headers.get("content-type")).toBe(answered);
    expect((await outcome(answer)).messages).toEqual([greetResponse("Hello, Ada!")]);
  });

  it("may have messages in JSON", async () => {
    const headers = { "content-type": "application/grpc-web+json" };
    const answer = await exchange(webRequest({ headers, body: envelope('{"name":"Ada"}') }));
    expect(answer.headers.get("content-type")).toBe("application/grpc-web+json");
    expect(await textOf(answer)).toContain('{"greeting":"Hello, Ada!"}');
  });

  it("may be compressed, and so is the response", async () => {
    const { exchange } = routeGreeter({}, { compressions: nodeCompressions, compressMinBytes: 10 });
    const body = envelope(await gzip.compress(greetRequest("a".repeat(100))), 1);
    const headers = { "grpc-encoding": "gzip", "grpc-accept-encoding": "gzip" };
    const answer = await exchange(webRequest({ headers, body }));
    expect(answer.headers.get("grpc-encoding")).toBe("gzip");
    const [flags] = (await bytesOf(answer)) ?? [];
    expect(flags).toBe(1);
  });

  it("needs no te, even if sub-protocol B requires it", async () => {
    const { exchange } = routeGreeter({}, { requireTe: true });
    expect((await outcome(await exchange(webRequest()))).trailers).toBe("grpc-status: 0\r\n");
  });

  it("must be a POST", async () => {
    const answer = await exchange(webRequest({ method: "GET" }));
    expect([answer.status, answer.headers.get("allow")]).toEqual([405, "POST"]);
  });

  it("is answered with 415 and the supported codecs if its codec is not supported", async () => {
    const answer = await exchange(webRequest({ headers: { "content-type": "application/grpc-web+thrift" } }));
    expect([answer.status, answer.headers.get("accept-post")]).toEqual([
      415,
      "application/grpc-web, application/grpc-web+proto, application/grpc-web+json, " +
        "application/grpc-web-text, application/grpc-web-text+proto, application/grpc-web-text+json",
    ]);
    expect(await textOf(answer)).toContain("application/grpc-web+thrift is not supported");
  });

  it("has a message of a limited size", async () => {
    const { exchange } = routeGreeter({}, { maxMessageBytes: 10 });
    const answer = await exchange(webRequest({ body: envelope(greetRequest("a".repeat(20))) }));
    expect((await outcome(answer)).trailers).toContain("grpc-status: 8\r\n");
  });

  it("exposes the whole response to a page of an allowed origin", async () => {
    const { exchange } = routeGreeter(
      { greet: (_, { responseHeaders }) => ({ greeting: responseHeaders.set("x-lead", "1") && "hi" }) },
      { cors: { origins: ["https://app.example"] } },
    );
    const preflight = webRequest({
      method: "OPTIONS",
      headers: {
        "content-type": undefined,
        origin: "https://app.example",
        "access-control-request-method": "POST",
        "access-control-request-headers": "content-type,grpc-timeout,x-grpc-web,x-user-agent",
      },
    });
    const { status, headers } = await exchange(preflight);
    expect([status, headers.get("access-control-allow-headers")]).toEqual([
      204,
      "content-type,grpc-timeout,x-grpc-web,x-user-agent",
    ]);
    const answer = await exchange(webRequest({ headers: { origin: "https://app.example" } }));
    expect(answer.headers.get("access-control-allow-origin")).toBe("https://app.example");
    expect(answer.headers.get("access-control-expose-headers")).toBe("x-lead");
  });
});

describe("a call of gRPC-Web in text", () => {
  const headers = { "content-type": "application/grpc-web-text" };
  const base64 = (bytes: Uint8Array): Uint8Array => new TextEncoder().encode(Buffer.from(bytes).toString("base64"));

  it("travels in base64 both ways", async () => {
    const answer = await exchange(webRequest({ headers, body: base64(envelope(greetRequest("Ada"))) }));
    expect(answer.headers.get("content-type")).toBe("application/grpc-web-text");
    expect(answer.body.whole).toEqual(
      base64(joined(envelope(greetResponse("Hello, Ada!")), trailers("grpc-status: 0\r\n"))),
    );
  });

  it("may be cut anywhere, with padding between its messages", async () => {
    const text = joined(base64(envelope(greetRequest("Ada"))), base64(envelope(greetRequest("Bob!"))));
    expect(new TextDecoder().decode(text)).toMatch(/=[^=]/);
    for (const size of [1, 3, 7]) {
      const body = Array.from({ length: Math.ceil(text.length / size) }, (_, i) =>
        text.subarray(i * size, (i + 1) * size),
      );
      const answer = await exchange(webRequest({ headers, path: path("GreetTogether"), body }));
      const decoded = Buffer.from(await textOf(answer), "base64");
      expect(decoded.toString()).toContain("Hello, Ada and Bob!!");
    }
  });

  it("encodes each message of a stream separately in base64, so that none waits for the next", async () => {
    const more = signalled();
    const { exchange } = routeGreeter({
      async *greetEach() {
        yield { greeting: "a" };
        await more.promise;
      },
    });
    const body = base64(envelope(""));
    const answer = await exchange(webRequest({ headers, path: path("GreetEach"), body }));
    const chunks = answer.body[Symbol.asyncIterator]();
    const first = await chunks.next();
    expect(Buffer.from(Buffer.from(first.value).toString(), "base64")).toEqual(
      Buffer.from(envelope(greetResponse("a"))),
    );
    more.resolve();
    const last = await chunks.next();
    expect(Buffer.from(Buffer.from(last.value).toString(), "base64")).toEqual(
      Buffer.from(trailers("grpc-status: 0\r\n")),
    );
    expect((await chunks.next()).done).toBe(true);
  });

  async function decode(text: readonly Uint8Array[]): Promise<Uint8Array[]> {
    const received = streamBody(
      (async function* () {
        yield* text;
      })(),
    );
    const chunks: Uint8Array[] = [];
    for await (const chunk of decodeBase64Body(received)) chunks.push(chunk);
    return chunks;
  }

  it("is decoded in one chunk for each chunk of text, whatever its padding", async () => {
    const text = Buffer.from("AQ==".repeat(64 * 1024));
    const chunks = await decode([text]);
    expect(chunks.map(({ byteLength }) => byteLength)).toEqual([64 * 1024]);
    expect(joined(...chunks)).toEqual(new Uint8Array(64 * 1024).fill(1));
  });

  it("is decoded in the same way wherever it is cut", async () => {
    const parts = fc.array(fc.uint8Array({ maxLength: 20 }), { maxLength: 5 });
    await fc.assert(
      fc.asyncProperty(parts, fc.boolean(), fc.integer({ min: 1, max: 9 }), async (given, isPadded, size) => {
        const encoded = given.map((one) => Buffer.from(one).toString("base64")).join("");
        const text = Buffer.from(isPadded ? encoded : encoded.replace(/==?$/, ""));
        const pieces = Array.from({ length: Math.ceil(text.length / size) }, (_, i) =>
          text.subarray(i * size, (i + 1) * size),
        );
        const chunks = await decode(pieces);
        expect(joined(...chunks)).toEqual(joined(...given));
      }),
    );
  });

  it.each([
    "!!!!",
    "AAAAA",
    "=AAA",
    "AA=A",
    "A===",
    "====",
    "AAAA\n",
    "AAAA AAAA",
    `${" ".repeat(4_000)}AAAA`,
    "AAA\u0141",
    "AA-_",
  ])("refuses the body %j, which is not base64", async (body) => {
    const answer = await exchange(webRequest({ headers, body }));
    const decoded = Buffer.from(await textOf(answer), "base64").toString();
    expect(decoded).toContain("grpc-status: 3\r\n");
    expect(decoded).toContain("must be base64");
  });
});

describe("a stream of gRPC-Web", () => {
  it("requests a message from the handler when the reader requests one", async () => {
    let made = 0;
    const { exchange } = routeGreeter({
      async *greetEach() {
        for (;;) yield { greeting: String(++made) };
      },
    });
    const answer = await exchange(webRequest({ path: path("GreetEach") }));
    const chunks = answer.body[Symbol.asyncIterator]();
    for (let i = 0; i < 3; i++) await chunks.next();
    expect(made).toBe(3);
    await chunks.return?.();
  });

  it("ends in the handler when the reader stops, also while it waits for a message", async () => {
    const ended = signalled();
    const { exchange } = routeGreeter({
      async *greetEach(_, { signal }) {
        try {
          yield { greeting: "a" };
          await aborted(signal);
        } finally {
          ended.resolve();
        }
      },
    });
    const answer = fetchHandler({ ...createRouter(), exchange })(
      new Request(`http://localhost${path("GreetEach")}`, {
        method: "POST",
        headers: { "content-type": TYPE },
        body: envelope("") as Uint8Array<ArrayBuffer>,
      }),
    );
    const reader = (await answer).body?.getReader();
    expect((await reader?.read())?.value).toEqual(envelope(greetResponse("a")));
    const waiting = reader?.read();
    await reader?.cancel();
    expect(await waiting).toEqual({ done: true, value: undefined });
    await ended.promise;
  });

  it("is streamed by a fetch handler", async () => {
    const more = signalled();
    const router = createRouter().add(GreetServiceDef, {
      ...greeter,
      async *greetEach() {
        yield { greeting: "a" };
        await more.promise;
        yield { greeting: "b" };
      },
    });
    const response = await fetchHandler(router)(
      new Request(`http://localhost${path("GreetEach")}`, {
        method: "POST",
        headers: { "content-type": TYPE },
        body: envelope("") as Uint8Array<ArrayBuffer>,
      }),
    );
    const seen: Uint8Array[] = [];
    for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) {
      seen.push(chunk);
      more.resolve();
    }
    expect(seen).toEqual([envelope(greetResponse("a")), envelope(greetResponse("b")), trailers("grpc-status: 0\r\n")]);
  });

  it("reads the messages of the request as they arrive", async () => {
    const body = [envelope(greetRequest("Ada")), envelope(greetRequest("Bob"))];
    const answer = await exchange(webRequest({ path: path("GreetOnArrival"), body }));
    const chunks = answer.body[Symbol.asyncIterator]();
    expect((await chunks.next()).value).toEqual(envelope(greetResponse("Hello, Ada!")));
    await chunks.return?.();
  });
});
