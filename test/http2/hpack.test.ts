/** HPACK (RFC 7541): the examples of its appendix C, blocks of other encoders, and invalid blocks. */
import { readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ConnectionError, ErrorCode } from "../../runtime/src/http2/codes.ts";
import { BlockCache } from "../../runtime/src/http2/hpack/block-cache.ts";
import { Decoder, type FieldRules } from "../../runtime/src/http2/hpack/decoder.ts";
import { Encoder } from "../../runtime/src/http2/hpack/encoder.ts";
import { decodeHuffman, huffmanLength, maxDecodedLength, writeHuffman } from "../../runtime/src/http2/hpack/huffman.ts";
import { IntegerReader, writeInteger } from "../../runtime/src/http2/hpack/integer.ts";
import { decodeLatin1, portableLatin1 } from "../../runtime/src/wire/fields.ts";
import { STORIES } from "./record/stories.ts";
import { encode } from "./support/frames.ts";
import { runs } from "./support/runs.ts";

const ANYTHING: FieldRules = { nameKind: () => 0, fieldKind: () => 0 };

function decoderOf(): {
  decoder: Decoder;
  decode: (bytes: Uint8Array) => string[];
} {
  const decoder = new Decoder(ANYTHING);
  return {
    decoder,
    decode(bytes) {
      const fields: string[] = [];
      decoder.decode(bytes, 0, bytes.length, { onField: (name, value) => fields.push(name, value) });
      return fields;
    },
  };
}

const hex = (text: string): Uint8Array => Uint8Array.from(Buffer.from(text.replaceAll(" ", ""), "hex"));

const GET = [":method", "GET", ":scheme", "http", ":path", "/", ":authority", "www.example.com"];
const CUSTOM = [
  ...[":method", "GET", ":scheme", "https", ":path", "/index.html", ":authority", "www.example.com"],
  ...["custom-key", "custom-value"],
];
const REDIRECT = [
  ...[":status", "302", "cache-control", "private", "date", "Mon, 21 Oct 2013 20:13:21 GMT"],
  ...["location", "https://www.example.com"],
];
const LAST = [
  ...[":status", "200", "cache-control", "private", "date", "Mon, 21 Oct 2013 20:13:22 GMT"],
  ...["location", "https://www.example.com", "content-encoding", "gzip"],
  ...["set-cookie", "foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1"],
];
const STATUS_307 = [":status", "307", ...REDIRECT.slice(2)];
const NO_CACHE = [...GET, "cache-control", "no-cache"];

describe("Latin-1", () => {
  it("is decoded in the same way with the conversion of Node and without it", () => {
    const bytes = Uint8Array.from({ length: 3 * 4_096 + 100 }, (_, i) => i % 256);
    expect(portableLatin1(bytes, 5, bytes.length - 3)).toBe(Buffer.from(bytes).subarray(5, -3).toString("latin1"));
    expect(decodeLatin1(bytes, 5, bytes.length - 3)).toBe(portableLatin1(bytes, 5, bytes.length - 3));
  });
});

