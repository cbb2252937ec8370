/** Windows in both directions (RFC 9113, section 5.2), and the order in which streams send. */
import { describe, expect, it } from "vitest";
import { ErrorCode, FrameType, Setting } from "../../runtime/src/http2/codes.ts";
import type { EngineStream } from "../../runtime/src/http2/stream.ts";
import {
  data,
  END_HEADERS,
  END_STREAM,
  type Frame,
  frame,
  headers,
  PADDED,
  REQUEST,
  RESPONSE,
  rst,
  settings,
  settingsAck,
  windowUpdate,
} from "./support/frames.ts";
import { bytesOf, frozen, type Heard, RecordedClient, RecordedServer } from "./support/recorder.ts";

const WINDOW = 256 * 1024;
const NONE = frozen();
const TRAILERS = frozen("grpc-status", "0");

/** A server with requests whose responses have started. */
function responding(count: number, ...first: readonly Uint8Array[]): { server: RecordedServer; streams: Heard[] } {
  const server = new RecordedServer();
  server.receive(...first);
  for (let i = 0; i < count; i++) server.receive(headers(2 * i + 1, REQUEST, END_HEADERS | END_STREAM));
  for (const { stream } of server.requests) stream?.respond(200, NONE, undefined, undefined, false);
  server.bytes();
  return { server, streams: server.requests };
}

const lengths = (frames: readonly Frame[]): number[][] =>
  frames.filter(({ type }) => type === FrameType.Data).map(({ streamId, payload }) => [streamId, payload.length]);

const updates = (frames: readonly Frame[]): number[][] =>
  frames
    .filter(({ type }) => type === FrameType.WindowUpdate)
    .map(({ streamId, payload }) => [streamId, Buffer.from(payload).readUInt32BE()]);

