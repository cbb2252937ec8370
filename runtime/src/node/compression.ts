/**
 * The compressions of `node:zlib`. Small messages are worked on at once, large ones in the thread pool.
 */
import { promisify } from "node:util";
import zlib from "node:zlib";
import type { Compression } from "../compression.ts";

/** Up to this many bytes the thread pool costs more time than it saves. */
const SYNC_LIMIT_BYTES = 32 * 1024;

type Transform<O> = (input: Uint8Array, options: O) => Buffer;
type TransformAsync<O> = (input: Uint8Array, options: O) => Promise<Buffer>;

interface Algorithm<C, D> {
  readonly name: string;
  readonly compress: readonly [Transform<C>, TransformAsync<C>, C];
  readonly decompress: readonly [Transform<D>, TransformAsync<D>];
}

function createCompression<C, D extends { maxOutputLength?: number }>(algorithm: Algorithm<C, D>): Compression {
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
            maxOutputLength: maxBytes,
          } as D),
  };
}

/** gzip, as every peer has it. */
export const gzip: Compression = createCompression({
  name: "gzip",
  compress: [zlib.gzipSync, promisify<Uint8Array, zlib.ZlibOptions, Buffer>(zlib.gzip), {}],
  decompress: [zlib.gunzipSync, promisify<Uint8Array, zlib.ZlibOptions, Buffer>(zlib.gunzip)],
});

/** Brotli, at a quality that is fast enough for messages. */
export const brotli: Compression = createCompression({
  name: "br",
  compress: [
    zlib.brotliCompressSync,
    promisify<Uint8Array, zlib.BrotliOptions, Buffer>(zlib.brotliCompress),
    { params: { [zlib.constants.BROTLI_PARAM_QUALITY]: 4 } },
  ],
  decompress: [zlib.brotliDecompressSync, promisify<Uint8Array, zlib.BrotliOptions, Buffer>(zlib.brotliDecompress)],
});

/** deflate, which is zlib's format in gRPC and in HTTP. */
export const deflate: Compression = createCompression({
  name: "deflate",
  compress: [zlib.deflateSync, promisify<Uint8Array, zlib.ZlibOptions, Buffer>(zlib.deflate), {}],
  decompress: [zlib.inflateSync, promisify<Uint8Array, zlib.ZlibOptions, Buffer>(zlib.inflate)],
});

/** What `node:zlib` has from Node 22.15 on. The types here are those of an older Node. */
interface Zstd {
  readonly zstdCompressSync: Transform<object>;
  readonly zstdCompress: (
    input: Uint8Array,
    options: object,
    callback: (error: Error | null, data: Buffer) => void,
  ) => void;
  readonly zstdDecompressSync: Transform<object>;
  readonly zstdDecompress: Zstd["zstdCompress"];
}

/** zstd; `undefined` before Node 22.15, which has none. */
export const zstd: Compression | undefined = createZstd(zlib as Partial<Zstd>);

function createZstd({ zstdCompressSync, zstdCompress, zstdDecompressSync, zstdDecompress }: Partial<Zstd>) {
  if (!zstdCompressSync || !zstdCompress || !zstdDecompressSync || !zstdDecompress) return undefined;
  return createCompression({
    name: "zstd",
    compress: [zstdCompressSync, promisify<Uint8Array, object, Buffer>(zstdCompress), {}],
    decompress: [zstdDecompressSync, promisify<Uint8Array, object, Buffer>(zstdDecompress)],
  });
}

/** Every compression that this Node has, best first. */
export const nodeCompressions: readonly Compression[] = [gzip, brotli, ...(zstd === undefined ? [] : [zstd]), deflate];