describe("the examples of RFC 7541, appendix C", () => {
  it.each([
    ["C.2.1", ["400a637573746f6d2d6b65790d637573746f6d2d686561646572"], [["custom-key", "custom-header"]]],
    ["C.2.2", ["040c2f73616d706c652f70617468"], [[":path", "/sample/path"]]],
    ["C.2.3", ["100870617373776f726406736563726574"], [["password", "secret"]]],
    ["C.2.4", ["82"], [[":method", "GET"]]],
    [
      "C.3",
      [
        "828684410f7777772e6578616d706c652e636f6d",
        "828684be58086e6f2d6361636865",
        "828785bf400a637573746f6d2d6b65790c637573746f6d2d76616c7565",
      ],
      [GET, NO_CACHE, CUSTOM],
    ],
    [
      "C.4",
      [
        "828684418cf1e3c2e5f23a6ba0ab90f4ff",
        "828684be5886a8eb10649cbf",
        "828785bf408825a849e95ba97d7f8925a849e95bb8e8b4bf",
      ],
      [GET, NO_CACHE, CUSTOM],
    ],
    [
      "C.5, whose table evicts at 256 bytes",
      [
        "3fe1014803333032580770726976617465611d4d6f6e2c203231204f637420323031332032303a31333a323120474d546e17" +
          "68747470733a2f2f7777772e6578616d706c652e636f6d",
        "4803333037c1c0bf",
        "88c1611d4d6f6e2c203231204f637420323031332032303a31333a323220474d54c05a04677a69707738666f6f3d4153444a" +
          "4b48514b425a584f5157454f50495541585157454f49553b206d61782d6167653d333630303b2076657273696f6e3d31",
      ],
      [REDIRECT, STATUS_307, LAST],
    ],
    [
      "C.6, the same in Huffman code",
      [
        "3fe101488264025885aec3771a4b6196d07abe941054d444a8200595040b8166e082a62d1bff6e919d29ad171863c78f0b97c8e9ae82ae43d3",
        "4883640effc1c0bf",
        "88c16196d07abe941054d444a8200595040b8166e084a62d1bffc05a839bd9ab77ad94e7821dd7f2e6c7b335dfdfcd5b3960" +
          "d5af27087f3672c1ab270fb5291f9587316065c003ed4ee5b1063d5007",
      ],
      [REDIRECT, STATUS_307, LAST],
    ],
  ])("are decoded: %s", (_name, blocks, expected) => {
    const { decode } = decoderOf();
    expect(blocks.map((block) => decode(hex(block)))).toEqual(expected);
  });

  it.each([
    ["C.1.1", 10, 0x1f, "0a"],
    ["C.1.2", 1337, 0x1f, "1f9a0a"],
    ["C.1.3", 42, 0xff, "2a"],
  ])("are how integers are written and read: %s", (_name, value, mask, expected) => {
    const out = new Uint8Array(8);
    const end = writeInteger(out, 0, 0, mask, value);
    expect(Buffer.from(out.subarray(0, end)).toString("hex")).toBe(expected);
    const reader = new IntegerReader();
    expect([reader.read(out, 0, end, mask), reader.at]).toEqual([value, end]);
  });
});

interface Recorded {
  readonly encoder: string;
  readonly stories: readonly (readonly string[])[];
}

describe("blocks of other encoders", () => {
  const cases = ["python", "go", "node"].flatMap((name) => {
    const url = new URL(`fixtures/hpack-${name}.json`, import.meta.url);
    const recorded = JSON.parse(readFileSync(url, "utf8")) as Recorded;
    return recorded.stories.flatMap((blocks, i) =>
      blocks.length === 0 ? [] : [[recorded.encoder, STORIES[i]?.name ?? "", blocks, STORIES[i]] as const],
    );
  });

  it.each(cases)("are decoded: %s, %s", (_encoder, _name, blocks, story) => {
    const { decode } = decoderOf();
    const decoded = blocks.map((block) => sorted(decode(hex(block))));
    expect(decoded).toEqual(story?.steps.map(({ fields }) => sorted(fields)));
  });
});

/** Some encoders reorder pseudo-header fields. */
function sorted(fields: readonly string[]): string[] {
  return Array.from({ length: fields.length / 2 }, (_, i) => `${fields[2 * i]}: ${fields[2 * i + 1]}`).sort();
}

