/** The compressions of this version of Node: their output can be read by the others, and their input has a limit. */
import { randomBytes } from "node:crypto";
import zlib from "node:zlib";
import fc from "fast-check";
import { type Compression, RpcError } from "triple-es";
import { type NodeCompression, nodeCompressions, zstd } from "triple-es/node";
import { snappy } from "triple-es/snappy";
import { describe, expect, it } from "vitest";
import { brotliOutputBytes } from "../../../runtime/src/node/compression.ts";
import { connectGreeter, startServer } from "../../support/server.ts";

const named: [string, NodeCompression][] = nodeCompressions.map((compression) => [compression.name, compression]);
/** Sizes on both sides of the limits of the thread pool: 32 KiB of input, 128 KiB of output. */
const SIZES = [1, 1000, 32 * 1024, 32 * 1024 + 1, 128 * 1024, 128 * 1024 + 1, 300_000];

describe.each(named)("%s", (_name, compression) => {
  it.each(SIZES)("restores %i bytes, up to the limit and not beyond", async (size) => {
    for (const message of [randomBytes(size), Buffer.alloc(size)]) await restore(message);
  });

  async function restore(message: Buffer): Promise<void> {
    const size = message.byteLength;
    const compressed = await compression.compress(message);
    expect(Buffer.from(await compression.decompress(compressed, size)).equals(message)).toBe(true);
    if (size > 1) {
      await expect((async () => compression.decompress(compressed, size - 1))()).rejects.toThrow(RangeError);
    }
  }

  it("decompresses data with a large output outside of the event loop, however small the input is", async () => {
    for (const size of [128 * 1024 + 1, 4 * 2 ** 20]) {
      const bomb = await compression.compress(Buffer.alloc(size));
      expect(bomb.byteLength).toBeLessThan(8 * 1024);
      expect(compression.decompress(bomb, 4 * 2 ** 20)).toBeInstanceOf(Promise);
    }
    const small = await compression.compress(Buffer.alloc(1000));
    expect(compression.decompress(small, 4 * 2 ** 20)).toBeInstanceOf(Uint8Array);
  });

  it("stops a bomb early", async () => {
    const bomb = await compression.compress(Buffer.alloc(50_000_000));
    expect(bomb.byteLength).toBeLessThan(100_000);
    await expect((async () => compression.decompress(bomb, 1_000_000))()).rejects.toThrow(RangeError);
  });

  it("refuses data in another format, and never as too large", async () => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ minLength: 1, maxLength: 60 }), async (bytes) => {
        const result = await (async () => compression.decompress(bytes, 2 ** 20))().catch((error: unknown) => error);
        expect(result).not.toBeInstanceOf(RangeError);
      }),
    );
  });

  it("reads no bytes as no bytes", async () => {
    expect(await compression.decompress(new Uint8Array(0), 1)).toHaveLength(0);
  });
});

describe("gzip", () => {
  const size = fc.nat(200_000);

  it("restores several members, with anything after them, and keeps no memory that only their end announces", async () => {
    const [gzip] = nodeCompressions as [NodeCompression];
    await fc.assert(
      fc.asyncProperty(fc.array(size, { minLength: 1, maxLength: 3 }), fc.option(size), async (sizes, announced) => {
        const messages = sizes.map((length, index) => Buffer.alloc(length, index));
        const end = Buffer.alloc(8);
        end.writeUInt32LE(announced ?? 0, 4);
        const members = messages.map((message) => zlib.gzipSync(message));
        const output = await gzip.decompress(Buffer.concat(announced === null ? members : [...members, end]), 2 ** 20);
        expect(Buffer.concat(messages).equals(output)).toBe(true);
        expect(output.buffer.byteLength).toBeLessThanOrEqual(Math.max(2 * output.byteLength, Buffer.poolSize));
      }),
    );
  });
});

