/**
 * Entry point `triple-es/snappy`: the compression snappy in portable code, because no platform has it built in.
 * Register it like any other compression: `compressions: [...nodeCompressions, snappy]`.
 *
 * Peers use the name for two formats: Dubbo for the raw block, peers in Go for the framed stream. The formats can be
 * told apart, so both compressions read both; they differ in the format that they send.
 */
import type { Compression } from "./codec/compression.ts";
import { compressBlock, decompressBlock } from "./codec/snappy/block.ts";
import { compressFrames, decompressFrames, isFramed } from "./codec/snappy/frame.ts";

/** snappy that sends raw blocks, as Dubbo does. */
export const snappy: Compression = { name: "snappy", compress: compressBlock, decompress };

/** snappy that sends framed streams with checksums, as the libraries for gRPC in Go do. */
export const framedSnappy: Compression = { name: "snappy", compress: compressFrames, decompress };

function decompress(bytes: Uint8Array, maxBytes: number): Uint8Array {
  // Dubbo encodes an empty message as no bytes, without a block.
  if (bytes.byteLength === 0) return bytes;
  return isFramed(bytes) ? decompressFrames(bytes, maxBytes) : decompressBlock(bytes, maxBytes);
}