describe("an encoder", () => {
  it.each(STORIES.map((story) => [story.name, story] as const))("decodes to the same fields: %s", (_name, story) => {
    const { decode } = decoderOf();
    const encoder = new Encoder();
    for (const { fields, tableSize } of story.steps) {
      if (tableSize !== undefined) encoder.resize(tableSize);
      expect(decode(encode(encoder, fields))).toEqual(fields);
    }
  });

  it("encodes a frozen list to a few bytes after it was sent twice, and copies them from then on", () => {
    const { decode } = decoderOf();
    const encoder = new Encoder();
    const list = { raw: ["content-type", "application/grpc+proto", "grpc-status", "0"], frozen: true };
    const out = new Uint8Array(200);
    const lengths = Array.from({ length: 5 }, () => {
      encoder.prepare(list);
      const end = encoder.write(out, 0, list);
      expect(decode(out.slice(0, end))).toEqual(list.raw);
      return end;
    });
    expect(lengths[0]).toBeGreaterThan(30);
    expect(lengths.slice(2)).toEqual([2, 2, 2]);
  });

  it("does not reuse entries that an insertion or the peer's table size has invalidated", () => {
    const { decode } = decoderOf();
    const encoder = new Encoder();
    const first = { raw: ["x-a", "1"], frozen: true };
    const second = { raw: ["x-b", "2"], frozen: true };
    const out = new Uint8Array(200);
    const send = (list: typeof first): void => {
      encoder.prepare(list);
      const end = encoder.write(out, encoder.begin(out, 0), list);
      expect(decode(out.slice(0, end))).toEqual(list.raw);
    };
    for (const list of [first, first, first, second, second, first, second, first]) send(list);
    encoder.resize(100);
    for (const list of [first, second, first, second, first]) send(list);
    encoder.resize(0);
    encoder.resize(4_096);
    for (const list of [first, second, first, second, first]) send(list);
  });

  it("begins the next block with two size updates after the peer lowered and raised its table (RFC 7541, section 4.2)", () => {
    const encoder = new Encoder();
    encoder.resize(0);
    encoder.resize(2 ** 32 - 1);
    expect([...encode(encoder, [":status", "200"])]).toEqual([0x20, 0x3f, 0xe1, 0x1f, 0x88]);
    encoder.resize(0);
    expect([...encode(encoder, [":status", "200"])]).toEqual([0x20, 0x88]);
    expect([...encode(encoder, [":status", "200"])]).toEqual([0x88]);
  });

  it("never puts into the table what is larger than it, nor evicts anything", () => {
    const { decode } = decoderOf();
    const encoder = new Encoder();
    for (let i = 0; i < 300; i++) {
      const list = { raw: [`x-${i}`, "v".repeat(20)], frozen: true };
      for (let times = 0; times < 3; times++) {
        encoder.prepare(list);
        const out = new Uint8Array(300);
        expect(decode(out.slice(0, encoder.write(out, 0, list)))).toEqual(list.raw);
      }
    }
    const kept = { raw: ["x-0", "v".repeat(20)], frozen: true };
    encoder.prepare(kept);
    expect(encoder.write(new Uint8Array(300), 0, kept)).toBe(2);
  });

  it("indexes a repeated path, and reserves half of the table for other fields", () => {
    const { decode } = decoderOf();
    const encoder = new Encoder();
    const out = new Uint8Array(300);
    const send = (path: string): number => {
      const end = encoder.writeRequestLine(out, 0, "POST", "http", "localhost", path);
      expect(decode(out.slice(0, end))).toContain(path);
      return end;
    };
    send("/a.B/C");
    send("/a.B/C");
    expect(send("/a.B/C")).toBe(4);
    for (let i = 0; i < 200; i++) for (let times = 0; times < 3; times++) send(`/${"m".repeat(40)}/${i}`);
    expect(send("/a.B/C")).toBe(4);
    const list = { raw: ["x-much", "v".repeat(1_500)], frozen: true };
    const large = new Uint8Array(4_000);
    for (let times = 0; times < 3; times++) encoder.write(large, 0, list);
    encoder.prepare(list);
    expect(encoder.write(large, 0, list)).toBeLessThan(4);
  });

  it("never indexes fields that may be secret, and forbids it to proxies (RFC 7541, section 7.1.3)", () => {
    const encoder = new Encoder();
    for (const name of ["authorization", "cookie", "set-cookie", "grpc-status-details-bin", "x-api-key", "x-token"]) {
      const list = { raw: [name, "secret"], frozen: true };
      for (let i = 0; i < 3; i++) {
        const out = new Uint8Array(100);
        encoder.prepare(list);
        encoder.write(out, 0, list);
        expect((out[0] as number) & 0xf0).toBe(0x10);
      }
    }
  });
});

