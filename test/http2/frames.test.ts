/** Frames that are invalid regardless of state (RFC 9113, sections 4 and 6), on a server and on a client. */
import { describe, expect, it } from "vitest";
import { ErrorCode, FrameType, Setting } from "../../runtime/src/http2/codes.ts";
import {
  ACK,
  block,
  data,
  END_HEADERS,
  END_STREAM,
  frame,
  headers,
  PADDED,
  PREFACE,
  PRIORITY,
  ping,
  REQUEST,
  RESPONSE,
  rst,
  settings,
  uint32,
  windowUpdate,
} from "./support/frames.ts";
import { RecordedClient, RecordedServer } from "./support/recorder.ts";

const { Data, Headers, Priority, RstStream, Settings, PushPromise, Ping, GoAway, WindowUpdate, Continuation } =
  FrameType;
const { ProtocolError, FrameSizeError, FlowControlError, EnhanceYourCalm, CompressionError } = ErrorCode;

/** Each frame is received on a connection whose stream 1 is open. */
const WRONG: readonly (readonly [name: string, bytes: Uint8Array, code: number])[] = [
  ["a frame that is larger than was allowed", frame(Data, 0, 1, [], 16_385), FrameSizeError],
  ["an unknown frame that is larger than was allowed", frame(0xbe, 0, 1, [], 16_385), FrameSizeError],
  ["DATA on stream 0", data(0, "abc"), ProtocolError],
  ["DATA with padding and no length of it", frame(Data, PADDED, 1, []), FrameSizeError],
  ["DATA whose padding is as long as the frame", frame(Data, PADDED, 1, [2, 0]), ProtocolError],
  ["HEADERS on stream 0", headers(0, REQUEST), ProtocolError],
  ["HEADERS with padding and no length of it", frame(Headers, END_HEADERS | PADDED, 1, []), FrameSizeError],
  ["HEADERS whose padding is longer than the frame", frame(Headers, END_HEADERS | PADDED, 1, [9, 1, 1]), ProtocolError],
  ["HEADERS with a priority that is cut off", frame(Headers, END_HEADERS | PRIORITY, 1, [0, 0, 0]), FrameSizeError],
  ["HEADERS that cannot be decoded", frame(Headers, END_HEADERS | END_STREAM, 1, [0xbe]), CompressionError],
  ["PRIORITY on stream 0", frame(Priority, 0, 0, [0, 0, 0, 3, 16]), ProtocolError],
  ["PRIORITY of four bytes", frame(Priority, 0, 1, [0, 0, 0, 3]), FrameSizeError],
  ["PRIORITY that makes a stream depend on itself", frame(Priority, 0, 1, [0, 0, 0, 1, 16]), ProtocolError],
  ["RST_STREAM on stream 0", rst(0), ProtocolError],
  ["RST_STREAM of three bytes", frame(RstStream, 0, 1, [0, 0, 0]), FrameSizeError],
  ["SETTINGS on a stream", frame(Settings, 0, 1, []), ProtocolError],
  ["SETTINGS of seven bytes", frame(Settings, 0, 0, [0, 1, 0, 0, 0, 0, 0]), FrameSizeError],
  ["an acknowledgement of SETTINGS with settings", frame(Settings, ACK, 0, [0, 1, 0, 0, 0, 0]), FrameSizeError],
  ["SETTINGS_ENABLE_PUSH 2", settings([Setting.EnablePush, 2]), ProtocolError],
  ["SETTINGS_INITIAL_WINDOW_SIZE 2^31", settings([Setting.InitialWindowSize, 2 ** 31]), FlowControlError],
  ["SETTINGS_MAX_FRAME_SIZE 16,383", settings([Setting.MaxFrameSize, 16_383]), ProtocolError],
  ["SETTINGS_MAX_FRAME_SIZE 2^24", settings([Setting.MaxFrameSize, 2 ** 24]), ProtocolError],
  ["SETTINGS with 33 entries", settings(...Array.from({ length: 33 }, () => [0x99, 0] as const)), EnhanceYourCalm],
  ["PUSH_PROMISE", frame(PushPromise, END_HEADERS, 1, uint32(2)), ProtocolError],
  ["PING on a stream", frame(Ping, 0, 1, new Uint8Array(8)), ProtocolError],
  ["PING of seven bytes", ping([1, 2, 3, 4, 5, 6, 7]), FrameSizeError],
  ["GOAWAY on a stream", frame(GoAway, 0, 1, uint32(0, 0)), ProtocolError],
  ["GOAWAY of seven bytes", frame(GoAway, 0, 0, [0, 0, 0, 0, 0, 0, 0]), FrameSizeError],
  ["WINDOW_UPDATE of five bytes", frame(WindowUpdate, 0, 0, [0, 0, 0, 1, 0]), FrameSizeError],
  ["WINDOW_UPDATE of 0 on the connection", windowUpdate(0, 0), ProtocolError],
  ["WINDOW_UPDATE beyond the largest window of the connection", windowUpdate(0, 2 ** 31 - 1), FlowControlError],
  ["CONTINUATION of nothing", frame(Continuation, END_HEADERS, 1, []), ProtocolError],
  ["CONTINUATION on stream 0", frame(Continuation, END_HEADERS, 0, []), ProtocolError],
  ["a header block with another frame in it", Buffer.concat([headers(1, REQUEST, 0), ping()]), ProtocolError],
  [
    "a header block with an unknown frame in it",
    Buffer.concat([headers(1, REQUEST, 0), frame(0xbe, 0, 1, [])]),
    ProtocolError,
  ],
  [
    "a header block that another stream continues",
    Buffer.concat([headers(1, REQUEST, 0), frame(Continuation, END_HEADERS, 3, [])]),
    ProtocolError,
  ],
  [
    "nine CONTINUATION frames, even without a byte",
    Buffer.concat([headers(1, REQUEST, 0), ...Array.from({ length: 9 }, () => frame(Continuation, 0, 1, []))]),
    EnhanceYourCalm,
  ],
];

