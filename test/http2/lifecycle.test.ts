/**
 * Dispatch of requests, and the end of streams and connections (RFC 9113, sections 5.4, 6.4, 6.7, 6.8 and 8.1).
 */
import { describe, expect, it } from "vitest";
import { NotOpen } from "../../runtime/src/http2/client.ts";
import { ErrorCode, FrameType, MAX_31_BITS, Setting } from "../../runtime/src/http2/codes.ts";
import {
  ACK,
  block,
  data,
  END_HEADERS,
  END_STREAM,
  type Frame,
  frame,
  goAway,
  headers,
  ping,
  REQUEST,
  RESPONSE,
  rst,
  settings,
  windowUpdate,
} from "./support/frames.ts";
import { bytesOf, frozen, Heard, RecordedClient, RecordedServer } from "./support/recorder.ts";

const END = END_HEADERS | END_STREAM;
const NONE = frozen();
const TRAILERS = frozen("grpc-status", "0");

const goAways = (frames: readonly Frame[]): number[][] =>
  frames
    .filter(({ type }) => type === FrameType.GoAway)
    .map(({ payload }) => [Buffer.from(payload).readUInt32BE(0), Buffer.from(payload).readUInt32BE(4)]);

const types = (frames: readonly Frame[]): number[] => frames.map(({ type }) => type);

describe("received bytes", () => {
  const request = (id: number): Uint8Array => headers(id, REQUEST, END);

  it("are taken up to a number of frames, whose requests are handed out at once", () => {
    const server = new RecordedServer();
    server.receive(settings());
    const frames = [request(1), request(3), ping(), request(5)];
    const chunk = Buffer.concat(frames);
    const cost = 1 + Math.floor((request(1).length - 9) / 32);
    const taken = server.connection.receive(chunk, 2 * cost + 1);
    expect(taken).toBe(chunk.length - request(5).length);
    expect(server.requests).toHaveLength(2);
    expect(server.connection.receive(chunk.subarray(taken), 1)).toBe(request(5).length);
    expect(server.requests).toHaveLength(3);
  });

  it("are taken up to fewer frames if these have long header blocks", () => {
    const server = new RecordedServer();
    server.receive(settings());
    const long = headers(1, [...REQUEST, "x-long", "x".repeat(3_200)], END);
    const chunk = Buffer.concat([long, request(3)]);
    expect(server.connection.receive(chunk, 100)).toBe(long.length);
    expect(server.requests).toHaveLength(1);
  });

  it("are all taken after the end of the connection", () => {
    const server = new RecordedServer();
    server.receive(settings());
    const chunk = Buffer.concat([data(0, "a"), request(1), request(3)]);
    expect(server.connection.receive(chunk, 1)).toBe(chunk.length);
    expect(server.connection.receive(chunk, 1)).toBe(chunk.length);
    expect(server.requests).toEqual([]);
  });
});

