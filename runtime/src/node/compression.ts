/**
 * The compressions of `node:zlib`. Small messages are worked on at once, large ones in the thread pool.
 */
import { promisify } from "node:util";
import zlib from "node:zlib";
import type { Compression } from "../codec/compression.ts";

/** Up to this many bytes the thread pool costs more time than it saves. */
const SYNC_LIMIT_BYTES = 32 * 1024;

/** A compression that never declines a message. */
export interface NodeCompression extends Compression {
  compress(bytes: Uint8Array): Uint8Array | Promise<Uint8Array>;
}

type Transform<O> = (input: Uint8Array, options: O) => Buffer;
type TransformAsync<O> = (input: Uint8Array, options: O) => Promise<Buffer>;

interface Algorithm<C, D> {
  readonly name: string;
  readonly compress: readonly [Transform<C>, TransformAsync<C>, C];
  readonly decompress: readonly [Transform<D>, TransformAsync<D>];
  readonly decompressOptions?: D;
}

function createCompression<C, D extends { maxOutputLength?: number }>(algorithm: Algorithm<C, D>): NodeCompression {
  const [compressSync, compressAsync, options] = algorithm.compress;
  const [decompressSync, decompressAsync] = algorithm.decompress;
  return {
    name: algorithm.name,
    compress: (bytes) => (bytes.byteLength <= SYNC_LIMIT_BYTES ? compressSync : compressAsync)(bytes, options),
    // node:zlib throws a RangeError, ERR_BUFFER_TOO_LARGE, as soon as its output reaches beyond the maximum.
    decompress: (bytes, maxBytes) =>
      bytes.byteLength === 0
        ? bytes
        : (bytes.byteLength <= SYNC_LIMIT_BYTES ? decompressSync : decompressAsync)(bytes, {
            ...algorithm.decompressOptions,
            maxOutputLength: maxBytes,
          } as D),
  };
}

/** gzip, as every peer has it. */
export const gzip: NodeCompression = createCompression({
  name: "gzip",
  compress: [zlib.gzipSync, promisify<Uint8Array, zlib.ZlibOptions, Buffer>(zlib.gzip), {}],
  decompress: [zlib.gunzipSync, promisify<Uint8Array, zlib.ZlibOptions, Buffer>(zlib.gunzip)],
});

/** Brotli, at a quality that is fast enough for messages. */
export const brotli: NodeCompression = createCompression({
  name: "br",
  compress: [
    zlib.brotliCompressSync,
    promisify<Uint8Array, zlib.BrotliOptions, Buffer>(zlib.brotliCompress),
    { params: { [zlib.constants.BROTLI_PARAM_QUALITY]: 4 } },
  ],
  decompress: [zlib.brotliDecompressSync, promisify<Uint8Array, zlib.BrotliOptions, Buffer>(zlib.brotliDecompress)],
});

/** deflate, which is zlib's format in gRPC and in HTTP. */
export const deflate: NodeCompression = createCompression({
  name: "deflate",
  compress: [zlib.deflateSync, promisify<Uint8Array, zlib.ZlibOptions, Buffer>(zlib.deflate), {}],
  decompress: [zlib.inflateSync, promisify<Uint8Array, zlib.ZlibOptions, Buffer>(zlib.inflate)],
});

/** What `node:zlib` has from Node 22.15 on; the types are those of the oldest Node we run on. */
interface ZstdOptions {
  readonly params?: Readonly<Record<number, number>>;
  readonly maxOutputLength?: number;
}
type ZstdTransform = (input: Uint8Array, options: ZstdOptions, done: (e: Error | null, out: Buffer) => void) => void;
interface Zstd {
  readonly zstdCompress: ZstdTransform;
  readonly zstdDecompress: ZstdTransform;
  readonly zstdCompressSync: Transform<ZstdOptions>;
  readonly zstdDecompressSync: Transform<ZstdOptions>;
  readonly constants: { readonly ZSTD_d_windowLogMax: number };
}

function hasZstd(candidate: object): candidate is Zstd {
  return "zstdCompress" in candidate && "zstdDecompress" in candidate;
}

/** The largest window that a peer may ask us to keep, as a power of two: 8 MiB (RFC 9659). */
const ZSTD_MAX_WINDOW_LOG = 23;

function createZstd(candidate: object): NodeCompression | undefined {
  if (!hasZstd(candidate)) return undefined;
  return createCompression<ZstdOptions, ZstdOptions>({
    name: "zstd",
    compress: [candidate.zstdCompressSync, promisify(candidate.zstdCompress), {}],
    decompress: [candidate.zstdDecompressSync, promisify(candidate.zstdDecompress)],
    decompressOptions: { params: { [candidate.constants.ZSTD_d_windowLogMax]: ZSTD_MAX_WINDOW_LOG } },
  });
}

/** Zstandard, where this Node has it: from 22.15 on. `undefined` elsewhere. */
export const zstd: NodeCompression | undefined = createZstd(zlib);

/** Every compression that this Node has, best first. */
export const nodeCompressions: readonly NodeCompression[] = [
  gzip,
  ...(zstd === undefined ? [] : [zstd]),
  brotli,
  deflate,
];
