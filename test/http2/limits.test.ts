/**
 * Limits on the behaviour of a peer before its connection is closed, each next to legitimate behaviour (RFC 9113, section
 * 10.5).
 */
import { describe, expect, it } from "vitest";
import { ErrorCode, FrameType, Setting } from "../../runtime/src/http2/codes.ts";
import {
  ACK,
  block,
  data,
  END_HEADERS,
  END_STREAM,
  frame,
  goAway,
  headers,
  PADDED,
  ping,
  REQUEST,
  RESPONSE,
  rst,
  settings,
  settingsAck,
  uint32,
  windowUpdate,
} from "./support/frames.ts";
import { bytesOf, frozen, RecordedClient, RecordedServer } from "./support/recorder.ts";

const END = END_HEADERS | END_STREAM;
const NONE = frozen();
/** A header block of 2,050 tiny fields, whose size counts as 66 KiB, and the payload of a large frame. */
const TINY_FIELDS = block([...REQUEST, ...Array.from({ length: 4_100 }, (_, i) => (i % 2 ? "" : "a"))]);
const LARGE = bytesOf(16_000);
const { EnhanceYourCalm, RefusedStream, CompressionError } = ErrorCode;

/** Counts how often an input can be received before the connection is closed. The output is read each time. */
function countUntilOver(side: RecordedServer | RecordedClient, make: (i: number) => Uint8Array, max = 200_000): number {
  for (let i = 0; i < max; i++) {
    side.receive(make(i));
    if (side.over !== undefined) {
      expect(side.over.code).toBe(EnhanceYourCalm);
      return i;
    }
    side.bytes();
  }
  return max;
}

function withStream(side: RecordedServer | RecordedClient): RecordedServer | RecordedClient {
  if (side instanceof RecordedServer) side.receive(headers(1, REQUEST));
  else {
    side.open(undefined, false);
    side.receive(headers(1, RESPONSE));
  }
  side.bytes();
  return side;
}

describe.each([
  ["server", () => withStream(new RecordedServer())],
  ["client", () => withStream(new RecordedClient())],
] as const)("a %s closes the connection after a flood of", (_role, open) => {
  it.each<[string, () => Uint8Array, number]>([
    ["SETTINGS", () => settings(), 1_000],
    ["PING", () => ping(), 1_000],
    ["acknowledgements of nothing", () => ping([1, 2, 3, 4, 5, 6, 7, 8], ACK), 1_000],
    ["empty DATA", () => data(1, ""), 1_000],
    ["DATA that is padding alone", () => frame(FrameType.Data, PADDED, 1, [3, 0, 0, 0]), 1_000],
    ["DATA that is padding for the most part", () => frame(FrameType.Data, PADDED, 1, [3, 97, 0, 0, 0]), 10_000],
    ["PRIORITY", () => frame(FrameType.Priority, 0, 5, [...uint32(0), 16]), 10_000],
    ["unknown frames", () => frame(0xbe, 0, 0, "abc"), 10_000],
    ["large unknown frames", () => frame(0xbe, 0, 0, new Uint8Array(16_384)), 2_000],
    ["ALTSVC, which is one", () => frame(0xa, 0, 0, "abc"), 10_000],
    ["WINDOW_UPDATE", () => windowUpdate(0, 1), 10_000],
    ["GOAWAY", () => goAway(2 ** 31 - 1), 1_000],
  ])("%s", (_name, make, limit) => {
    const count = countUntilOver(open(), make);
    expect(count).toBeGreaterThan(limit * 0.8);
    expect(count).toBeLessThan(limit * 1.3);
  });

  it("SETTINGS and PING whose answers are not read, at a thousand", () => {
    for (const bytes of [settings(), ping()]) {
      const side = open();
      let count = 0;
      for (; side.over === undefined; count++) {
        side.receive(bytes);
        // The socket is full from here on.
        side.bytes(0);
      }
      expect(count).toBeGreaterThan(900);
      expect(count).toBeLessThan(1_100);
    }
  });

  it("frames on forgotten streams, except after a reset that it sent itself", () => {
    const side = open();
    const stream = side instanceof RecordedServer ? side.requests[0]?.stream : undefined;
    stream?.reset(ErrorCode.Cancel);
    for (let i = 0; i < 16 && stream; i++) {
      side.receive(data(1, LARGE));
      side.bytes();
    }
    expect(side.over).toBeUndefined();
  });

  // RFC 9113, section 5.1: what the peer may have sent before it received the reset is ignored; the rest is not free.
  it.each<[string, (id: number) => Uint8Array, number]>([
    ["HEADERS", (id) => headers(id, ["x-late", "1"], END), 1_000],
    ["DATA", (id) => data(id, LARGE), 10_016],
    ["empty DATA that ends the stream", (id) => data(id, "", END_STREAM), 272_000],
    ["RST_STREAM", (id) => rst(id), 10_000],
  ])("%s on a stream that it has reset", (_name, make, limit) => {
    const side = open();
    const stream = side instanceof RecordedServer ? side.requests[0]?.stream : (side as RecordedClient).open().stream;
    const id = stream?.id ?? 0;
    stream?.reset(ErrorCode.Cancel);
    side.bytes();
    const count = countUntilOver(side, () => make(id), 400_000);
    expect(count).toBeGreaterThan(limit * 0.95);
    expect(count).toBeLessThan(limit * 1.05);
  });

  it("none of them if time passes in between", () => {
    const side = open();
    for (let second = 0; second < 200; second++) {
      for (let i = 0; i < 30; i++) side.receive(ping());
      side.bytes();
      side.connection.tick(1_000);
    }
    expect(side.over).toBeUndefined();
  });
});