describe("a request", () => {
  it("is handed out at the end of its chunk, with all data that came in it", () => {
    const server = new RecordedServer();
    const seen: unknown[] = [];
    server.onRequest = (stream, heard) => seen.push([stream.id, stream.ended, String(heard.bytes)]);
    server.receive(
      Buffer.concat([headers(1, REQUEST), headers(3, REQUEST), data(1, "a"), data(3, "b"), data(1, "c", END_STREAM)]),
    );
    expect(seen).toEqual([
      [1, true, "ac"],
      [3, false, "b"],
    ]);
    expect(server.requests.map(({ ended }) => ended)).toEqual([true, false]);
  });

  it("is not dispatched if it is reset in the same chunk, and counts as a reset", () => {
    const server = new RecordedServer({ resetBurst: 5 });
    for (let id = 1; id < 11; id += 2) server.receive(Buffer.concat([headers(id, REQUEST, END), rst(id)]));
    expect([server.requests, server.connection.streams.size, server.over]).toEqual([[], 0, undefined]);
    server.receive(Buffer.concat([headers(11, REQUEST, END), rst(11)]));
    expect(server.over?.code).toBe(ErrorCode.EnhanceYourCalm);
  });

  it("is not handed out if its chunk ends the connection", () => {
    const server = new RecordedServer();
    server.receive(Buffer.concat([headers(1, REQUEST, END), data(0, "a")]));
    expect([server.requests, server.over?.code]).toEqual([[], ErrorCode.ProtocolError]);
  });

  it("gets no interim response that is larger than its client accepts", () => {
    const server = new RecordedServer();
    server.onRequest = (stream) => stream.inform();
    server.receive(settings([Setting.MaxHeaderListSize, 1]), headers(1, REQUEST));
    expect([server.over, types(server.frames())]).toEqual([undefined, [FrameType.Settings]]);
  });

  it("may be answered while it is dispatched", () => {
    const server = new RecordedServer();
    server.onRequest = (stream) => stream.respond(400, NONE, Buffer.from("no"), undefined, true);
    server.receive(headers(1, REQUEST, END), headers(3, REQUEST));
    expect(server.requests.map(({ closed, ended }) => [closed, ended])).toEqual([
      // The stream is closed by its response: nothing follows, not even the end of the request.
      [1, false],
      [1, false],
    ]);
    expect(types(server.frames())).toEqual([1, 0, 1, 0, FrameType.RstStream]);
  });

  it("stops the dispatch of further requests if it ends the connection", () => {
    const server = new RecordedServer();
    server.onRequest = () => server.connection.fail(ErrorCode.InternalError, "test");
    server.receive(Buffer.concat([headers(1, REQUEST, END), headers(3, REQUEST, END), headers(5, REQUEST, END)]));
    expect(server.requests).toHaveLength(1);
    expect(server.requests[0]?.closed).toBe(1);
    expect(goAways(server.frames())).toHaveLength(1);
  });

  it("whose handler throws ends the connection with INTERNAL_ERROR, once, and throws nothing", () => {
    const server = new RecordedServer();
    const cause = new Error("a mistake");
    server.onRequest = () => {
      throw cause;
    };
    server.receive(headers(1, REQUEST, END), headers(3, REQUEST, END));
    expect(server.events.filter(({ type }) => type === "over")).toEqual([
      { type: "over", code: ErrorCode.InternalError, text: "internal error", isLocal: true, cause },
    ]);
  });
});

describe("a unary response", () => {
  it("is its headers, data and trailers, one after another", () => {
    const server = new RecordedServer();
    server.receive(headers(1, REQUEST, END));
    server.requests[0]?.stream?.respond(200, NONE, Buffer.from("abc"), TRAILERS, true);
    expect(server.frames().map(({ type, flags }) => [type, flags])).toEqual([
      [FrameType.Headers, END_HEADERS],
      [FrameType.Data, 0],
      [FrameType.Headers, END],
    ]);
    expect([server.requests[0]?.closed, server.connection.streams.size]).toEqual([1, 0]);
    // An open connection may have further streams.
    expect(server.events).not.toContainEqual({ type: "idle" });
  });

  it("is a single frame without data and trailers", () => {
    const server = new RecordedServer();
    server.receive(headers(1, REQUEST, END));
    server.requests[0]?.stream?.respond(200, TRAILERS, undefined, undefined, true);
    expect(server.frames().map(({ type, flags }) => [type, flags])).toEqual([[FrameType.Headers, END]]);
  });

  it("before the end of its request is followed by RST_STREAM(NO_ERROR), and the rest of the request is ignored", () => {
    const server = new RecordedServer();
    server.receive(headers(1, REQUEST), data(1, "abc"));
    server.requests[0]?.stream?.respond(200, NONE, Buffer.from("abc"), TRAILERS, true);
    const frames = server.frames();
    expect(types(frames)).toEqual([FrameType.Headers, FrameType.Data, FrameType.Headers, FrameType.RstStream]);
    expect(Buffer.from(frames[3]?.payload ?? []).readUInt32BE()).toBe(ErrorCode.NoError);
    server.receive(data(1, "more", END_STREAM));
    expect([server.over, server.requests[0]?.ended]).toEqual([undefined, false]);
  });

  it("is dropped if its stream is closed, and never reaches another stream", () => {
    const server = new RecordedServer();
    server.receive(headers(1, REQUEST, END), rst(1), headers(3, REQUEST, END));
    const [gone] = server.requests;
    gone?.stream?.respond(200, NONE, Buffer.from("abc"), TRAILERS, true);
    gone?.stream?.inform();
    gone?.stream?.sendTrailers(TRAILERS);
    gone?.stream?.reset(ErrorCode.Cancel);
    expect([gone?.stream?.sendData(bytesOf(5), true), server.bytes().length]).toEqual([true, 0]);
  });

  it("has a header block of any size, in frames that nothing interrupts", () => {
    const server = new RecordedServer();
    server.receive(headers(1, REQUEST, END), headers(3, REQUEST, END));
    server.requests[0]?.stream?.respond(200, frozen("x-a", "v".repeat(40_000)), undefined, undefined, true);
    server.requests[1]?.stream?.respond(200, NONE, undefined, undefined, true);
    expect(server.frames().map(({ type, flags, streamId }) => [type, flags, streamId])).toEqual([
      [FrameType.Headers, END_STREAM, 1],
      [FrameType.Continuation, 0, 1],
      [FrameType.Continuation, END_HEADERS, 1],
      [FrameType.Headers, END, 3],
    ]);
  });

  it("is refused if the peer does not accept headers of its size, which counts as a reset", () => {
    const server = new RecordedServer({ resetBurst: 3 });
    server.receive(settings([Setting.MaxHeaderListSize, 60]));
    for (let id = 1; id <= 7; id += 2) {
      server.receive(headers(id, REQUEST, END));
      const large = frozen("x-a", "1234567890123456789");
      expect(() => server.requests.at(-1)?.stream?.respond(200, large, undefined, undefined, true)).toThrow(
        "the peer takes",
      );
    }
    expect(server.over?.code).toBe(ErrorCode.EnhanceYourCalm);
  });
});

