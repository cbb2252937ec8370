/**
 * snappy: the raw block, compared with the native implementation, and the framed stream, compared with recorded data.
 */
import fc from "fast-check";
import { compressSync, uncompressSync } from "snappy";
import { describe, expect, it } from "vitest";
import { compressBlock } from "../../runtime/src/codec/snappy/block.ts";
import { compressFrames } from "../../runtime/src/codec/snappy/snappy.ts";
import { framedSnappy, snappy } from "../../runtime/src/snappy.ts";

const LIMIT = 2 ** 20;

const compress = compressBlock;
const decompress = (bytes: Uint8Array, maxBytes = LIMIT): Uint8Array =>
  snappy.decompress(bytes, maxBytes) as Uint8Array;
const judge = (bytes: Uint8Array): Buffer => uncompressSync(bytes as Buffer, { asBuffer: true }) as Buffer;

/** Bytes with more or fewer repetitions, near or far, within a block of 64 KiB and beyond it. */
const messages = fc.oneof(
  fc.uint8Array({ maxLength: 300 }),
  fc
    .array(fc.constantFrom("ab", "abc", "Hello, ", "\0\0\0\0", "x".repeat(70)), { maxLength: 200 })
    .map((words) => new Uint8Array(Buffer.from(words.join("")))),
  fc
    .tuple(fc.uint8Array({ minLength: 1, maxLength: 80 }), fc.integer({ min: 1, max: 1500 }), fc.uint8Array())
    .map(([piece, times, rest]) => new Uint8Array(Buffer.concat([...Array<Uint8Array>(times).fill(piece), rest]))),
);

describe("snappy", () => {
  it("writes what the native implementation reads", () => {
    fc.assert(fc.property(messages, (message) => judge(compress(message)).equals(message)));
  });

  it("reads what the native implementation writes", () => {
    fc.assert(
      fc.property(messages, (message) => Buffer.from(message).equals(decompress(compressSync(Buffer.from(message))))),
    );
  });

  it("reads what it writes, up to the limit and not beyond", () => {
    fc.assert(
      fc.property(messages, (message) => {
        const block = compress(message);
        expect(Buffer.from(decompress(block, message.byteLength)).equals(message)).toBe(true);
        if (message.byteLength > 0) expect(() => decompress(block, message.byteLength - 1)).toThrow(RangeError);
      }),
    );
  });

  it("compresses repeated bytes, and never enlarges others by much", () => {
    const repeated = Buffer.from("snappy ".repeat(20_000));
    expect(compress(repeated).byteLength).toBeLessThan(repeated.byteLength / 10);
    fc.assert(
      fc.property(
        fc.uint8Array({ maxLength: 5000 }),
        (bytes) => compress(bytes).byteLength <= 32 + (bytes.length * 7) / 6,
      ),
    );
  });

  it("agrees with the native implementation on which bytes are a block, and fails with an error of data", () => {
    const hostile = fc.oneof(damaged(messages.map(compress)), fc.uint8Array({ minLength: 1, maxLength: 40 }));
    const attempt = <T>(run: () => T): T | undefined => {
      try {
        return run();
      } catch {
        return undefined;
      }
    };
    fc.assert(
      fc.property(hostile, (bytes) => {
        const expected = declaredLength(bytes) > LIMIT ? undefined : attempt(() => judge(bytes));
        const received = attempt(() => decompress(bytes));
        expect(received === undefined).toBe(expected === undefined);
        if (received !== undefined) expect(Buffer.from(received).equals(expected as Buffer)).toBe(true);
      }),
      { numRuns: 2000 },
    );
  });

  it.each([
    ["a length that ends too early", [0x80]],
    ["a length of more than 32 bits", [0xff, 0xff, 0xff, 0xff, 0x10, 0x00]],
    ["a length of more than five bytes", [0x80, 0x80, 0x80, 0x80, 0x80, 0x00]],
    ["less than its length says", [2, 0x00, 0x61]],
    ["more than its length says", [1, 0x04, 0x61, 0x62]],
    ["a literal that ends too early", [4, 0x0c, 0x61]],
    ["a literal whose length ends too early", [100, 0xf0]],
    ["a copy of nothing", [5, 0x00, 0x61, 0x01, 0x00]],
    ["a copy from before the beginning", [5, 0x00, 0x61, 0x01, 0x02]],
    ["a copy beyond its length", [4, 0x00, 0x61, 0x01, 0x01]],
    ["a copy whose distance ends too early", [5, 0x00, 0x61, 0x02, 0x01]],
  ])("refuses %s", (_what, bytes) => {
    expect(() => decompress(Uint8Array.from(bytes))).toThrow(/^not a snappy block: /);
    expect(() => decompress(Uint8Array.from(bytes))).not.toThrow(RangeError);
  });

  it("allocates no memory for a length that the bytes cannot contain", () => {
    const forged = Uint8Array.from([0xff, 0xff, 0xff, 0xff, 0x0f, 0x00, 0x61]);
    expect(() => decompress(forged, 2 ** 32)).toThrow("7 bytes cannot hold 4294967295");
    expect(() => decompress(forged)).toThrow(RangeError);
  });

  it("reads empty input as an empty message, as Dubbo writes it", () => {
    expect(decompress(new Uint8Array(0))).toHaveLength(0);
    expect(decompress(compress(new Uint8Array(0)))).toHaveLength(0);
  });

  it("reads distances of four bytes, which it does not write", () => {
    expect(Buffer.from(decompress(Uint8Array.from([5, 0x00, 0x61, 0x0f, 0x01, 0, 0, 0]))).toString()).toBe("aaaaa");
  });
});