describe("a block that is wrong", () => {
  it.each([
    ["index 0", "80"],
    ["an index beyond the tables", "be"],
    ["a name beyond the tables", "7f00"],
    ["an integer that goes on for ever", "ffffffffffffffffff"],
    ["an integer of zeros that goes on for ever", "ff8080808080808000"],
    ["an integer that is cut off", "ff"],
    ["an integer beyond 32 bits", "ffffffffff7f"],
    ["a string that is cut off", "400a6375"],
    ["a string without its length", "40"],
    ["a string that claims to be long", "007fffffff0f61"],
    ["Huffman code with EOS", "0001618 4ffffffff".replace(" ", "")],
    ["Huffman code padded with eight bits", "00016182 1fff".replace(" ", "")],
    ["Huffman code padded with a 0", "000161811e"],
    ["a size update after a field", "8220"],
    ["three size updates", "202020"],
    ["a size update beyond what was allowed", "3fe21f"],
  ])("is a connection error COMPRESSION_ERROR: %s", (_name, bytes) => {
    const { decode } = decoderOf();
    const attempt = (): string[] => decode(hex(bytes));
    expect(attempt).toThrow(ConnectionError);
    expect(attempt).toThrow(expect.objectContaining({ code: ErrorCode.CompressionError }));
  });

  it("is not one with two size updates, nor with an entry that is larger than the table", () => {
    const { decode } = decoderOf();
    expect(decode(hex("203fe11f88"))).toEqual([":status", "200"]);
    expect(decode(hex("2088"))).toEqual([":status", "200"]);
    expect(decode(hex("4001610162"))).toEqual(["a", "b"]);
    expect(() => decode(hex("be"))).toThrow("no entry 62");
  });
});

it("a literal may name an entry that it evicts (RFC 7541, section 4.4)", () => {
  const { decode } = decoderOf();
  // A table of 40 bytes holds one entry.
  expect(decode(hex("3f09 4003 6b6579 0161".replaceAll(" ", "")))).toEqual(["key", "a"]);
  expect(decode(hex("7e0162be"))).toEqual(["key", "b", "key", "b"]);
});

describe("limits of a block", () => {
  it("leave out fields, and still insert what the next block may refer to", () => {
    const { decoder, decode } = decoderOf();
    const few = hex("40 0161 0162 00 0163 0164");
    expect(decode(few)).toEqual(["a", "b", "c", "d"]);
    // A field ":method: POST" counts as 43 bytes.
    const cut = decode(Buffer.concat([Buffer.alloc(2_000, 0x83), few]));
    expect([cut.length / 2, cut.at(-1), decoder.overLimit]).toEqual([Math.floor(65_536 / 43), "POST", true]);
    expect(decoder.size).toBe(2_000 * 43 + 34 + 32);
    expect(decode(hex("be"))).toEqual(["a", "b"]);
    expect(decoder.overLimit).toBe(false);
  });

  it("count the decoded bytes of references to one large entry (HPACK bomb)", () => {
    const { decoder, decode } = decoderOf();
    const large = Buffer.concat([hex("4001617fa11e"), Buffer.alloc(4_000, 0x62)]);
    decode(large);
    expect(decode(Buffer.alloc(16_000, 0xbe)).length / 2).toBe(16);
    expect([decoder.overLimit, decoder.size > 60_000_000]).toEqual([true, true]);
  });
});

