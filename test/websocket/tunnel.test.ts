/** The server's end of a WebSocket with a connection in it: frames in any chunks, control frames and refusals. */
import fc from "fast-check";
import { expect, it } from "vitest";
import { WebSocketTunnel } from "../../runtime/src/websocket/tunnel.ts";
import type { ByteConnection, Segments } from "../../runtime/src/wire/output.ts";

const HANDSHAKE = Buffer.from("101");

/** A connection that keeps what it receives. With a number of frames it takes at most that many bytes, as a busy one does. */
class Inner implements ByteConnection {
  readonly unsent = 0;
  readonly framed = 0;
  readonly hasMore = false;
  isOver = false;
  reason: string | undefined;
  readonly chunks: Uint8Array[] = [];
  output: Uint8Array[] = [];

  receive(chunk: Uint8Array, frames = chunk.length): number {
    const taken = Math.min(frames, chunk.length);
    this.chunks.push(chunk.slice(0, taken));
    return taken;
  }

  get received(): Buffer {
    return Buffer.concat(this.chunks);
  }

  receiveEnd(): void {}

  take(): Segments {
    const parts = this.output;
    this.output = [];
    return { parts, slabs: [], bytes: parts.reduce((sum, { length }) => sum + length, 0) };
  }

  block(): void {}

  lost(text: string): void {
    this.isOver = true;
    this.reason = text;
  }
}

class Tunnel {
  readonly inner = new Inner();
  wakes = 0;
  readonly tunnel = new WebSocketTunnel(this.inner, HANDSHAKE, () => this.wakes++);

  /** Passes a copy of the bytes on, because the tunnel unmasks in place. */
  receive(bytes: Uint8Array, frames?: number): void {
    let rest: Uint8Array = Uint8Array.from(bytes);
    while (rest.length > 0) rest = rest.subarray(this.tunnel.receive(rest, frames));
  }

  take(): Buffer {
    return Buffer.concat(this.tunnel.take(1_000_000).parts);
  }
}

const MASK = [0x12, 0x34, 0x56, 0x78] as const;

/** A frame of a client: `second` has the length and the mask bit. */
function frameOf(first: number, payload: Uint8Array, second?: number): Buffer {
  const { length } = payload;
  const head = [first, second ?? 0x80 | (length < 126 ? length : length < 65_536 ? 126 : 127)];
  const size = Buffer.alloc(length < 126 ? 0 : length < 65_536 ? 2 : 8);
  if (size.length === 2) size.writeUInt16BE(length);
  else if (size.length === 8) size.writeBigUInt64BE(BigInt(length));
  return Buffer.concat([
    Buffer.from(head),
    size,
    Buffer.from(MASK),
    payload.map((byte, i) => byte ^ (MASK[i & 3] ?? 0)),
  ]);
}

const fragments = fc.array(
  fc.oneof(
    { weight: 8, arbitrary: fc.uint8Array({ maxLength: 200 }) },
    { weight: 1, arbitrary: fc.constantFrom(125, 126, 65_535, 65_536).map((length) => new Uint8Array(length).fill(7)) },
  ),
  { minLength: 1, maxLength: 4 },
);

it("passes the content of messages on, in any frames and chunks, with pings between them", () => {
  fc.assert(
    fc.property(
      fc.array(fragments, { maxLength: 5 }),
      fc.array(fc.nat(300), { maxLength: 30 }),
      fc.constantFrom(undefined, 7, 1_000),
      fc.boolean(),
      (messages, sizes, frames, pings) => {
        const one = new Tunnel();
        const ping = pings ? frameOf(0x89, Buffer.from("p")) : Buffer.alloc(0);
        const bytes = Buffer.concat(
          messages.flatMap((parts) =>
            parts.flatMap((part, i) => {
              const first = (i === 0 ? 2 : 0) | (i === parts.length - 1 ? 0x80 : 0);
              return [frameOf(first, part), ping];
            }),
          ),
        );
        let at = 0;
        for (const size of [...sizes, bytes.length]) {
          one.receive(bytes.subarray(at, at + size), frames);
          at += size;
        }
        expect(one.inner.reason).toBeUndefined();
        expect(one.inner.received.equals(Buffer.concat(messages.flat()))).toBe(true);
        const pong = pings && messages.length > 0 ? Buffer.from([0x8a, 1, 0x70]) : Buffer.alloc(0);
        expect(one.take()).toEqual(Buffer.concat([HANDSHAKE, pong]));
      },
    ),
  );
});

