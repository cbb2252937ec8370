/**
 * Compressions on `node:zlib`. A message is processed on the event loop if its input and output are both small, otherwise in
 * libuv's thread pool, in which only a few messages are decompressed at a time.
 */
import { promisify } from "node:util";
import zlib from "node:zlib";
import type { Compression } from "../codec/compression.ts";
import { offload } from "./platform.ts";
import { inThreadPool } from "./thread-pool.ts";

/** Largest message, in bytes, that the event loop processes: the thread pool would cost more time than it saves. */
const SYNC_INPUT_BYTES = 32 * 1024;

/** Largest output, in bytes, of decompression there: a few bytes may inflate to the limit of a message. */
const SYNC_OUTPUT_BYTES = 128 * 1024;

/** Size, in bytes, of the steps in which an output grows in the thread pool. Each step is a round trip to the event loop. */
const OUTPUT_STEP_BYTES = 128 * 1024;

/** A compression that accepts every message. */
export interface NodeCompression extends Compression {
  compress(bytes: Uint8Array): Uint8Array | Promise<Uint8Array>;
}

type Transform<O> = (input: Uint8Array, options: O) => Buffer;
type TransformAsync<O> = (input: Uint8Array, options: O, done: (error: Error | null, out: Buffer) => void) => void;

interface Algorithm<C, D> {
  readonly name: string;
  readonly compress: readonly [Transform<C>, TransformAsync<C>, C];
  readonly decompress: readonly [Transform<D>, TransformAsync<D>];
  readonly decompressOptions?: D;
  /**
   * Reads the size of the output from the input, so that it is written into one buffer, and not decompressed in part before
   * it goes to the thread pool. `undefined`: the input does not contain it, and the decoder cannot be stopped early.
   */
  readonly outputBytes?: (input: Uint8Array) => number | undefined;
}

function createCompression<C, D extends Pick<zlib.ZlibOptions, "maxOutputLength" | "chunkSize">>(
  algorithm: Algorithm<C, D>,
): NodeCompression {
  const [compressSync, compress, options] = algorithm.compress;
  const [decompressSync, decompress] = algorithm.decompress;
  const [compressAsync, decompressAsync] = [promisify(compress), promisify(decompress)];
  const { decompressOptions, outputBytes } = algorithm;

  /** Returns `undefined` if the output is not small. */
  function decompressSmall(bytes: Uint8Array, maxBytes: number): Uint8Array | undefined {
    if (bytes.byteLength > SYNC_INPUT_BYTES) return undefined;
    const announced = outputBytes === undefined ? 0 : outputBytes(bytes);
    if (announced === undefined || announced > SYNC_OUTPUT_BYTES) return undefined;
    const maxOutputLength = Math.min(maxBytes, SYNC_OUTPUT_BYTES);
    // A full buffer would be followed by another one.
    const chunkSize = Math.max(zlib.constants.Z_DEFAULT_CHUNK, announced + 1);
    try {
      return trimmed(decompressSync(bytes, { ...decompressOptions, maxOutputLength, chunkSize } as D));
    } catch (reason) {
      if (reason instanceof RangeError && maxOutputLength < maxBytes) return undefined;
      throw reason;
    }
  }

  return {
    name: algorithm.name,
    compress: (bytes) =>
      bytes.byteLength <= SYNC_INPUT_BYTES
        ? compressSync(bytes, options)
        : offload(
            () => compressSync(bytes, options),
            () => compressAsync(bytes, options),
          ),
    // node:zlib throws a RangeError with the code ERR_BUFFER_TOO_LARGE as soon as its output exceeds the maximum.
    decompress(bytes, maxBytes) {
      if (bytes.byteLength === 0) return bytes;
      const limited = { ...decompressOptions, maxOutputLength: maxBytes, chunkSize: OUTPUT_STEP_BYTES } as D;
      const work = (): Buffer => decompressSync(bytes, limited);
      return (
        decompressSmall(bytes, maxBytes) ??
        inThreadPool(() => offload(work, () => decompressAsync(bytes, limited))).then(trimmed)
      );
    },
  };
}

/** Returns the output of a decoder, without the rest of its buffer if that is larger. */
function trimmed(output: Buffer): Buffer {
  return 2 * output.byteLength < output.buffer.byteLength ? Buffer.from(output) : output;
}