describe.each([
  ["server", () => withStream(new RecordedServer())],
  ["client", () => withStream(new RecordedClient())],
] as const)("a %s", (_role, open) => {
  it("resets a stream whose header block has 64 to 144 KiB, and nothing else (RFC 9113, section 10.5.1)", () => {
    const side = open();
    const isServer = side instanceof RecordedServer;
    const large = block([
      ...(isServer ? REQUEST : RESPONSE),
      ...Array.from({ length: 35 }, () => ["x", "y".repeat(4_000)]).flat(),
    ]);
    expect(large.length).toBeGreaterThan(128 * 1024);
    if (!isServer) side.open();
    side.bytes();
    for (let at = 0; at < large.length; at += 16_384) {
      const type = at === 0 ? FrameType.Headers : FrameType.Continuation;
      const isLast = at + 16_384 >= large.length;
      side.receive(frame(type, isLast ? END_HEADERS : 0, 3, large.subarray(at, at + 16_384)));
    }
    const resets = side.frames().filter(({ type }) => type === FrameType.RstStream);
    expect(resets.map(({ streamId, payload }) => [streamId, payload[3]])).toEqual([[3, EnhanceYourCalm]]);
    expect([side.over, side.connection.streams.size]).toEqual([undefined, 1]);
    // The neighbour goes on, and the state of HPACK is right.
    side.receive(data(1, "a"), headers(1, ["x-end", "1"], END));
    expect(side.over).toBeUndefined();
  });
});