describe("framed snappy", () => {
  const frame = (bytes: Uint8Array): Uint8Array => compressFrames(bytes);
  const hex = (text: string): Uint8Array => Uint8Array.from(Buffer.from(text.replaceAll(" ", ""), "hex"));
  const IDENTIFIER = "ff 06 00 00 73 4e 61 50 70 59";
  // github.com/golang/snappy writes these bytes.
  const ABC = `${IDENTIFIER} 01 07 00 00 6e 57 f1 21 61 62 63`;

  it("reads and writes what an implementation in Go does", () => {
    expect(Buffer.from(frame(Buffer.from("abc"))).toString("hex")).toBe(ABC.replaceAll(" ", ""));
    expect(Buffer.from(decompress(hex(ABC))).toString()).toBe("abc");
  });

  it("is read by either compression, as a block is", async () => {
    await fc.assert(
      fc.asyncProperty(messages, async (message) => {
        for (const { decompress } of [snappy, framedSnappy]) {
          for (const { compress } of [snappy, framedSnappy]) {
            const bytes = await decompress((await compress(message)) as Uint8Array, message.byteLength);
            expect(Buffer.from(bytes).equals(message)).toBe(true);
          }
        }
      }),
    );
  });

  it("stops at the limit, over all chunks", () => {
    const streams = [Buffer.alloc(200_000), Buffer.from(fc.sample(fc.uint8Array({ minLength: 99 }), 1)[0] ?? [])];
    for (const message of streams) {
      expect(decompress(frame(message), message.byteLength)).toHaveLength(message.byteLength);
      expect(() => decompress(frame(message), message.byteLength - 1)).toThrow(RangeError);
    }
  });

  it("skips padding, identifiers and skippable chunks", () => {
    const [, text = ""] = ABC.split(IDENTIFIER);
    const stream = `${IDENTIFIER} fe 02 00 00 00 00 ${text} ${IDENTIFIER} 80 00 00 00 ${text}`;
    expect(Buffer.from(decompress(hex(stream))).toString()).toBe("abcabc");
  });

  it.each([
    ["a checksum that is wrong", "01 07 00 00 22 c3 2e 7b 61 62 63", "checksum is wrong"],
    ["a chunk that may not be skipped", "02 00 00 00", "kind 2"],
    ["a chunk that ends too early", "01 07 00 00 21", "ends too early"],
    ["a header that ends too early", "01 07", "ends too early"],
    ["a chunk without a checksum", "01 03 00 00 21 c3 2e", "no checksum"],
    ["an invalid block", "00 05 00 00 21 c3 2e 7b 05", "not a snappy block"],
  ])("refuses %s", (_what, chunk, message) => {
    expect(() => decompress(hex(`${IDENTIFIER} ${chunk}`))).toThrow(message);
  });

  it("fails on damage with an error of data or of size, and never reads other bytes than were written", () => {
    fc.assert(
      fc.property(messages, fc.nat(), fc.integer({ min: 1, max: 255 }), (message, at, change) => {
        const stream = Uint8Array.from(frame(message));
        // Positions after the identifier and the type of the first chunk, without which the data is another format.
        const position = 11 + (at % Math.max(1, stream.length - 11));
        if (position >= stream.length) return;
        stream[position] = (stream[position] as number) ^ change;
        let read: Uint8Array | undefined;
        try {
          read = decompress(stream);
        } catch {
          return;
        }
        expect(Buffer.from(read).equals(message)).toBe(true);
      }),
    );
  });
});

