/** Header blocks of malformed messages (RFC 9113, section 8), and of valid ones. */
import { describe, expect, it } from "vitest";
import { ErrorCode, FrameType } from "../../runtime/src/http2/codes.ts";
import { data, END_HEADERS, END_STREAM, frame, headers, PADDED, REQUEST, RESPONSE } from "./support/frames.ts";
import { frozen, RecordedClient, RecordedServer } from "./support/recorder.ts";

/** Returns a request in which the given fields replace those of the same name; `undefined` removes a field. */
function requestWith(changes: Readonly<Record<string, string | undefined>>): string[] {
  const fields: string[] = [];
  for (let i = 0; i < REQUEST.length; i += 2) {
    const name = REQUEST[i] as string;
    const value = name in changes ? changes[name] : REQUEST[i + 1];
    if (value !== undefined) fields.push(name, value);
  }
  for (const [name, value] of Object.entries(changes)) {
    if (value !== undefined && !REQUEST.includes(name)) fields.push(name, value);
  }
  return fields;
}

const END = END_HEADERS | END_STREAM;
const WEBSOCKET = { ":method": "CONNECT", ":protocol": "websocket" };

function resetCode(side: RecordedServer | RecordedClient): number | undefined {
  const reset = side.frames().find(({ type }) => type === FrameType.RstStream);
  return reset === undefined ? undefined : Buffer.from(reset.payload).readUInt32BE();
}