describe("a server", () => {
  it("closes the connection of a client that does not read a thousand refusals", () => {
    const server = new RecordedServer({ maxStreams: 1 });
    let count = 0;
    for (; server.over === undefined; count++) server.receive(headers(2 * count + 1, REQUEST));
    expect(count).toBeGreaterThan(900);
    expect(count).toBeLessThan(1_100);
  });

  it("closes the connection of a client that resets streams (Rapid Reset, CVE-2023-44487), in one chunk or in many", () => {
    for (const isOneChunk of [true, false]) {
      const server = new RecordedServer();
      const count = countUntilOver(server, (i) => {
        const id = 2 * i + 1;
        if (isOneChunk) return Buffer.concat([headers(id, REQUEST, END), rst(id)]);
        server.receive(headers(id, REQUEST, END));
        server.role.finished();
        return rst(id);
      });
      expect(count).toBe(900);
    }
  });

  it("does not mind a client that cancels slow calls, as many as it may open, for minutes", () => {
    const server = new RecordedServer();
    const cancelled = (round: number): number[] => Array.from({ length: 100 }, (_, i) => 2 * (100 * round + i) + 1);
    for (let round = 0; round < 60; round++) {
      const ids = cancelled(round);
      server.receive(...ids.map((id) => headers(id, REQUEST, END)));
      for (let second = 0; second < 2; second++) server.connection.tick(1_000);
      server.receive(...ids.map((id) => rst(id)));
      for (const _ of ids) server.role.finished();
    }
    expect([server.over, server.requests.length]).toEqual([undefined, 6_000]);
  });

  it.each<[string, (id: number) => Uint8Array]>([
    ["requests that are malformed", (id) => headers(id, [":method", "POST"], END)],
    ["requests with empty names", (id) => headers(id, [...REQUEST, "", ""], END)],
    ["requests whose headers are too large", (id) => frame(FrameType.Headers, END, id, TINY_FIELDS)],
    ["windows that grow by 0", (id) => Buffer.concat([headers(id, REQUEST), windowUpdate(id, 0)])],
    ["HEADERS on half-closed streams", (id) => Buffer.concat([headers(id, REQUEST, END), headers(id, REQUEST, END)])],
    ["DATA on half-closed streams", (id) => Buffer.concat([headers(id, REQUEST, END), data(id, "a")])],
    ["windows that become too large", (id) => Buffer.concat([headers(id, REQUEST), windowUpdate(id, 2 ** 31 - 1)])],
    [
      "requests whose content-length is wrong",
      (id) => Buffer.concat([headers(id, [...REQUEST, "content-length", "1"]), data(id, "ab")]),
    ],
  ])("closes the connection of a client that has it reset streams (MadeYouReset, CVE-2025-8671): %s", (_name, make) => {
    const server = new RecordedServer();
    expect(countUntilOver(server, (i) => make(2 * i + 1))).toBe(900);
    expect(server.requests).toHaveLength(0);
  });

  it("ends the connection for PRIORITY of a wrong length, which is no cheap way to provoke resets", () => {
    const server = new RecordedServer();
    server.receive(headers(1, REQUEST, END), frame(FrameType.Priority, 0, 1, [0]));
    expect(server.over?.code).toBe(ErrorCode.FrameSizeError);
  });

  it("refuses streams beyond its limit, from the first byte on, and closes the connection of a client that continues", () => {
    const server = new RecordedServer({ maxStreams: 3 });
    for (let id = 1; id < 11; id += 2) server.receive(headers(id, REQUEST));
    const refused = server.frames().filter(({ type }) => type === FrameType.RstStream);
    expect(refused.map(({ streamId, payload }) => [streamId, payload[3]])).toEqual([
      [7, RefusedStream],
      [9, RefusedStream],
    ]);
    expect(server.requests).toHaveLength(3);
    server.receive(settingsAck());
    expect(countUntilOver(server, (i) => headers(11 + 2 * i, REQUEST))).toBeLessThan(1_002);
  });

  it("counts handlers that go on after their streams were reset", () => {
    const server = new RecordedServer({ maxHandlers: 3 });
    for (let id = 1; id < 11; id += 2) server.receive(headers(id, REQUEST, END), rst(id));
    expect(server.requests).toHaveLength(3);
    server.role.finished();
    server.receive(headers(21, REQUEST, END));
    expect(server.requests).toHaveLength(4);
  });

  it("closes the connection of a client that opens streams after the final GOAWAY, whose blocks it decodes", () => {
    const server = new RecordedServer();
    server.receive(headers(1, REQUEST));
    server.connection.goAway(true);
    server.bytes();
    // The requests that a client with a hundred streams may have sent before it received GOAWAY.
    for (let i = 0; i < 100; i++) server.receive(headers(2 * i + 3, REQUEST), data(2 * i + 3, bytesOf(1_000)));
    expect([server.over, server.requests.length, server.frames()]).toEqual([undefined, 1, []]);
    server.receive(frame(FrameType.Headers, END_HEADERS, 301, "\x40\x06x-kept\x011"));
    server.receive(frame(FrameType.Headers, END, 1, Buffer.of(0xbe)));
    expect(server.requests[0]?.trailers).toEqual(["x-kept", "1"]);
    const count = countUntilOver(server, (i) => headers(2 * i + 303, REQUEST));
    expect(count).toBeGreaterThan(850);
    expect(count).toBeLessThan(950);
  });

  it("closes the connection of a client whose blocks change the table's size without end", () => {
    const server = new RecordedServer({ resetBurst: 1e9 });
    server.onRequest = (stream) => {
      stream.respond(200, NONE, undefined, undefined, true);
      server.role.finished();
    };
    const update = Buffer.concat([Buffer.from("203fe11f", "hex"), block(REQUEST)]);
    const count = countUntilOver(server, (i) => frame(FrameType.Headers, END, 2 * i + 1, update));
    expect(count).toBe(5_000);
    const three = new RecordedServer();
    three.receive(frame(FrameType.Headers, END, 1, Buffer.from("202020", "hex")));
    expect(three.over?.code).toBe(CompressionError);
  });

  it("closes the connection of a client that takes responses a byte at a time", () => {
    const server = new RecordedServer();
    server.receive(settings([Setting.InitialWindowSize, 0]), headers(1, REQUEST, END));
    server.requests[0]?.stream?.respond(200, NONE, bytesOf(60_000), undefined, true);
    server.bytes();
    const count = countUntilOver(server, () => {
      server.bytes();
      return windowUpdate(1, 1);
    });
    expect(count).toBeGreaterThan(900);
    expect(count).toBeLessThan(1_100);
  });

  it("closes the connection of a client that changes the windows of many streams without end", () => {
    const server = new RecordedServer();
    for (let id = 1; id < 200; id += 2) server.receive(headers(id, REQUEST));
    const count = countUntilOver(server, (i) => settings([Setting.InitialWindowSize, i % 2 ? 10 : 20]));
    expect(count).toBeLessThan(510);
  });

  it("limits headers of open streams to 64 MiB in total, including those that wait to be sent", () => {
    const server = new RecordedServer();
    server.receive(headers(1, REQUEST, END));
    server.requests[0]?.stream?.respond(200, NONE, new Uint8Array(65 * 1024 * 1024), undefined, true);
    server.receive(headers(3, REQUEST, END));
    const refused = server.frames(100_000).filter(({ type }) => type === FrameType.RstStream);
    expect([refused[0]?.payload[3], server.requests.length]).toEqual([RefusedStream, 1]);
  });

  it("does not mind what honest clients do in thousands of calls", () => {
    const server = new RecordedServer();
    server.onRequest = (stream) => {
      stream.respond(200, NONE, bytesOf(100), frozen("grpc-status", "0"), true);
      server.role.finished();
    };
    for (let i = 0; i < 20_000; i++) {
      const id = 2 * i + 1;
      // A WINDOW_UPDATE and a PING that measures bandwidth for each response, as gRPC for Go and Java sends them.
      server.receive(
        Buffer.concat([headers(id, REQUEST), data(id, bytesOf(100), END_STREAM)]),
        windowUpdate(0, 100),
        ping(),
      );
      // node:http2 resets streams that have ended.
      if (i >= 90) server.receive(rst(id - 180, ErrorCode.NoError));
      server.bytes();
    }
    expect([server.over, server.requests.length]).toEqual([undefined, 20_000]);
  });
});