describe("a cache of blocks", () => {
  const bytes = Uint8Array.of(1, 2, 3, 4);

  it("finds the same bytes as long as the tables are the same", () => {
    const cache = new BlockCache<string>();
    cache.keep(bytes, 1, 4, 7, "block", 10);
    expect(cache.find(Uint8Array.of(2, 3, 4), 0, 3, 7)).toBe("block");
    expect(cache.find(bytes, 1, 4, 8)).toBeUndefined();
    expect(cache.find(Uint8Array.of(2, 3, 5), 0, 3, 7)).toBeUndefined();
  });

  it("compares every byte, not only those that it hashes", () => {
    const cache = new BlockCache<string>();
    const long = new Uint8Array(100).fill(1);
    cache.keep(long, 0, 100, 0, "block", 10);
    const other = long.slice();
    other[50] = 2;
    expect(cache.find(long, 0, 100, 0)).toBe("block");
    expect(cache.find(other, 0, 100, 0)).toBeUndefined();
  });

  it("is disabled for a while for a peer that never repeats a block, and can be cleared", () => {
    const cache = new BlockCache<string>();
    cache.keep(bytes, 0, 4, 0, "block", 10);
    for (let i = 0; i < 64; i++) cache.find(Uint8Array.of(9, i), 0, 2, 0);
    expect(cache.find(bytes, 0, 4, 0)).toBeUndefined();
    for (let i = 0; i < 1_023; i++) cache.find(bytes, 0, 4, 0);
    expect(cache.find(bytes, 0, 4, 0)).toBe("block");
    cache.clear();
    expect(cache.find(bytes, 0, 4, 0)).toBeUndefined();
  });
});

describe("properties", () => {
  it("Huffman code survives a round trip", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        const text = String.fromCharCode(...bytes);
        const out = new Uint8Array(1_000);
        const end = writeHuffman(out, 0, text);
        expect(end).toBe(huffmanLength(text));
        const decoded = new Uint8Array(maxDecodedLength(end));
        const length = decodeHuffman(out, 0, end, decoded);
        expect([...decoded.subarray(0, length)]).toEqual([...bytes]);
      }),
      { numRuns: 500 },
    );
  });

  it("integers are read as they were written", () => {
    fc.assert(
      fc.property(fc.nat(2 ** 28), fc.integer({ min: 4, max: 8 }), (value, bits) => {
        const out = new Uint8Array(8);
        const end = writeInteger(out, 1, 0, 2 ** bits - 1, value);
        const reader = new IntegerReader();
        expect([reader.read(out, 1, end, 2 ** bits - 1), reader.at]).toEqual([value, end]);
      }),
      { numRuns: 500 },
    );
  });

  it("lists of any fields survive a round trip while the size of the table changes", () => {
    const character = fc.integer({ min: 0x21, max: 0xff }).map((code) => String.fromCharCode(code));
    const text = fc.array(character, { maxLength: 40 }).map((all) => all.join(""));
    const name = fc.constantFrom("content-type", ":path", "x-a", "x-b", "cookie", "grpc-status", "accept");
    const list = fc.array(fc.tuple(name, fc.oneof(fc.constantFrom("", "0", "gzip, deflate"), text)), { maxLength: 12 });
    const step = fc.record({
      list,
      size: fc.option(fc.constantFrom(0, 64, 200, 4_096)),
      times: fc.integer({ min: 1, max: 3 }),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 12 }), (steps) => {
        const { decode } = decoderOf();
        const encoder = new Encoder();
        for (const { list: fields, size, times } of steps) {
          if (size !== null) encoder.resize(size);
          const frozen = { raw: fields.flat(), frozen: true };
          for (let i = 0; i < times; i++) {
            const out = new Uint8Array(encoder.prepare(frozen));
            const end = encoder.write(out, encoder.begin(out, 0), frozen);
            expect(decode(out.slice(0, end))).toEqual(frozen.raw);
          }
        }
      }),
      runs(1_000),
    );
  });

  it("any bytes are decoded or are a connection error, and nothing else", () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ maxLength: 64 }), { maxLength: 6 }), (blocks) => {
        const { decode } = decoderOf();
        for (const bytes of blocks) {
          try {
            decode(bytes);
          } catch (error) {
            if (!(error instanceof ConnectionError)) throw error;
            return;
          }
        }
      }),
      runs(10_000),
    );
  });
});