describe("a request", () => {
  it.each<[string, readonly string[]]>([
    ["a name with a capital", requestWith({ "X-a": "1" })],
    ["an empty name", [...REQUEST, "", "1"]],
    ["a name with a space", requestWith({ "x a": "1" })],
    ["a name beyond ASCII", requestWith({ "x-\u00e9": "1" })],
    ["a name with a colon inside", requestWith({ "x:a": "1" })],
    ["a value with a line feed", requestWith({ "x-a": "1\n2" })],
    ["a value with a carriage return", requestWith({ "x-a": "1\r" })],
    ["a value with NUL", requestWith({ "x-a": "\0" })],
    ["a value with DEL", requestWith({ "x-a": "\x7f" })],
    ["host with a space before it", requestWith({ host: " localhost" })],
    ["content-length with a space after it", requestWith({ "content-length": "0 " })],
    ["connection", requestWith({ connection: "close" })],
    ["proxy-connection", requestWith({ "proxy-connection": "close" })],
    ["keep-alive", requestWith({ "keep-alive": "1" })],
    ["transfer-encoding", requestWith({ "transfer-encoding": "chunked" })],
    ["upgrade", requestWith({ upgrade: "h2c" })],
    ["te other than trailers", requestWith({ te: "trailers, deflate" })],
    ["a pseudo-header field of responses", [":status", "200", ...REQUEST]],
    ["an unknown pseudo-header field", [":protocol", "websocket", ...REQUEST]],
    ["a pseudo-header field behind another field", [...REQUEST, ":scheme", "http"]],
    ["a pseudo-header field behind a cookie", ["cookie", "a=1", ...REQUEST]],
    ["no :method", requestWith({ ":method": undefined })],
    ["no :scheme", requestWith({ ":scheme": undefined })],
    ["no :path", requestWith({ ":path": undefined })],
    ["an empty :path", requestWith({ ":path": "" })],
    ["a :path without its slash", requestWith({ ":path": "a.B/C" })],
    ["a :path with a space", requestWith({ ":path": "/a b" })],
    ["a :path of * with POST", requestWith({ ":path": "*" })],
    ["two :path", [":path", "/", ...REQUEST]],
    ["two :method", [":method", "GET", ...REQUEST]],
    ["two :scheme", [":scheme", "http", ...REQUEST]],
    ["two :authority", [":authority", "localhost", ...REQUEST]],
    ["two :authority, of which the first is empty", [":authority", "", ...REQUEST]],
    ["two empty :authority", [":authority", "", ...requestWith({ ":authority": "" })]],
    [":method that is no token", requestWith({ ":method": "PO ST" })],
    [":authority with userinfo", requestWith({ ":authority": "me@localhost" })],
    ["two host", [...REQUEST, "host", "localhost", "host", "localhost"]],
    ["content-length that is no number", requestWith({ "content-length": "1x" })],
    ["a negative content-length", requestWith({ "content-length": "-1" })],
    ["content-length beyond 2^53", requestWith({ "content-length": "9007199254740993" })],
    ["two values of content-length", [...REQUEST, "content-length", "1", "content-length", "2"]],
    ["CONNECT with :path", requestWith({ ":method": "CONNECT" })],
    ["CONNECT without :authority", [":method", "CONNECT"]],
    ["CONNECT with :protocol that is not offered", requestWith(WEBSOCKET)],
    ["a content-length, and no data", requestWith({ "content-length": "1" })],
  ])("is malformed with %s: the stream is reset without an event", (_name, fields) => {
    const server = new RecordedServer();
    server.receive(headers(1, fields, END));
    expect(resetCode(server)).toBe(ErrorCode.ProtocolError);
    expect([server.over, server.requests, server.connection.streams.size]).toEqual([undefined, [], 0]);
    // The connection stays open.
    server.receive(headers(3, REQUEST, END));
    expect(server.requests).toHaveLength(1);
  });

  it("is what its block says", () => {
    const server = new RecordedServer();
    const fields = [...REQUEST, "x-latin", "caf\u00e9", "x-tab", "a\tb", "x-empty", "", "content-length", "3"];
    server.receive(Buffer.concat([headers(1, fields), data(1, "abc", END_STREAM)]));
    expect(server.requests[0]).toMatchObject({
      block: {
        ...{ method: "POST", path: "/a.B/C", scheme: "http", authority: "localhost", status: 0, contentLength: 3 },
        fields: fields.slice(8),
        size: fields.join("").length + 16 * fields.length,
      },
      bytes: Buffer.from("abc"),
      ended: true,
    });
  });

  it("may have no :authority, be OPTIONS * or CONNECT, or repeat equal values of content-length", () => {
    const server = new RecordedServer();
    server.receive(headers(1, requestWith({ ":authority": undefined, host: "localhost" }), END));
    server.receive(headers(3, requestWith({ ":path": "*", ":method": "OPTIONS" }), END));
    server.receive(headers(5, [":method", "CONNECT", ":authority", "a:1"], END));
    server.receive(headers(7, [...REQUEST, "content-length", "0", "content-length", "0"], END));
    expect(server.requests.map(({ block }) => [block?.method, block?.path, block?.authority])).toEqual([
      ["POST", "/a.B/C", ""],
      ["OPTIONS", "*", "localhost"],
      ["CONNECT", "", "a:1"],
      ["POST", "/a.B/C", "localhost"],
    ]);
  });

  it.each([
    [undefined, WEBSOCKET],
    [ErrorCode.ProtocolError, { ...WEBSOCKET, ":method": "GET" }],
    [ErrorCode.ProtocolError, { ...WEBSOCKET, ":path": undefined }],
    [ErrorCode.ProtocolError, { ...WEBSOCKET, ":scheme": undefined }],
    [ErrorCode.ProtocolError, { ...WEBSOCKET, ":protocol": "web socket" }],
  ])("is reset with %s for %o, if :protocol is offered (RFC 8441)", (code, changes) => {
    const server = new RecordedServer({}, true, true);
    const fields = requestWith(changes);
    const start = fields.indexOf(":protocol");
    server.receive(headers(1, [...fields.splice(start, 2), ...fields], END_HEADERS));
    expect(resetCode(server)).toBe(code);
    if (code === undefined) expect(server.requests[0]?.block).toMatchObject({ protocol: "websocket", path: "/a.B/C" });
  });

  it("has fields without the spaces around their values, which clients of gRPC send", () => {
    const server = new RecordedServer();
    server.receive(headers(1, [...REQUEST, "x-a", " a b\t", "x-b", " "], END));
    expect(server.requests[0]?.block?.fields.slice(4)).toEqual(["x-a", "a b", "x-b", ""]);
  });

  it("has all cookies in one field, and counts them separately (section 8.2.3)", () => {
    const server = new RecordedServer();
    server.receive(headers(1, [...REQUEST, "cookie", "a=1", "x-b", "2", "cookie", "c=3"], END));
    expect(server.requests[0]?.block?.fields.slice(4)).toEqual(["x-b", "2", "cookie", "a=1; c=3"]);
    const size = [...REQUEST, "cookie", "a=1", "x-b", "2", "cookie", "c=3"].join("").length + 7 * 32 + 2 * 32;
    expect(server.requests[0]?.block?.size).toBe(size);
  });

  it.each([
    ["more data than content-length says", "abcd", 0],
    ["less data than content-length says", "ab", END_STREAM],
  ])("is reset with %s, without an event", (_name, bytes, flags) => {
    const server = new RecordedServer();
    const head = headers(1, requestWith({ "content-length": "3" }));
    server.receive(Buffer.concat([head, data(1, bytes, flags)]));
    expect([resetCode(server), server.requests]).toEqual([ErrorCode.ProtocolError, []]);
  });

  it("may have padding, which content-length does not count", () => {
    const server = new RecordedServer();
    const padded = frame(FrameType.Data, PADDED | END_STREAM, 1, [5, 97, 98, 99, 0, 0, 0, 0, 0]);
    server.receive(headers(1, requestWith({ "content-length": "3" })), padded);
    expect(server.requests[0]).toMatchObject({ ended: true, bytes: Buffer.from("abc") });
  });

  it("receives trailers, which must end it and have no pseudo-header fields", () => {
    const server = new RecordedServer();
    server.receive(headers(1, REQUEST), headers(1, ["x-a", "1"], END));
    expect(server.requests[0]).toMatchObject({ ended: true, trailers: ["x-a", "1"] });
    server.receive(headers(3, REQUEST), headers(3, ["x-a", "1"], END_HEADERS));
    server.receive(headers(5, REQUEST), headers(5, [":path", "/"], END));
    expect(server.requests.slice(1).map(({ reset }) => reset)).toEqual(
      Array.from({ length: 2 }, () => ({ code: ErrorCode.ProtocolError, by: "engine", isUnprocessed: false })),
    );
  });

  it("that depends on itself is reset (RFC 7540, section 5.3.1)", () => {
    const server = new RecordedServer();
    const [, ...rest] = [0, ...headers(1, REQUEST, END).subarray(9)];
    server.receive(frame(FrameType.Headers, END | 0x20, 1, [0, 0, 0, 1, 16, ...rest]));
    expect([resetCode(server), server.requests]).toEqual([ErrorCode.ProtocolError, []]);
  });

  it("with headers that are too large is reset with ENHANCE_YOUR_CALM, and the next one is understood", () => {
    const server = new RecordedServer();
    const inserted = Buffer.concat([Buffer.from("\x40\x06x-kept\x7f\xa1\x1e", "latin1"), Buffer.alloc(4_000, 97)]);
    const bomb = Buffer.concat([inserted, Buffer.alloc(10_000, 0xbe)]);
    server.receive(frame(FrameType.Headers, END, 1, bomb));
    expect([resetCode(server), server.over]).toEqual([ErrorCode.EnhanceYourCalm, undefined]);
    server.receive(frame(FrameType.Headers, END, 3, Buffer.concat([headers(3, REQUEST).subarray(9), Buffer.of(0xbe)])));
    expect(server.requests[0]?.block?.fields.slice(-2)).toEqual(["x-kept", "a".repeat(4_000)]);
  });
});

