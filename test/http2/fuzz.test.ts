/** Arbitrary input: nothing is thrown, memory is bounded, and the output is valid HTTP/2. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { FrameType } from "../../runtime/src/http2/codes.ts";
import {
  data,
  END_HEADERS,
  END_STREAM,
  frame,
  headers,
  PREFACE,
  REQUEST,
  RESPONSE,
  settings,
} from "./support/frames.ts";
import { bytesOf, frozen, RecordedClient, RecordedServer } from "./support/recorder.ts";
import { runs } from "./support/runs.ts";

const bytes = fc.uint8Array({ maxLength: 60 });

/** Frames that are almost valid. */
const nearly = fc
  .record({
    type: fc.oneof({ weight: 9, arbitrary: fc.nat(9) }, fc.nat(255)),
    flags: fc.oneof(fc.constantFrom(0, 1, 4, 5, 8, 0x20, 0x2d), fc.nat(255)),
    streamId: fc.constantFrom(0, 1, 2, 3, 5, 7, 0x7fff_ffff, 0xffff_ffff),
    payload: fc.oneof(
      bytes,
      fc.constantFrom(
        headers(1, REQUEST).subarray(9),
        headers(1, RESPONSE).subarray(9),
        Buffer.alloc(4, 1),
        Buffer.alloc(8),
      ),
    ),
    length: fc.option(fc.nat(70), { freq: 20 }),
  })
  .map(({ type, flags, streamId, payload, length }) => frame(type, flags, streamId, payload, length ?? undefined));

const input = fc.array(fc.oneof({ weight: 6, arbitrary: nearly }, bytes), { maxLength: 12 });

const SCENES: Readonly<Record<string, () => RecordedServer | RecordedClient>> = {
  "a server that has received nothing": () => new RecordedServer({}, false),
  "a server that is open": () => {
    const server = new RecordedServer();
    server.onRequest = (stream, { ended }) =>
      ended && stream.respond(200, frozen(), bytesOf(40), frozen("x", "1"), true);
    server.receive(headers(1, REQUEST), headers(3, REQUEST, END_HEADERS | END_STREAM));
    return server;
  },
  "a server in a header block": () => {
    const server = new RecordedServer({}, false);
    server.receive(PREFACE, settings(), headers(1, REQUEST, 0));
    return server;
  },
  "a server that is leaving": () => {
    const server = new RecordedServer();
    server.receive(headers(1, REQUEST), data(1, "a"));
    server.connection.goAway(true);
    return server;
  },
  "a client": () => {
    const client = new RecordedClient();
    client.open(bytesOf(10));
    client.open(undefined, false);
    return client;
  },
};

describe.each(Object.entries(SCENES))("%s", (_name, make) => {
  it("survives any bytes, and sends nothing after its GOAWAY", () => {
    fc.assert(
      fc.property(input, (chunks) => {
        const side = make();
        side.bytes();
        for (const chunk of chunks) {
          side.receive(chunk);
          const frames = side.frames();
          const end = frames.findIndex(({ type, payload }) => type === FrameType.GoAway && payload[7] !== 0);
          if (end >= 0) expect(end).toBe(frames.length - 1);
        }
        expect(side.over?.cause).toBeUndefined();
        const { unsent, streams } = side.connection;
        expect(unsent + streams.blockBytes).toBeLessThan(200_000);
        if (side.over !== undefined) expect([side.bytes().length, side.connection.streams.size]).toEqual([0, 0]);
      }),
      runs(2_000),
    );
  });
});