describe("a client", () => {
  it("may cancel thousands of calls at once", () => {
    const client = new RecordedClient();
    const calls = Array.from({ length: 5_000 }, () => client.open());
    client.bytes();
    for (const { stream } of calls.slice(1)) stream?.reset(ErrorCode.Cancel);
    expect(client.over).toBeUndefined();
    expect(client.frames().filter(({ type }) => type === FrameType.RstStream)).toHaveLength(4_999);
    client.receive(headers(1, RESPONSE, END));
    expect(calls[0]?.ended).toBe(true);
  });

  it("does not mind the rest of a thousand large responses that it has cancelled", () => {
    const client = new RecordedClient();
    for (let i = 0; i < 1_000; i++) {
      const heard = client.open();
      const id = heard.stream?.id ?? 0;
      client.bytes();
      heard.stream?.reset(ErrorCode.Cancel);
      client.receive(headers(id, RESPONSE));
      for (let k = 0; k < 16; k++) client.receive(data(id, LARGE));
      client.receive(headers(id, ["grpc-status", "0"], END), rst(id, ErrorCode.NoError));
      client.bytes();
    }
    expect(client.over).toBeUndefined();
  });

  it("does not mind a server that resets every stream", () => {
    const client = new RecordedClient();
    for (let i = 0; i < 5_000; i++) {
      const heard = client.open();
      client.bytes();
      client.receive(rst(heard.stream?.id ?? 0, RefusedStream));
    }
    expect(client.over).toBeUndefined();
  });

  it("closes the connection to a server whose responses it has to reset", () => {
    const client = new RecordedClient();
    const count = countUntilOver(client, () => {
      const heard = client.open();
      return headers(heard.stream?.id ?? 0, [":status", "x"]);
    });
    expect(count).toBe(900);
  });
});