describe("a response", () => {
  function receive(...frames: readonly Uint8Array[]): {
    client: RecordedClient;
    heard: ReturnType<RecordedClient["open"]>;
  } {
    const client = new RecordedClient();
    const heard = client.open();
    client.bytes();
    client.receive(...frames);
    return { client, heard };
  }

  it.each<[string, Uint8Array[]]>([
    ["no :status", [headers(1, ["content-type", "a/b"], END)]],
    ["two :status", [headers(1, [":status", "200", ":status", "200"], END)]],
    ["two :status, of which the first is empty", [headers(1, [":status", "", ":status", "200"], END)]],
    ["a status of two digits", [headers(1, [":status", "20"], END)]],
    ["status 099", [headers(1, [":status", "099"], END)]],
    ["status 101", [headers(1, [":status", "101"])]],
    ["an interim response that ends the stream", [headers(1, [":status", "103"], END)]],
    ["pseudo-header fields of requests", [headers(1, [":status", "200", ":path", "/"], END)]],
    ["data before it", [data(1, "abc")]],
    ["trailers that do not end it", [headers(1, RESPONSE), headers(1, ["x-a", "1"])]],
    ["a second response", [headers(1, RESPONSE), headers(1, RESPONSE, END)]],
    [
      "less data than content-length says",
      [headers(1, [...RESPONSE, "content-length", "3"]), data(1, "ab", END_STREAM)],
    ],
    ["more data than content-length says", [headers(1, [...RESPONSE, "content-length", "1"]), data(1, "ab")]],
  ])("is malformed with %s: the stream is reset", (_name, frames) => {
    const { client, heard } = receive(...frames);
    expect(resetCode(client)).toBe(ErrorCode.ProtocolError);
    expect(heard.reset).toEqual({ code: ErrorCode.ProtocolError, by: "engine", isUnprocessed: false });
    expect([heard.closed, heard.ended, client.over]).toEqual([1, false, undefined]);
  });

  it("follows interim responses, with data and trailers", () => {
    const { heard } = receive(
      headers(1, [":status", "100"]),
      headers(1, [":status", "103", "link", "a"]),
      headers(1, RESPONSE),
      data(1, "abc"),
      headers(1, ["grpc-status", "0"], END),
    );
    expect(heard).toMatchObject({ ended: true, trailers: ["grpc-status", "0"], closed: 1 });
    expect([heard.block?.status, String(heard.bytes)]).toEqual([200, "abc"]);
  });

  it("has fields without the spaces around their values, and with those inside", () => {
    const inside = `a${" \t".repeat(5_000)}b`;
    const { heard } = receive(headers(1, [...RESPONSE, "x-a", ` \t${inside}\t `, "x-b", " ", "x-c", "a "], END));
    expect(heard.block?.fields.slice(2)).toEqual(["x-a", inside, "x-b", "", "x-c", "a"]);
  });

  it("has no more than 10 interim responses before it", () => {
    const received = (count: number) =>
      receive(...Array.from({ length: count }, () => headers(1, [":status", "103"]))).client;
    expect([received(10).over, received(11).over?.code]).toEqual([undefined, ErrorCode.EnhanceYourCalm]);
  });

  it.each([
    ["HEAD", "200"],
    ["POST", "204"],
    ["POST", "304"],
  ])("may have a content-length without data for %s with %s", (method, status) => {
    const client = new RecordedClient();
    const heard = client.open(undefined, true, [], method);
    client.receive(headers(1, [":status", status, "content-length", "3"], END));
    expect([heard.ended, heard.reset]).toEqual([true, undefined]);
  });

  it("with headers that are too large fails its call alone", () => {
    const { client, heard } = receive(
      headers(
        1,
        Array.from({ length: 4_200 }, (_, i) => (i % 2 ? "" : "a")),
      ),
    );
    expect([heard.reset?.code, client.over]).toEqual([ErrorCode.EnhanceYourCalm, undefined]);
  });
});

