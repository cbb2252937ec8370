/**
 * The compression snappy in portable code, because no platform provides it.
 *
 * Peers use the name for two formats: Dubbo for the raw block, gRPC libraries in Go for the framed stream. Both compressions
 * detect the format and decompress either; they differ in the format that they send.
 *
 * The code runs on the event loop: data of 4 MiB takes less than 100 ms.
 */
import type { Compression } from "../compression.ts";
import { compressBlock, decompressBlock } from "./block.ts";
import { compressFrames, decompressFrames, isFramed } from "./frame.ts";

/** The compression snappy that sends raw blocks, as Dubbo does. */
export const snappy: Compression = {
  name: "snappy",
  compress: compressBlock,
  decompress,
};

/** The compression snappy that sends framed streams with checksums, as gRPC libraries in Go do. */
export const framedSnappy: Compression = {
  name: "snappy",
  compress: compressFrames,
  decompress,
};

/** Decompresses either format. */
function decompress(bytes: Uint8Array, maxBytes: number): Uint8Array {
  // Dubbo sends no bytes for an empty message, not an empty block.
  if (bytes.byteLength === 0) return bytes;
  return isFramed(bytes) ? decompressFrames(bytes, maxBytes) : decompressBlock(bytes, maxBytes);
}