describe("a reset", () => {
  it("is reported once and not answered if the peer sends it", () => {
    const client = new RecordedClient();
    const heard = client.open(undefined, false);
    client.bytes();
    client.receive(rst(1, ErrorCode.RefusedStream), rst(1), rst(1));
    expect([heard.reset, heard.closed]).toEqual([
      { code: ErrorCode.RefusedStream, by: "peer", isUnprocessed: true },
      1,
    ]);
    expect(client.bytes()).toHaveLength(0);
  });

  it("is sent after the HEADERS queued before it, because these change the tables of the peer", () => {
    const client = new RecordedClient();
    const heard = client.open();
    heard.stream?.reset(ErrorCode.Cancel);
    heard.stream?.reset(ErrorCode.Cancel);
    expect([types(client.frames()), heard.closed, heard.reset]).toEqual([
      [FrameType.Headers, FrameType.RstStream],
      1,
      undefined,
    ]);
  });

  it("leaves no state if it is sent in any callback", () => {
    for (const name of ["onResponse", "onData", "onEnd"] as const) {
      const client = new RecordedClient();
      const heard = new Heard();
      heard[name] = () => heard.stream?.reset(ErrorCode.Cancel);
      heard.stream = client.role.open({ method: "POST", path: "/", headers: NONE }, heard, undefined, false);
      client.receive(
        Buffer.concat([headers(1, [":status", "100"]), headers(1, RESPONSE), data(1, "abc"), data(1, "d", END_STREAM)]),
      );
      expect([name, heard.closed, client.over, client.connection.streams.size]).toEqual([name, 1, undefined, 0]);
    }
  });
});

describe("a graceful shutdown", () => {
  it("has two steps: requests sent before the client received the first are still served (section 6.8)", () => {
    const server = new RecordedServer();
    server.receive(headers(1, REQUEST, END));
    server.connection.goAway(false);
    server.connection.ping("shutdown");
    const [first, probe] = server.frames();
    expect(goAways(first ? [first] : [])).toEqual([[MAX_31_BITS, ErrorCode.NoError]]);
    server.receive(headers(3, REQUEST, END), ping(probe?.payload ?? [], ACK));
    expect(server.events.at(-1)).toEqual({ type: "pong", kind: "shutdown" });
    server.connection.goAway(true);
    expect(goAways(server.frames())).toEqual([[3, ErrorCode.NoError]]);
    // The request is decoded and counted, but neither dispatched nor answered.
    server.receive(headers(5, REQUEST), data(5, "abc", END_STREAM));
    expect([server.requests.length, server.bytes().length, server.over]).toEqual([2, 0, undefined]);
    for (const { stream } of server.requests) stream?.respond(200, NONE, undefined, undefined, true);
    expect(server.events.at(-1)).toEqual({ type: "idle" });
  });

  it("fails streams above the last stream as unprocessed, and opens no further ones", () => {
    const client = new RecordedClient();
    const calls = [client.open(), client.open(), client.open()];
    client.bytes();
    client.receive(goAway(MAX_31_BITS));
    expect(calls.map(({ closed }) => closed)).toEqual([0, 0, 0]);
    expect(() => client.open()).toThrow(NotOpen);
    client.receive(goAway(3));
    expect(calls.map(({ reset }) => reset?.isUnprocessed)).toEqual([undefined, undefined, true]);
    // The last stream id may be lowered, but not raised.
    client.receive(goAway(1), goAway(MAX_31_BITS));
    expect(calls.map(({ reset }) => reset?.isUnprocessed)).toEqual([undefined, true, true]);
    client.receive(headers(1, RESPONSE, END));
    expect([calls[0]?.ended, client.connection.streams.size, client.events.at(-1)]).toEqual([
      true,
      0,
      { type: "idle" },
    ]);
  });
});