describe("sending", () => {
  it.each<[string, readonly string[]]>([
    ["a line feed in a value", ["x-a", "1\n"]],
    ["a character beyond Latin-1", ["x-a", "\u0100"]],
    ["a capital in a name", ["X-A", "1"]],
    ["a field of the connection", ["connection", "close"]],
    ["a pseudo-header field", [":status", "200"]],
  ])("is refused with %s, and nothing of it leaves", (_name, fields) => {
    const server = new RecordedServer();
    server.receive(headers(1, REQUEST, END));
    const stream = server.requests[0]?.stream;
    const wrong = { raw: fields, frozen: false };
    expect(() => stream?.respond(200, wrong, undefined, undefined, true)).toThrow(TypeError);
    expect(() => stream?.respond(200, frozen(), Buffer.from("abc"), wrong, true)).toThrow(TypeError);
    expect(server.bytes()).toHaveLength(0);
    stream?.respond(200, frozen("x-a", "1"), undefined, undefined, true);
    expect(server.frames()).toHaveLength(1);
    const client = new RecordedClient();
    expect(() => client.open(undefined, true, fields)).toThrow(TypeError);
    expect([client.bytes().length, client.connection.streams.size]).toEqual([0, 0]);
  });

  it.each(["a.B/C", "/a b", "/\u00e9", ""])("is refused with the path %j", (path) => {
    const { role } = new RecordedClient();
    const head = { method: "POST", path, headers: frozen() };
    expect(() => role.open(head, new RecordedClient().open(), undefined, true)).toThrow("path");
  });
});
