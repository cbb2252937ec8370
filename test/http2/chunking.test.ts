/**
 * The boundaries of chunks have no effect, and no reference to a chunk is kept: its buffer may be overwritten
 * afterwards.
 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { FrameType, Setting } from "../../runtime/src/http2/codes.ts";
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
import { bytesOf, frozen, type Heard, RecordedClient, RecordedServer } from "./support/recorder.ts";
import { runs } from "./support/runs.ts";

const END = END_HEADERS | END_STREAM;

/** The bytes that a client sends, one chunk each. */
const TO_SERVERS: Readonly<Record<string, Buffer>> = {
  calls: Buffer.concat([
    ...[PREFACE, settings([Setting.InitialWindowSize, 100], [Setting.HeaderTableSize, 0])],
    ...[headers(1, REQUEST), data(1, bytesOf(300)), headers(3, REQUEST, END), data(1, bytesOf(20), END_STREAM)],
    ...[ping(), windowUpdate(1, 50), windowUpdate(0, 1_000), frame(FrameType.Settings, ACK, 0, [])],
    ...[headers(5, [...REQUEST, "content-length", "3"]), data(5, "abc"), headers(5, ["x-trailer", "1"], END)],
    ...[headers(7, REQUEST), rst(7), headers(9, REQUEST, END), goAway(0)],
  ]),
  oddities: Buffer.concat([
    ...[PREFACE, settings(), frame(0xbe, 3, 7, bytesOf(40)), frame(FrameType.Priority, 0, 3, [...uint32(1), 7])],
    frame(FrameType.Headers, PADDED | PRIORITY | END_STREAM, 1, [
      3,
      ...uint32(0),
      9,
      ...block(REQUEST).subarray(0, 20),
      0,
      0,
      0,
    ]),
    ...[
      frame(FrameType.Continuation, 0, 1, []),
      frame(FrameType.Continuation, END_HEADERS, 1, block(REQUEST).subarray(20)),
    ],
    ...[headers(3, REQUEST), frame(FrameType.Data, PADDED, 3, [4, ...bytesOf(30), 0, 0, 0, 0]), data(3, "")],
    ...[frame(FrameType.Data, PADDED | END_STREAM, 3, [2, 0, 0])],
    ...[frame(FrameType.Headers, END, 5, Buffer.concat([Buffer.from("\x40\x03x-a\x011", "latin1"), block(REQUEST)]))],
    ...[headers(7, [":method", "GET"], END), headers(9, [...REQUEST, "content-length", "1"]), data(9, "ab")],
  ]),
  "an error in the end": Buffer.concat([
    ...[PREFACE, settings(), headers(1, REQUEST, END), ping(), data(0, bytesOf(10)), headers(3, REQUEST, END), ping()],
  ]),
};

/** The bytes that a server sends in three calls. */
const TO_CLIENTS: Readonly<Record<string, Buffer>> = {
  responses: Buffer.concat([
    ...[settings([Setting.MaxConcurrentStreams, 100]), headers(1, [":status", "103"]), headers(1, RESPONSE)],
    ...[
      data(1, bytesOf(500)),
      headers(3, RESPONSE),
      headers(1, ["grpc-status", "0"], END),
      ping(),
      data(3, bytesOf(70)),
    ],
    ...[rst(3, 2), headers(5, [...RESPONSE, "content-length", "4"]), data(5, "abcd", END_STREAM), goAway(5)],
  ]),
  errors: Buffer.concat([
    ...[
      settings(),
      headers(1, [":status", "x"]),
      data(1, "abc"),
      headers(3, RESPONSE),
      data(3, "abc"),
      headers(5, RESPONSE),
    ],
    ...[frame(FrameType.PushPromise, END_HEADERS, 5, uint32(2)), headers(5, ["grpc-status", "0"], END)],
  ]),
};

/** The events of a stream, independent of chunks. A request that is reset may or may not have been dispatched before. */
function normalOf(heard: Heard): unknown {
  if (heard.reset !== undefined) return { reset: heard.reset.code, by: heard.reset.by };
  const { block: head, bytes, ended, trailers, closed } = heard;
  return { fields: head?.fields, bytes: bytes.toString("hex"), ended, trailers, closed };
}

interface Outcome {
  readonly streams: readonly unknown[];
  readonly over: unknown;
  readonly frames: readonly string[];
}

/** Frames whose order between streams and whose number may depend on chunks. */
function framesOf(side: RecordedServer | RecordedClient): string[] {
  return side
    .frames()
    .filter(({ type }) => type !== FrameType.WindowUpdate && type !== FrameType.Data && type !== FrameType.Headers)
    .map(({ type, flags, streamId, payload }) => `${streamId} ${type} ${flags} ${Buffer.from(payload).toString("hex")}`)
    .sort();
}

/** Receives chunks, and overwrites each of them afterwards. */
function feed(side: RecordedServer | RecordedClient, chunks: readonly Buffer[]): void {
  for (const chunk of chunks) {
    const copy = Buffer.from(chunk);
    side.receive(copy);
    copy.fill(0xff);
  }
}

function serve(chunks: readonly Buffer[]): Outcome {
  const server = new RecordedServer({}, false);
  feed(server, chunks);
  for (const { stream, ended } of server.requests)
    if (ended) stream?.respond(200, frozen("x-a", "1"), bytesOf(10), frozen("x", "1"), true);
  const streams = server.requests.filter(({ reset }) => reset === undefined).map(normalOf);
  const { code, text } = server.over ?? {};
  return {
    streams: code === undefined ? streams : [],
    over: code === undefined ? undefined : [code, text],
    frames: framesOf(server),
  };
}

function call(chunks: readonly Buffer[]): Outcome {
  const client = new RecordedClient(false);
  const calls = [client.open(bytesOf(10)), client.open(undefined, false), client.open()];
  client.bytes();
  feed(client, chunks);
  const { code, text } = client.over ?? {};
  return { streams: calls.map(normalOf), over: [code, text], frames: framesOf(client) };
}

/** Splits bytes at the given positions. */
function cut(bytes: Buffer, positions: readonly number[]): Buffer[] {
  const sorted = [0, ...[...positions].sort((a, b) => a - b), bytes.length];
  return sorted.slice(1).map((end, i) => bytes.subarray(sorted[i], end));
}

const dialogues = [
  ...Object.entries(TO_SERVERS).map(([name, bytes]) => [`a server that receives ${name}`, bytes, serve] as const),
  ...Object.entries(TO_CLIENTS).map(([name, bytes]) => [`a client that receives ${name}`, bytes, call] as const),
];

describe.each(dialogues)("%s", (_name, bytes, run) => {
  const whole = run([bytes]);

  it("has the same result for bytes one by one and all at once", () => {
    expect(run(Array.from(bytes, (_, i) => bytes.subarray(i, i + 1)))).toEqual(whole);
  });

  it("does the same wherever the bytes are cut in two", () => {
    for (let at = 1; at < bytes.length; at++) expect([at, run(cut(bytes, [at]))]).toEqual([at, whole]);
  });

  it("does the same wherever the bytes are cut", () => {
    fc.assert(
      fc.property(fc.array(fc.nat(bytes.length), { maxLength: 12 }), (positions) => {
        expect(run(cut(bytes, positions))).toEqual(whole);
      }),
      runs(500),
    );
  });
});