function openServer(): RecordedServer {
  const server = new RecordedServer();
  server.receive(headers(1, REQUEST));
  server.bytes();
  return server;
}

function openClient(): RecordedClient {
  const client = new RecordedClient();
  client.open(undefined, false);
  client.bytes();
  return client;
}

describe.each([
  ["server", openServer],
  ["client", openClient],
] as const)("a %s", (role, open) => {
  it.each(WRONG)("ends the connection for %s", (_name, bytes, code) => {
    const side = open();
    side.receive(bytes);
    expect(side.over).toMatchObject({ code, isLocal: true });
    const frames = side.frames();
    expect(frames.at(-1)).toMatchObject({ type: GoAway });
    expect(Buffer.from(frames.at(-1)?.payload ?? []).readUInt32BE(4)).toBe(code);
    // Nothing is read or written afterwards.
    side.receive(ping(), headers(1, role === "server" ? REQUEST : RESPONSE));
    expect(side.bytes()).toHaveLength(0);
  });

  it("resets a stream for WINDOW_UPDATE of 0 on it, and keeps the connection (section 6.9)", () => {
    const side = open();
    side.receive(windowUpdate(1, 0));
    expect(side.over).toBeUndefined();
    expect(side.frames()).toMatchObject([{ type: RstStream, streamId: 1, payload: Buffer.of(0, 0, 0, ProtocolError) }]);
    expect(side.connection.streams.size).toBe(0);
    // On the closed stream it has no effect.
    side.receive(windowUpdate(1, 0));
    expect([side.over, side.frames()]).toEqual([undefined, []]);
  });

  it("ignores the reserved bit, undefined flags, unknown frames and unknown settings", () => {
    const side = open();
    side.receive(
      frame(0xbe, 0xff, 0x8000_0000, "anything"),
      frame(Ping, 0xfe, 0x8000_0000, new Uint8Array(8)),
      settings([0x99, 1], [Setting.MaxFrameSize, 2 ** 24 - 1]),
      frame(WindowUpdate, 0xff, 0x8000_0001, [0x80, 0, 0, 1]),
      rst(1, 0xffff_ffff),
    );
    expect(side.over).toBeUndefined();
    expect(side.frames().map(({ type, flags }) => [type, flags])).toEqual([
      [Ping, ACK],
      [Settings, ACK],
    ]);
    expect(side.connection.streams.size).toBe(0);
  });

  it("answers a PING with its bytes, and every SETTINGS with one acknowledgement", () => {
    const side = open();
    side.receive(ping([255, 254, 3, 4, 128, 6, 7, 8]), settings(), settings());
    const [pong, ...acks] = side.frames();
    expect([...(pong?.payload ?? [])]).toEqual([255, 254, 3, 4, 128, 6, 7, 8]);
    expect(acks.map(({ type, flags }) => [type, flags])).toEqual([
      [Settings, ACK],
      [Settings, ACK],
    ]);
  });

  it("answers a PING that came in one chunk with what ended the connection, and nothing after it", () => {
    const side = open();
    side.receive(Buffer.concat([ping(), frame(Ping, 0, 1, new Uint8Array(8)), ping(), ping()]));
    expect(side.frames().map(({ type }) => type)).toEqual([Ping, GoAway]);
  });

  it("takes a header block with padding, a priority and CONTINUATION frames", () => {
    const side = open();
    const fields = block(role === "server" ? ["x-trailer", "1"] : RESPONSE);
    const head = [4, ...uint32(0x8000_0000), 255, ...fields.subarray(0, 5), 0, 0, 0, 0];
    side.receive(
      frame(Headers, PADDED | PRIORITY | END_STREAM, 1, head),
      frame(Continuation, 0, 1, []),
      frame(Continuation, 0, 1, fields.subarray(5, 9)),
    );
    const heardBefore = side instanceof RecordedServer ? side.requests[0]?.ended : false;
    expect(heardBefore).toBe(false);
    side.receive(frame(Continuation, END_HEADERS, 1, fields.subarray(9)));
    expect(side.over).toBeUndefined();
    if (side instanceof RecordedServer) expect(side.requests[0]?.trailers).toEqual(["x-trailer", "1"]);
  });
});