/** gzip (RFC 1952), which every peer supports. */
export const gzip: NodeCompression = createCompression({
  name: "gzip",
  compress: [zlib.gzipSync, zlib.gzip, {}],
  decompress: [zlib.gunzipSync, zlib.gunzip],
  // ISIZE: the last four bytes of a member, little endian.
  outputBytes: (input) => input.slice(-4).reduceRight((size, byte) => 0x100 * size + byte, 0),
});

/** Brotli (RFC 7932), with a quality that is fast enough for messages. */
export const brotli: NodeCompression = createCompression({
  name: "br",
  compress: [zlib.brotliCompressSync, zlib.brotliCompress, { params: { [zlib.constants.BROTLI_PARAM_QUALITY]: 4 } }],
  decompress: [zlib.brotliDecompressSync, zlib.brotliDecompress],
  // A decoder fills its window, usually 4 MiB, before it returns any output.
  outputBytes: brotliOutputBytes,
});

/**
 * Returns the number of bytes to which a stream of brotli decompresses, by its header (RFC 7932, sections 9.1 and 9.2);
 * `undefined` if the stream has more than one meta-block, so that its header does not contain the number. The result for an
 * invalid stream is arbitrary: the decoder rejects the stream before it decodes more.
 *
 *     WBITS      1..7 bits   0 → 16; else 3 bits, and 3 more if they are 0
 *     ISLAST     1 bit       ISLASTEMPTY 1 bit, only if ISLAST
 *     MNIBBLES   2 bits      3 → metadata, otherwise 4 + MNIBBLES nibbles follow
 *     MLEN - 1   16, 20 or 24 bits
 */
export function brotliOutputBytes(stream: Uint8Array): number | undefined {
  let position = 0;
  const read = (bits: number): number => {
    let value = 0;
    for (let i = 0; i < bits; i += 1, position += 1) {
      value |= (((stream[position >> 3] ?? 0) >> (position & 7)) & 1) << i;
    }
    return value;
  };
  if (read(1) === 1 && read(3) === 0) read(3);
  if (read(1) === 0) return undefined;
  if (read(1) === 1) return 0;
  const nibbles = read(2);
  return nibbles === 3 ? undefined : read(16 + 4 * nibbles) + 1;
}

/** deflate: zlib's format (RFC 1950), as gRPC and HTTP define it. */
export const deflate: NodeCompression = createCompression({
  name: "deflate",
  compress: [zlib.deflateSync, zlib.deflate, {}],
  decompress: [zlib.inflateSync, zlib.inflate],
});

/** Zstandard in `node:zlib` (Node 22.15 or later), which the types of the oldest supported Node lack. It is like Brotli. */
interface Zstd {
  readonly zstdCompress: TransformAsync<zlib.BrotliOptions>;
  readonly zstdDecompress: TransformAsync<zlib.BrotliOptions>;
  readonly zstdCompressSync: Transform<zlib.BrotliOptions>;
  readonly zstdDecompressSync: Transform<zlib.BrotliOptions>;
  readonly constants: { readonly ZSTD_d_windowLogMax: number };
}

/** Base-2 logarithm of the largest window that a peer may require: 8 MiB (RFC 9659). */
const ZSTD_MAX_WINDOW_LOG = 23;

const zstdLibrary = "zstdCompress" in zlib ? (zlib as object as Zstd) : undefined;

/** Zstandard, on Node 22.15 or later; otherwise `undefined`. */
export const zstd: NodeCompression | undefined =
  zstdLibrary &&
  createCompression<zlib.BrotliOptions, zlib.BrotliOptions>({
    name: "zstd",
    compress: [zstdLibrary.zstdCompressSync, zstdLibrary.zstdCompress, {}],
    decompress: [zstdLibrary.zstdDecompressSync, zstdLibrary.zstdDecompress],
    decompressOptions: { params: { [zstdLibrary.constants.ZSTD_d_windowLogMax]: ZSTD_MAX_WINDOW_LOG } },
  });

/** All compressions that this version of Node supports, best first. */
export const nodeCompressions: readonly NodeCompression[] = [
  gzip,
  ...(zstd === undefined ? [] : [zstd]),
  brotli,
  deflate,
];