describe("the end of a connection", () => {
  it("fails each stream, and marks those that the server cannot have processed", () => {
    const client = new RecordedClient(false);
    client.receive(settings([Setting.MaxConcurrentStreams, 2]));
    const sent = client.open();
    client.bytes();
    const unsent = client.open();
    const waiting = client.open();
    client.connection.lost("the socket closed");
    expect([sent, unsent, waiting].map(({ reset, closed }) => [reset?.isUnprocessed, closed])).toEqual([
      [false, 1],
      [true, 1],
      [true, 1],
    ]);
    expect(client.over).toMatchObject({ isLocal: false, text: "the socket closed" });
  });

  it("does not send the requests that it marks as unprocessed when it fails itself", () => {
    const client = new RecordedClient();
    const sent = client.open();
    client.bytes();
    const unsent = client.open(bytesOf(100));
    client.receive(data(0, "a"));
    expect([sent, unsent].map(({ reset }) => reset?.isUnprocessed)).toEqual([false, true]);
    expect(types(client.frames())).toEqual([FrameType.GoAway]);
  });

  it("does not send the requests that it marks as unprocessed after the server's side has ended", () => {
    const client = new RecordedClient();
    const sent = client.open();
    client.bytes();
    const unsent = client.open();
    client.connection.receiveEnd();
    expect([sent, unsent].map(({ reset }) => reset?.isUnprocessed)).toEqual([false, true]);
    expect(client.frames()).toEqual([]);
  });

  it.each<[string, (i: number) => Uint8Array]>([
    ["SETTINGS", () => settings()],
    ["PING", () => ping()],
    ["GOAWAY", () => goAway(MAX_31_BITS)],
    ["WINDOW_UPDATE", () => windowUpdate(0, 1)],
    [
      "table size updates",
      (i) => frame(FrameType.Headers, END, 2 * i + 3, Buffer.concat([Buffer.of(0x20, 0x20), block(REQUEST)])),
    ],
  ])("sends nothing and reports nothing after it, if it is caused by %s", (_, make) => {
    const server = new RecordedServer({ resetBurst: 1e9, maxHandlers: 1e9 });
    server.onRequest = (stream) => stream.respond(200, NONE, undefined, undefined, true);
    let sent: Frame[] = [];
    for (let i = 0; server.over === undefined && i < 20_000; i++) {
      server.receive(make(i));
      sent = server.frames();
    }
    expect(server.over?.code).toBe(ErrorCode.EnhanceYourCalm);
    expect(sent.at(-1)?.type).toBe(FrameType.GoAway);
    expect(server.events.at(-1)?.type).toBe("over");
    expect(server.connection.streams.size).toBe(0);
  });

  it("leaves no part of a frame behind its GOAWAY when it ends while frames are written", () => {
    const server = new RecordedServer();
    server.receive(settings([Setting.InitialWindowSize, 1]), headers(1, REQUEST, END));
    server.requests[0]?.stream?.respond(200, NONE, bytesOf(60_000), undefined, true);
    let sent: Frame[] = [];
    for (let i = 0; server.over === undefined && i < 2_000; i++) {
      server.receive(windowUpdate(1, 1));
      sent = server.frames();
    }
    expect([server.over?.code, server.over?.text]).toEqual([
      ErrorCode.EnhanceYourCalm,
      "too many frames without progress",
    ]);
    expect(types(sent)).toEqual([FrameType.GoAway]);
    expect([server.connection.unsent, server.frames()]).toEqual([0, []]);
  });

  it("sends GOAWAY with the last accepted stream and the reason, once", () => {
    const server = new RecordedServer();
    server.receive(headers(1, REQUEST, END), headers(7, REQUEST, END));
    server.receive(Buffer.concat([ping(), data(0, "a"), data(0, "a")]));
    server.connection.fail(ErrorCode.InternalError, "again");
    server.connection.goAway(true);
    expect(goAways(server.frames())).toEqual([[7, ErrorCode.ProtocolError]]);
    expect(server.requests.map(({ reset, closed }) => [reset?.by, closed])).toEqual([
      ["connection", 1],
      ["connection", 1],
    ]);
  });

  it("fails incomplete requests if only the peer's side ends, and lets the others be answered", () => {
    const server = new RecordedServer();
    server.receive(headers(1, REQUEST, END), headers(3, REQUEST));
    server.connection.receiveEnd();
    expect(server.requests.map(({ closed }) => closed)).toEqual([0, 1]);
    server.requests[0]?.stream?.respond(200, NONE, Buffer.from("abc"), TRAILERS, true);
    expect(types(server.frames())).toEqual([FrameType.Headers, FrameType.Data, FrameType.Headers]);
  });

  it("drops the responses that have no window if only the peer's side ends, before and after they are given", () => {
    const server = new RecordedServer();
    server.receive(settings([Setting.InitialWindowSize, 10]));
    for (let id = 1; id < 8; id += 2) server.receive(headers(id, REQUEST, END));
    const [before, partial, after, small] = server.requests.map(({ stream }) => stream);
    before?.respond(200, NONE, new Uint8Array(2 ** 20), TRAILERS, true);
    partial?.respond(200, NONE, undefined, undefined, false);
    partial?.sendData(new Uint8Array(10), false);
    server.bytes();
    const { streams } = server.connection;
    expect(streams.blockBytes + server.connection.unsent).toBeGreaterThan(2 ** 20 - 20);
    server.connection.receiveEnd();
    server.bytes();
    expect(streams.blockBytes + server.connection.unsent).toBeLessThan(10_000);
    expect(server.requests.map(({ closed }) => closed)).toEqual([1, 0, 0, 0]);
    expect(server.requests[0]?.reset).toEqual({ code: ErrorCode.Cancel, by: "connection", isUnprocessed: false });
    after?.respond(200, NONE, new Uint8Array(2 ** 20), TRAILERS, true);
    partial?.sendData(new Uint8Array(1), false);
    small?.respond(200, NONE, new Uint8Array(10), TRAILERS, true);
    expect(
      server
        .frames()
        .filter(({ streamId }) => streamId === 7)
        .map(({ type }) => type),
    ).toEqual([FrameType.Headers, FrameType.Data, FrameType.Headers]);
    expect(server.requests.map(({ closed, reset }) => [closed, reset?.code])).toEqual([
      [1, ErrorCode.Cancel],
      [1, ErrorCode.Cancel],
      [1, ErrorCode.Cancel],
      [1, undefined],
    ]);
    expect(server.connection.streams.size).toBe(0);
  });

  it("has nothing more to send after the reset of a stream whose data waited for the socket", () => {
    const server = new RecordedServer();
    server.receive(headers(1, REQUEST, END));
    const stream = server.requests[0]?.stream;
    // The socket is full: a budget of 0.
    server.connection.take(0);
    stream?.respond(200, NONE, undefined, undefined, false);
    stream?.sendData(new Uint8Array(10_000), false);
    expect(server.connection.hasMore).toBe(true);
    stream?.reset(ErrorCode.Cancel);
    server.connection.take(0);
    expect(server.connection.hasMore).toBe(false);
  });
});