describe("sending", () => {
  it("waits for the window of its stream, and continues with a window of one byte", () => {
    const { server, streams } = responding(1, settings([Setting.InitialWindowSize, 1]));
    const [heard] = streams;
    heard?.stream?.sendData(Buffer.from("abc"), true);
    expect(lengths(server.frames())).toEqual([[1, 1]]);
    expect([server.connection.take(1_000).bytes, heard?.stream?.unsent]).toEqual([0, 2]);
    server.receive(windowUpdate(1, 1));
    expect(lengths(server.frames())).toEqual([[1, 1]]);
    server.receive(windowUpdate(1, 100));
    expect(server.frames()).toMatchObject([{ type: FrameType.Data, flags: END_STREAM, payload: Buffer.from("c") }]);
    expect(heard?.closed).toBe(1);
  });

  it("counts a chunk in full as memory until its last part has been written, or its stream has been reset", () => {
    const { server, streams } = responding(2, settings([Setting.InitialWindowSize, 40_000]));
    const { connection } = server;
    const kept = (): number[] => [connection.unsent, connection.kept(true), connection.kept(false)];
    for (const { stream } of streams) stream?.sendData(bytesOf(40_001), true);
    connection.take(128 * 1024);
    server.receive(windowUpdate(0, 40_000));
    connection.take(128 * 1024);
    expect(kept()).toEqual([2, 80_002, 80_002]);
    server.receive(windowUpdate(1, 1));
    connection.take(128 * 1024);
    expect(kept()).toEqual([1, 80_001, 40_001]);
    server.receive(rst(3, ErrorCode.Cancel));
    connection.take(128 * 1024);
    expect(kept()).toEqual([0, 0, 0]);
  });

  it("waits for the window of the connection", () => {
    const { server, streams } = responding(2, settings([Setting.InitialWindowSize, 2 ** 20]));
    for (const { stream } of streams) stream?.sendData(bytesOf(40_000), true);
    const sent = lengths(server.frames());
    expect(sent.reduce((sum, [, length = 0]) => sum + length, 0)).toBe(65_535);
    // One frame of each stream in turn.
    expect(sent.map(([id]) => id).slice(0, 4)).toEqual([1, 3, 1, 3]);
    server.receive(windowUpdate(0, 100_000));
    expect(lengths(server.frames()).reduce((sum, [, length = 0]) => sum + length, 0)).toBe(80_000 - 65_535);
  });

  it("waits while SETTINGS have made a window negative (section 6.9.2)", () => {
    const { server, streams } = responding(1);
    streams[0]?.stream?.sendData(bytesOf(30_000), false);
    server.bytes();
    server.receive(settings([Setting.InitialWindowSize, 0]), windowUpdate(1, 30_000));
    streams[0]?.stream?.sendData(bytesOf(10), true);
    expect(lengths(server.frames())).toEqual([]);
    server.receive(windowUpdate(1, 4));
    expect(lengths(server.frames())).toEqual([[1, 4]]);
    server.receive(settings([Setting.InitialWindowSize, 100]));
    expect(lengths(server.frames())).toEqual([[1, 6]]);
  });

  it("is a connection error if SETTINGS make the sum too large, even with a valid value", () => {
    const { server } = responding(1, windowUpdate(0, 10));
    server.receive(windowUpdate(1, 2 ** 31 - 1 - 65_535));
    expect(server.over).toBeUndefined();
    server.receive(settings([Setting.InitialWindowSize, 65_536]));
    expect(server.over?.code).toBe(ErrorCode.FlowControlError);
  });

  it("ends without a window: empty DATA and trailers need none (section 6.9.1)", () => {
    const { server, streams } = responding(2, settings([Setting.InitialWindowSize, 0]));
    streams[0]?.stream?.sendData(new Uint8Array(0), true);
    streams[1]?.stream?.sendTrailers(TRAILERS);
    expect(server.frames().map(({ type, flags, streamId }) => [type, flags & END_STREAM, streamId])).toEqual([
      [FrameType.Data, END_STREAM, 1],
      [FrameType.Headers, END_STREAM, 3],
    ]);
  });

  it("has its trailers after all queued data, and the reset of an unread request after those", () => {
    const server = new RecordedServer();
    server.receive(settings([Setting.InitialWindowSize, 2]), headers(1, REQUEST));
    server.requests[0]?.stream?.respond(200, NONE, Buffer.from("abcd"), TRAILERS, true);
    expect(server.frames().map(({ type }) => type)).toEqual([FrameType.Settings, FrameType.Headers, FrameType.Data]);
    server.receive(windowUpdate(1, 2));
    expect(server.frames().map(({ type }) => type)).toEqual([FrameType.Data, FrameType.Headers, FrameType.RstStream]);
    expect(server.requests[0]).toMatchObject({ closed: 1, reset: undefined });
  });

  it("joins small chunks into one frame, and splits a large chunk into frames of 16 KiB, in order", () => {
    const { server, streams } = responding(
      1,
      windowUpdate(0, 2 ** 20),
      settings([Setting.InitialWindowSize, 2 ** 20], [Setting.MaxFrameSize, 2 ** 20]),
    );
    const pieces = [bytesOf(10, 1), bytesOf(20, 2), bytesOf(100_000, 3), bytesOf(9_000, 4), bytesOf(1, 5)];
    for (const bytes of pieces) streams[0]?.stream?.sendData(bytes, false);
    const frames = server.frames();
    expect(lengths(frames).map(([, length]) => length)).toEqual([
      16_384,
      16_384,
      16_384,
      16_384,
      16_384,
      16_384,
      109_031 - 6 * 16_384,
    ]);
    expect(Buffer.concat(frames.map(({ payload }) => payload)).equals(Buffer.concat(pieces))).toBe(true);
  });

  it("keeps small chunks that wait in few arrays, and sends them in order with the large ones", () => {
    const { server, streams } = responding(1, settings([Setting.InitialWindowSize, 0]));
    const stream = streams[0]?.stream as EngineStream;
    // Messages are slices of the slab in which they were encoded. A waiting one must not keep it alive.
    const slab = bytesOf(64 * 1024);
    const chunks: Uint8Array[] = [];
    for (let i = 0, at = 0; i < 3_000; i++) {
      const size = i % 100 === 99 ? 1_500 : 1 + (i % 20);
      if (at + size > slab.length) at = 0;
      chunks.push(slab.subarray(at, at + size));
      at += size;
      stream.sendData(chunks.at(-1) as Uint8Array, false);
    }
    expect(stream.queue.length).toBeLessThan(100);
    expect(stream.queue.reduce((sum, { buffer }) => sum + buffer.byteLength, 0)).toBeLessThan(2 * stream.unsent);
    const sent: Uint8Array[] = [];
    for (const bytes of [1, 10, 500, 3_000, 17_000, 100_000]) {
      server.receive(windowUpdate(1, bytes), windowUpdate(0, bytes));
      for (const { payload } of server.frames()) sent.push(payload);
      // Data that is queued between two windows is sent after the rest of the earlier block.
      chunks.push(bytesOf(7, bytes));
      stream.sendData(chunks.at(-1) as Uint8Array, false);
    }
    for (const { payload } of server.frames()) sent.push(payload);
    expect(Buffer.concat(sent).equals(Buffer.concat(chunks))).toBe(true);
  });

  it("stops at 64 KiB for each stream, and resumes at half of that", () => {
    const { server, streams } = responding(1, settings([Setting.InitialWindowSize, 2 ** 20]));
    const [heard] = streams;
    expect(heard?.stream?.sendData(bytesOf(60_000), false)).toBe(true);
    expect(heard?.stream?.sendData(bytesOf(60_000), false)).toBe(false);
    server.frames(16_384);
    expect(heard?.drains).toBe(0);
    server.frames();
    server.receive(windowUpdate(0, 100_000));
    server.frames();
    expect([heard?.drains, heard?.stream?.unsent]).toEqual([1, 0]);
  });

  it("accepts data inside onDrain, which is called in a separate turn", () => {
    const { server, streams } = responding(1, windowUpdate(0, 2 ** 24), settings([Setting.InitialWindowSize, 2 ** 24]));
    const heard = streams[0] as Heard;
    let left = 5;
    heard.onDrained = () => {
      left--;
      heard.stream?.sendData(bytesOf(70_000), left === 0);
    };
    heard.stream?.sendData(bytesOf(70_000), false);
    let bytes = 0;
    for (let turns = 0; turns < 10; turns++) bytes += lengths(server.frames()).reduce((sum, [, n = 0]) => sum + n, 0);
    expect([bytes, heard.closed]).toEqual([6 * 70_000, 1]);
  });

  it("is DATA only within the budget, and control frames alone without one", () => {
    const { server, streams } = responding(1, windowUpdate(0, 2 ** 20), settings([Setting.InitialWindowSize, 2 ** 20]));
    streams[0]?.stream?.sendData(bytesOf(100_000), true);
    server.receive(settings());
    expect(server.frames(0).map(({ type }) => type)).toEqual([FrameType.Settings]);
    expect(lengths(server.frames(20_000)).map(([, length]) => length)).toEqual([16_384, 16_384]);
    expect(server.connection.hasMore).toBe(true);
    // A response that starts while the socket is full waits too.
    server.frames(0);
    server.receive(headers(3, REQUEST, END_HEADERS | END_STREAM));
    server.requests[1]?.stream?.respond(200, NONE, bytesOf(10), TRAILERS, true);
    expect(server.frames(0).map(({ type }) => type)).toEqual([FrameType.Headers]);
    expect(lengths(server.frames()).some(([id]) => id === 3)).toBe(true);
  });

  it("is dropped when its stream is reset, and its place in the queue with it", () => {
    const { server, streams } = responding(2, settings([Setting.InitialWindowSize, 0]));
    for (const { stream } of streams) stream?.sendData(bytesOf(1_000), true);
    server.receive(rst(1), settings([Setting.InitialWindowSize, 10_000]));
    expect(lengths(server.frames())).toEqual([[3, 1_000]]);
    expect(server.connection.streams.blockBytes + server.connection.unsent).toBeLessThan(4_000);
    expect(streams[0]?.reset?.code).toBe(ErrorCode.Cancel);
  });
});