describe("large snappy data", () => {
  const SIZE = 300_000;
  /** Writes a chunk of a framed stream. */
  const chunk = (kind: number, ...parts: readonly Uint8Array[]): Buffer => {
    const data = Buffer.concat(parts);
    const header = Buffer.from([kind, 0, 0, 0]);
    header.writeUIntLE(data.byteLength, 1, 3);
    return Buffer.concat([header, data]);
  };
  const [identifier, stored] = [compressed("").subarray(0, 10), compressed("a").subarray(10)];
  const checksumOfA = stored.subarray(4, 8);
  const repeated = (piece: Uint8Array): Buffer => Buffer.alloc(Math.ceil(SIZE / piece.length) * piece.length, piece);
  const literals = (text: Uint8Array): Buffer =>
    Buffer.concat([varint(text.length), Buffer.from([...text].flatMap((byte) => [0, byte]))]);
  const ones = Buffer.alloc(SIZE, "a");
  const framed = Buffer.from(compressFrames(ones));
  const blockOfA = chunk(0, checksumOfA, Buffer.from([1, 0, 0x61]));

  /** Costly data, with the text in it. */
  const shapes: readonly (readonly [name: string, data: Uint8Array, text: Uint8Array])[] = [
    ["a block of literals of a byte", literals(ones), ones],
    ["a block of copies", compress(ones), ones],
    ["a stream of full chunks", framed, ones],
    ["a stream of a stored chunk for each byte", Buffer.concat([identifier, repeated(stored)]), as(SIZE / 9)],
    ["a stream of a block for each byte", Buffer.concat([identifier, repeated(blockOfA)]), as(SIZE / 11)],
    ["a stream of chunks to skip", Buffer.concat([identifier, repeated(chunk(0xfe))]), as(0)],
  ];

  it.each(shapes)("reads %s", (_what, data, text) => {
    expect(Buffer.from(decompress(data)).equals(text)).toBe(true);
  });

  it.each([
    ["a block", Buffer.concat([literals(ones), Buffer.from([0, 0x61])]), "not a snappy block: it holds more"],
    ["a stream", Buffer.concat([framed, Buffer.from([2, 0, 0, 0])]), "not a snappy stream: it has a chunk of kind 2"],
  ])("refuses %s that is malformed at its end", (_what, bytes, message) => {
    expect(() => decompress(bytes)).toThrow(message);
  });

  it("refuses a stream beyond the limit", () => {
    const bytes = Buffer.concat([identifier, repeated(stored)]);
    expect(() => decompress(bytes, 30_000)).toThrow(RangeError);
    expect(decompress(bytes, Math.ceil(SIZE / 9))).toHaveLength(Math.ceil(SIZE / 9));
  });

  function compressed(text: string): Uint8Array {
    return compressFrames(Buffer.from(text));
  }

  function as(count: number): Buffer {
    return Buffer.alloc(Math.ceil(count), "a");
  }
});

/** Encoded data with some bytes changed or cut off. */
function damaged(data: fc.Arbitrary<Uint8Array>): fc.Arbitrary<Uint8Array> {
  return fc
    .tuple(data, fc.array(fc.tuple(fc.nat(), fc.nat(255)), { maxLength: 4 }), fc.nat(8))
    .map(([original, changes, cut]) => {
      const bytes = Uint8Array.from(original);
      for (const [at, value] of changes) bytes[at % bytes.length] = value;
      return bytes.subarray(0, Math.max(1, bytes.length - cut));
    });
}

function varint(value: number): Buffer {
  const bytes: number[] = [];
  let rest = value;
  for (; rest > 0x7f; rest >>>= 7) bytes.push((rest & 0x7f) | 0x80);
  return Buffer.from([...bytes, rest]);
}

/** The length that a block declares; 0 if it declares none. */
function declaredLength(bytes: Uint8Array): number {
  let length = 0;
  for (let i = 0; i < 5 && i < bytes.length; i++) {
    const byte = bytes[i] as number;
    length += (byte & 0x7f) * 2 ** (7 * i);
    if (byte < 0x80) return length;
  }
  return 0;
}