describe("pings", () => {
  it("are sent one at a time for each kind, and matched with their acknowledgements", () => {
    const client = new RecordedClient();
    expect([client.connection.ping("keepalive"), client.connection.ping("keepalive")]).toEqual([true, false]);
    const [sent] = client.frames();
    client.receive(ping(new Uint8Array(8), ACK));
    expect(client.events.some(({ type }) => type === "pong")).toBe(false);
    client.receive(ping(sent?.payload ?? [], ACK));
    expect(client.events.at(-1)).toEqual({ type: "pong", kind: "keepalive" });
    expect(client.connection.ping("keepalive")).toBe(true);
  });
});

describe("the server's limit of streams", () => {
  it("lets calls wait, which can be cancelled, and starts the others when streams are available", () => {
    const client = new RecordedClient(false);
    client.receive(settings([Setting.MaxConcurrentStreams, 0]));
    client.bytes();
    const calls = [client.open(Buffer.from("a")), client.open(), client.open(Buffer.from("c"))];
    expect([client.bytes().length, client.connection.streams.size, client.connection.peer.maxStreams]).toEqual([
      0, 3, 0,
    ]);
    calls[1]?.stream?.reset(ErrorCode.Cancel);
    client.receive(settings([Setting.MaxConcurrentStreams, 5]));
    expect(
      client
        .frames()
        .map(({ type, streamId }) => [type, streamId])
        .filter(([type]) => type !== FrameType.Settings),
    ).toEqual([
      [FrameType.Headers, 1],
      [FrameType.Headers, 3],
      [FrameType.Data, 1],
      [FrameType.Data, 3],
    ]);
    expect(calls.map(({ closed }) => closed)).toEqual([0, 1, 0]);
  });

  it("fails waiting calls as unprocessed when the client sends GOAWAY, and lets the others finish", () => {
    const client = new RecordedClient(false);
    client.receive(settings([Setting.MaxConcurrentStreams, 1]));
    const calls = [client.open(), client.open(bytesOf(10)), client.open()];
    client.bytes();
    client.connection.goAway(true);
    expect(calls.map(({ reset, closed }) => [reset?.isUnprocessed, closed])).toEqual([
      [undefined, 0],
      [true, 1],
      [true, 1],
    ]);
    client.receive(headers(1, RESPONSE, END));
    expect([calls[0]?.ended, client.connection.streams.size, client.events.at(-1)]).toEqual([
      true,
      0,
      { type: "idle" },
    ]);
    expect(types(client.frames())).toEqual([FrameType.GoAway]);
  });

  it("starts waiting calls in their order, also after others were cancelled, with the window of the last SETTINGS", () => {
    const client = new RecordedClient(false);
    client.receive(settings([Setting.MaxConcurrentStreams, 0], [Setting.InitialWindowSize, 1_000]));
    const calls = Array.from({ length: 6 }, () => client.open(bytesOf(20)));
    for (const index of [4, 0, 2]) calls[index]?.stream?.reset(ErrorCode.Cancel);
    client.receive(settings([Setting.InitialWindowSize, 15]));
    client.receive(settings([Setting.MaxConcurrentStreams, 1]));
    const later = client.open();
    client.bytes();
    client.receive(settings([Setting.MaxConcurrentStreams, 10]));
    client.bytes();
    expect([...calls, later].map(({ stream }) => [stream?.id, stream?.unsent])).toEqual([
      [0, 0],
      [1, 5],
      [0, 0],
      [3, 5],
      [0, 0],
      [5, 5],
      [7, 0],
    ]);
  });

  // With a search of the list for each of them, it takes more than 20 seconds.
  it("takes time in proportion to the waiting calls to cancel them", { timeout: 15_000 }, () => {
    const client = new RecordedClient(false);
    client.receive(settings([Setting.MaxConcurrentStreams, 0]));
    const calls = Array.from({ length: 100_000 }, () => client.open(bytesOf(5)));
    for (const { stream } of calls.reverse()) stream?.reset(ErrorCode.Cancel);
    expect(client.connection.streams.size).toBe(0);
  });

  it("counts streams that are half closed, and closes none when it is lowered (section 5.1.2)", () => {
    const client = new RecordedClient();
    client.open();
    client.open();
    client.receive(settings([Setting.MaxConcurrentStreams, 1]));
    const waiting = client.open();
    client.receive(headers(1, RESPONSE, END));
    expect(waiting.stream?.id).toBe(0);
    client.receive(headers(3, RESPONSE, END));
    expect(waiting.stream?.id).toBe(5);
  });
});

it("output is announced once until it is taken", () => {
  const server = new RecordedServer();
  const before = server.wire.wakes;
  server.receive(ping(), ping());
  server.receive(ping());
  expect(server.wire.wakes).toBe(before + 1);
  server.bytes();
  server.receive(ping());
  expect(server.wire.wakes).toBe(before + 2);
});
