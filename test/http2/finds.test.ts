/**
 * Sequences of frames that fuzzing and the comparison with other servers have found: each has the one reaction that the RFCs
 * and the list of intended differences name, whatever the boundaries of chunks are.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { FrameType } from "../../runtime/src/http2/codes.ts";
import { END_HEADERS, END_STREAM, headers, PREFACE, RESPONSE, settings } from "./support/frames.ts";
import { frozen, Heard, RecordedClient, RecordedServer } from "./support/recorder.ts";

interface Find {
  readonly name: string;
  /** The section that decides, and the command that found the sequence. */
  readonly section: string;
  readonly found: string;
  /** The frames of the client after its preface and SETTINGS, in hexadecimal. */
  readonly frames: readonly string[];
  /** RST_STREAM frames of the server: stream and error code. */
  readonly resets: readonly (readonly [stream: number, code: number])[];
  /** The error code of the end of the connection; `null` if it stays open. */
  readonly over: number | null;
  /** Number of requests that reach the server. */
  readonly requests: number;
}

const finds: readonly Find[] = JSON.parse(readFileSync(join(import.meta.dirname, "fixtures/finds.json"), "utf8"));

const cuts: Readonly<Record<string, (frames: readonly Buffer[]) => Buffer[]>> = {
  "in one chunk": (frames) => [Buffer.concat(frames)],
  "in one chunk each": (frames) => frames.map((one) => Buffer.from(one)),
  "in single bytes": (frames) => Array.from(Buffer.concat(frames), (byte) => Buffer.of(byte)),
};

describe.each(Object.entries(cuts))("a server that receives %s", (_, cut) => {
  it.each(finds)("$name: reacts as $section says", ({ frames, resets, over, requests }) => {
    const server = new RecordedServer({}, false);
    for (const chunk of cut([PREFACE, settings(), ...frames.map((hex) => Buffer.from(hex, "hex"))])) {
      server.receive(chunk);
      chunk.fill(0xff);
    }
    const sent = server.frames().filter(({ type }) => type === FrameType.RstStream);
    expect({
      resets: sent.map(({ streamId, payload }) => [streamId, Buffer.from(payload).readUInt32BE()]),
      over: server.over?.code ?? null,
      requests: server.requests.length,
    }).toEqual({ resets, over, requests });
  });
});

describe("a client", () => {
  it("ignores a response after an informational one that ended its stream, which it has reset", () => {
    const client = new RecordedClient();
    const failed = client.open();
    const other = client.open();
    client.receive(headers(1, [":status", "103"], END_HEADERS | END_STREAM));
    client.receive(headers(1, RESPONSE));
    client.receive(headers(3, RESPONSE));
    expect(failed.reset).toBeDefined();
    expect(client.over).toBeUndefined();
    expect(other.block?.status).toBe(200);
  });

  it("refuses a request that is too large for the server, although an equal one waits since before its limit", () => {
    const client = new RecordedClient(false);
    const open = (): Heard => {
      const heard = new Heard();
      const head = { method: "POST", path: "/a.B/C", headers: LARGE };
      heard.stream = client.role.open(head, heard, undefined, true);
      return heard;
    };
    client.receive(settings([3, 1]));
    const first = open();
    open();
    client.receive(settings([6, 100]));
    first.stream?.reset(8);
    expect(open).toThrow(/ are more than the 100 that the peer takes$/);
  });
});

/** Constant fields of more than 100 bytes. */
const LARGE = frozen("te", "trailers", "x", "y".repeat(100));