const EMPTY = new Uint8Array();
const refusals: readonly [name: string, bytes: Uint8Array, code: number][] = [
  ["without a mask", Buffer.from([0x82, 1, 0]), 1002],
  ["with a reserved bit", frameOf(0xc2, EMPTY), 1002],
  ["with text", frameOf(0x81, Buffer.from("a")), 1003],
  ["with an unknown opcode", frameOf(0x83, EMPTY), 1002],
  ["with an unknown opcode of a control frame", frameOf(0x8b, EMPTY), 1002],
  ["that continues nothing", frameOf(0x80, EMPTY), 1002],
  ["that interrupts a message", Buffer.concat([frameOf(0x02, EMPTY), frameOf(0x82, EMPTY)]), 1002],
  ["with a ping in parts", frameOf(0x09, EMPTY), 1002],
  ["with a ping of 126 bytes", frameOf(0x89, new Uint8Array(126)), 1002],
  ["of 2 ** 63 bytes", Buffer.from([0x82, 0xff, 0x80, 0, 0, 0, 0, 0, 0, 0, ...MASK]), 1009],
  ["with a close code in one byte", frameOf(0x88, Buffer.from([3])), 1002],
  ["with a reserved close code", frameOf(0x88, Buffer.from([3, 0xed])), 1002],
  ["with a close code", frameOf(0x88, Buffer.from([0x0f, 0xa0])), 4000],
  ["with a close", frameOf(0x88, EMPTY), 1000],
];

it.each(refusals)("ends after a frame %s", (_, bytes, code) => {
  const one = new Tunnel();
  one.take();
  one.receive(bytes);
  expect(one.inner.reason).toBeTypeOf("string");
  expect(one.take()).toEqual(Buffer.from([0x88, 2, code >> 8, code & 0xff]));
  one.receive(frameOf(0x82, Buffer.from("more")));
  expect(one.inner.received).toHaveLength(0);
  expect(one.take()).toHaveLength(0);
});

it.each([
  [0, []],
  [1, [0x82, 1]],
  [125, [0x82, 125]],
  [126, [0x82, 126, 0, 126]],
  [65_535, [0x82, 126, 0xff, 0xff]],
  [65_536, [0x82, 127, 0, 0, 0, 0, 0, 1, 0, 0]],
])("sends %i bytes of the connection as one message", (length, head) => {
  const one = new Tunnel();
  one.take();
  one.inner.output = [Buffer.alloc(length, 1)];
  expect(one.take().equals(Buffer.concat([Buffer.from(head), Buffer.alloc(length, 1)]))).toBe(true);
});

it("closes with 1000 after the last output of its connection", () => {
  const one = new Tunnel();
  one.inner.output = [Buffer.from("end")];
  one.inner.isOver = true;
  expect(one.take().toString("latin1")).toBe("101\x82\x03end\x88\x02\x03\xe8");
});

it("sends a ping after 30 s of silence, and ends with 1001 if there is no answer within 15 s", () => {
  const one = new Tunnel();
  one.take();
  const ping = "\x89\0";
  const at = (time: number): string => {
    one.tunnel.tick(time * 1_000);
    return one.take().toString("latin1");
  };
  expect([at(0), at(29), at(30), at(31)]).toEqual(["", "", ping, ""]);
  expect(one.wakes).toBe(1);
  one.receive(frameOf(0x8a, EMPTY));
  expect([at(40), at(69), at(70), at(84)]).toEqual(["", "", ping, ""]);
  expect(one.inner.isOver).toBe(false);
  expect(at(85)).toBe("\x88\x02\x03\xe9");
  expect(one.inner.isOver).toBe(true);
});

it.each([0x82, 0x89])("empty frames with the first byte %i count as frames of a step", (first) => {
  const { tunnel } = new Tunnel();
  const frames = Buffer.concat(Array.from({ length: 1_000 }, () => frameOf(first, new Uint8Array(0))));
  expect(tunnel.receive(frames, 128)).toBe((128 * frames.length) / 1_000);
});