describe("receiving", () => {
  it("is announced once half of a window is consumed, once a turn", () => {
    const server = new RecordedServer();
    server.receive(headers(1, REQUEST));
    for (let i = 0; i < 7; i++) server.receive(data(1, bytesOf(16_384)));
    expect(updates(server.frames())).toEqual([]);
    for (let i = 0; i < 3; i++) server.receive(data(1, bytesOf(16_384)));
    expect(updates(server.frames())).toEqual([[1, 10 * 16_384]]);
  });

  it("is not announced before it is consumed, and may not be more than the window", () => {
    const server = new RecordedServer();
    server.consumes = false;
    server.receive(headers(1, REQUEST));
    for (let i = 0; i < 16; i++) server.receive(data(1, bytesOf(16_384)));
    expect([updates(server.frames()), server.over]).toEqual([[], undefined]);
    server.requests[0]?.stream?.consumed(16 * 16_384);
    expect(updates(server.frames())).toEqual([[1, WINDOW]]);
    for (let i = 0; i < 16; i++) server.receive(data(1, bytesOf(16_384)));
    server.receive(data(1, "a"));
    expect(server.over?.code).toBe(ErrorCode.FlowControlError);
  });

  it("may be more when its reader has enlarged the window, which one announcement says", () => {
    const server = new RecordedServer();
    server.consumes = false;
    server.receive(headers(1, REQUEST));
    for (let i = 0; i < 8; i++) server.receive(data(1, bytesOf(16_384)));
    server.requests[0]?.stream?.consumed(Number.POSITIVE_INFINITY, 4 * WINDOW);
    expect(updates(server.frames())).toEqual([[1, 8 * 16_384 + 3 * WINDOW]]);
    for (let i = 0; i < 64; i++) server.receive(data(1, bytesOf(16_384)));
    expect([updates(server.frames()), server.over]).toEqual([[], undefined]);
    server.receive(data(1, "a"));
    expect(server.over?.code).toBe(ErrorCode.FlowControlError);
  });

  it("may not be more than the window of the connection", () => {
    const server = new RecordedServer();
    server.consumes = false;
    for (let id = 1; id < 40; id += 2) server.receive(headers(id, REQUEST));
    for (let i = 0; i < 256; i++) server.receive(data(1 + 2 * (i % 20), bytesOf(16_384)));
    expect(server.over).toBeUndefined();
    server.receive(data(1, "a"));
    expect(server.over?.code).toBe(ErrorCode.FlowControlError);
  });

  it("is given back to the connection on receipt, and to its stream when it is consumed", () => {
    const server = new RecordedServer();
    server.consumes = false;
    for (let id = 1; id < 100; id += 2) server.receive(headers(id, REQUEST));
    const given: ReturnType<typeof updates> = [];
    for (const { stream } of server.requests) {
      for (let i = 0; i < 16; i++) server.receive(data(stream?.id ?? 0, bytesOf(16_384)));
      given.push(...updates(server.frames()));
    }
    expect(server.over).toBeUndefined();
    expect(new Set(given.map(([id]) => id))).toEqual(new Set([0]));
    const [first] = server.requests;
    first?.stream?.consumed(Number.POSITIVE_INFINITY);
    expect(updates(server.frames())).toEqual([[1, WINDOW]]);
    server.receive(data(3, "a"));
    expect(server.over?.code).toBe(ErrorCode.FlowControlError);
  });

  it("counts with its padding, which is given back at once", () => {
    const server = new RecordedServer();
    server.consumes = false;
    server.receive(headers(1, REQUEST));
    const padded = frame(FrameType.Data, PADDED, 1, [255, 97, ...new Uint8Array(255)]);
    for (let i = 0; i < 4_000; i++) {
      server.receive(padded);
      server.bytes();
    }
    expect([server.over, server.requests[0]?.bytes.length]).toEqual([undefined, 4_000]);
  });

  it("is announced for no stream that has ended", () => {
    const server = new RecordedServer();
    server.consumes = false;
    server.receive(headers(1, REQUEST));
    for (let i = 0; i < 15; i++) server.receive(data(1, bytesOf(16_384), i === 14 ? END_STREAM : 0));
    server.requests[0]?.stream?.consumed(15 * 16_384);
    expect(updates(server.frames())).toEqual([]);
  });

  it("and not read is given back to the connection when its stream is reset", () => {
    const server = new RecordedServer();
    server.consumes = false;
    for (let id = 1; id < 100; id += 2) {
      server.receive(headers(id, REQUEST));
      for (let i = 0; i < 8; i++) server.receive(data(id, bytesOf(16_384)));
      server.receive(rst(id));
      server.bytes();
    }
    expect(server.over).toBeUndefined();
  });
});