describe("the beginning of a connection", () => {
  it.each([
    ["HTTP/1.1", "GET / HTTP/1.1\r\n\r\n"],
    ["a preface that is wrong in its last byte", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\r"],
  ])("is an error for %s, at the first byte that is wrong", (_name, bytes) => {
    const server = new RecordedServer({}, false);
    server.receive(Buffer.from(bytes));
    expect(server.over?.code).toBe(ProtocolError);
  });

  it.each([
    ["PING", ping()],
    ["an acknowledgement of SETTINGS", frame(Settings, ACK, 0, [])],
    ["HEADERS", headers(1, REQUEST)],
    ["an unknown frame", frame(0xbe, 0, 0, [])],
  ])("is an error for %s before SETTINGS", (_name, bytes) => {
    const server = new RecordedServer({}, false);
    server.receive(PREFACE, bytes);
    expect(server.over?.code).toBe(ProtocolError);
    const client = new RecordedClient(false);
    client.receive(bytes);
    expect(client.over?.code).toBe(ProtocolError);
  });

  it("is our SETTINGS and the window of the connection, without waiting for the peer", () => {
    for (const side of [new RecordedServer({}, false), new RecordedClient(false)]) {
      expect(side.frames().map(({ type, streamId }) => [type, streamId])).toEqual([
        [Settings, 0],
        [WindowUpdate, 0],
      ]);
    }
  });
});

it("WINDOW_UPDATE beyond the largest window of a stream resets the stream (section 6.9.1)", () => {
  for (const side of [openServer(), openClient()]) {
    side.receive(windowUpdate(1, 2 ** 31 - 1));
    expect([side.over, side.connection.streams.size]).toEqual([undefined, 0]);
    expect(side.frames().map(({ type, payload }) => [type, payload[3]])).toEqual([[RstStream, FlowControlError]]);
  }
});

it("SETTINGS_ENABLE_PUSH 1 is an error from a server alone", () => {
  const server = openServer();
  server.receive(settings([Setting.EnablePush, 1]));
  expect(server.over).toBeUndefined();
  const client = openClient();
  client.receive(settings([Setting.EnablePush, 1]));
  expect(client.over?.code).toBe(ProtocolError);
});
