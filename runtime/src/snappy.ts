/**
 * The door for snappy, which no platform has built in. Plain arithmetic, so that it runs everywhere. It is registered like
 * any other compression: `compressions: [...nodeCompressions, snappy]`.
 *
 * Peers mean two formats by that name: Dubbo the raw block, peers in Go the framed stream. They cannot be mistaken for
 * each other, so both compressions read both; which one to register is a question of who has to read what we send.
 */
import type { Compression } from "./codec/compression.ts";
import { compressBlock, decompressBlock } from "./codec/snappy/block.ts";
import { compressFrames, decompressFrames, isFramed } from "./codec/snappy/frame.ts";

/** snappy that sends raw blocks, as Dubbo does. */
export const snappy: Compression = { name: "snappy", compress: compressBlock, decompress };

/** snappy that sends framed streams with checksums, as the libraries for gRPC in Go do. */
export const framedSnappy: Compression = { name: "snappy", compress: compressFrames, decompress };

function decompress(bytes: Uint8Array, maxBytes: number): Uint8Array {
  // Dubbo writes no bytes as no block at all.
  if (bytes.byteLength === 0) return bytes;
  return isFramed(bytes) ? decompressFrames(bytes, maxBytes) : decompressBlock(bytes, maxBytes);
}