it("a change of the window also affects streams that wait", () => {
  const client = new RecordedClient(false);
  client.receive(settings([Setting.MaxConcurrentStreams, 1]), settingsAck());
  client.bytes();
  client.open();
  const waiting = client.open(bytesOf(10));
  client.receive(settings([Setting.InitialWindowSize, 4]));
  client.bytes();
  client.receive(headers(1, RESPONSE, END_HEADERS | END_STREAM));
  expect(lengths(client.frames())).toEqual([[3, 4]]);
  expect(waiting.stream?.unsent).toBe(6);
});

it("padded data of a stream that is reset while its frame arrives is credited to the connection", () => {
  const server = new RecordedServer();
  // Together they are three times as large as the window of the connection.
  for (let id = 1; id < 2_400; id += 2) {
    const padded = frame(FrameType.Data, PADDED, id, [0, ...bytesOf(9_999)]);
    server.receive(headers(id, REQUEST), padded.subarray(0, 9));
    server.requests.at(-1)?.stream?.reset(ErrorCode.NoError);
    server.receive(padded.subarray(9));
    server.bytes();
    expect([id, server.over]).toEqual([id, undefined]);
  }
});

describe("trailers that wait for the window", () => {
  const trailers = frozen("grpc-status", "0", "x", "y".repeat(200));
  const size = 11 + 1 + 32 + 1 + 200 + 32;

  it.each([
    ["that are as large as the client allows are sent", size, undefined, [FrameType.Data, FrameType.Headers]],
    ["that the client no longer allows reset their stream only", size, 100, [FrameType.Data, FrameType.RstStream]],
  ] as const)("%s", (_, allowed, lowered, types) => {
    const server = new RecordedServer();
    server.receive(settings([Setting.InitialWindowSize, 0], [Setting.MaxHeaderListSize, allowed]));
    server.receive(headers(1, REQUEST, END_HEADERS | END_STREAM), headers(3, REQUEST));
    server.requests[0]?.stream?.respond(200, NONE, bytesOf(10), trailers, true);
    if (lowered !== undefined) server.receive(settings([Setting.MaxHeaderListSize, lowered]));
    server.bytes();
    server.receive(windowUpdate(1, 1_000));
    expect(server.frames().map(({ type }) => type)).toEqual(types);
    expect([server.over, server.requests[1]?.reset]).toEqual([undefined, undefined]);
  });
});