describe("brotli", () => {
  it("has in its header the size of what one meta-block decompresses to, or does not say", () => {
    const { BROTLI_PARAM_QUALITY, BROTLI_PARAM_LGWIN } = zlib.constants;
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 11 }),
        fc.integer({ min: 10, max: 24 }),
        fc.oneof(fc.nat(200), fc.nat(200_000)),
        fc.boolean(),
        (quality, window, size, random) => {
          const params = { [BROTLI_PARAM_QUALITY]: quality, [BROTLI_PARAM_LGWIN]: window };
          const stream = zlib.brotliCompressSync(random ? randomBytes(size) : Buffer.alloc(size, 97), { params });
          expect([size, undefined]).toContain(brotliOutputBytes(stream));
        },
      ),
    );
    expect(brotliOutputBytes(zlib.brotliCompressSync(Buffer.alloc(4 * 2 ** 20 - 5)))).toBe(4 * 2 ** 20 - 5);
  });

  it("never produces more than its header announces, for any data", () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 1, maxLength: 40 }), (stream) => {
        let output: Uint8Array;
        try {
          output = zlib.brotliDecompressSync(stream, { maxOutputLength: 2 ** 20 });
        } catch {
          return;
        }
        expect([output.byteLength, undefined]).toContain(brotliOutputBytes(stream));
      }),
      { numRuns: 5_000 },
    );
  });
});

describe("zstd", () => {
  it("is supported if this version of Node has it", () => {
    expect(zstd !== undefined).toBe("zstdCompress" in zlib);
    expect(nodeCompressions.includes(zstd as NodeCompression)).toBe(zstd !== undefined);
  });

  it.skipIf(zstd === undefined)("refuses a window of more than 8 MiB", async () => {
    // Magic number; a frame header without a single segment; windows of 2 to the power of 10 + 14, then 10 + 13.
    const frame = (window: number): Uint8Array => Uint8Array.from([0x28, 0xb5, 0x2f, 0xfd, 0, window << 3, 1, 0, 0]);
    expect(await zstd?.decompress(frame(13), 100)).toHaveLength(0);
    expect(() => zstd?.decompress(frame(14), 100)).toThrow(/[Ww]indow|memory/);
  });
});

describe.each([["grpc"], ["http-rpc"]] as const)("%s", (protocol) => {
  const compressions = [...nodeCompressions, snappy];
  const name = "Ada ".repeat(1000);

  it.each(compressions.map((compression) => compression.name))(
    "carries messages in %s, both ways",
    async (encoding) => {
      const sizes: number[] = [];
      const counted = compressions.map((compression) => ({
        ...compression,
        decompress: (bytes: Uint8Array, maxBytes: number) => {
          if (compression.name === encoding) sizes.push(bytes.byteLength);
          return compression.decompress(bytes, maxBytes);
        },
      }));
      const { baseUrl } = await startServer({}, { compressions: counted });
      // The client accepts only one encoding, so the server must use it.
      const own = counted.filter((compression) => compression.name === encoding);
      const client = connectGreeter(baseUrl, { protocol, compressions: own, compression: encoding });
      expect((await client.greet({ name })).greeting).toBe(`Hello, ${name}!`);
      expect(sizes).toHaveLength(2);
      expect(Math.max(...sizes)).toBeLessThan(name.length / 2);
    },
  );

  it("compresses by default, also if the option is undefined", async () => {
    const sizes: number[] = [];
    const gzip = nodeCompressions.find((compression) => compression.name === "gzip") as NodeCompression;
    const counted: Compression = {
      ...gzip,
      decompress: (bytes, maxBytes) => {
        sizes.push(bytes.byteLength);
        return gzip.decompress(bytes, maxBytes);
      },
    };
    const { baseUrl } = await startServer({}, { compressions: undefined });
    const client = connectGreeter(baseUrl, { protocol, compressions: [counted] });
    await client.greet({ name });
    expect(sizes).toEqual([expect.any(Number)]);
  });

  it("sends a message unchanged if a compression declines it", async () => {
    const declining: Compression = {
      name: "gzip",
      compress: () => undefined,
      decompress: () => {
        throw new Error("nothing is compressed");
      },
    };
    const { baseUrl } = await startServer({}, { compressions: [declining] });
    const client = connectGreeter(baseUrl, { protocol, compressions: [declining], compression: "gzip" });
    expect((await client.greet({ name })).greeting).toBe(`Hello, ${name}!`);
  });

  it("refuses a registered encoding's message that inflates beyond the limit", async () => {
    const { baseUrl } = await startServer({}, { compressions: [snappy], maxMessageBytes: 3000 });
    const client = connectGreeter(baseUrl, { protocol, compressions: [snappy], compression: "snappy" });
    const failure = await client.greet({ name }).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(RpcError);
    expect((failure as RpcError).rawMessage).toContain("3000");
  });
});
