/**
 * The compression snappy in portable code, because no platform provides it.
 *
 * Peers use the name for two formats: Dubbo for the raw block, gRPC libraries in Go for the framed stream. Both compressions
 * detect the format and decompress either; they differ in the format that they send. The framed stream has blocks of up to
 * 64 KiB, each with a checksum:
 *
 *     Stream → Identifier *Chunk
 *     Chunk  → Kind Length Data              ; one byte, and three of length, little-endian
 *     Data   → Checksum ( Block / Bytes )    ; for kinds 0 and 1; the checksum is a masked CRC-32C
 *
 * The code runs on the event loop: data of 4 MiB takes less than 100 ms.
 */
import { join, joinAll, NO_BYTES } from "../../call/bytes.ts";
import type { Compression } from "../compression.ts";
import { compressBlock, decompressBlock } from "./block.ts";

const BLOCK = 0;
const BYTES = 1;
/** Chunks of this kind and above, including the identifier, may be skipped; chunks of a lower kind may not. */
const FIRST_SKIPPABLE = 0x80;
const HEADER_BYTES = 4;
const CHECKSUM_BYTES = 4;
const MAX_CHUNK_BYTES = 65_536;
/** The chunk that every stream begins with: kind 255, six bytes, "sNaPpY". No block can begin like that. */
const IDENTIFIER = Uint8Array.of(0xff, 6, 0, 0, 0x73, 0x4e, 0x61, 0x50, 0x70, 0x59);

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

/** Reports whether the bytes are a framed stream rather than a block. */
function isFramed(bytes: Uint8Array): boolean {
  return bytes.byteLength >= IDENTIFIER.byteLength && IDENTIFIER.every((byte, i) => bytes[i] === byte);
}

/** Writes bytes as a framed stream. */
export function compressFrames(bytes: Uint8Array): Uint8Array {
  const chunks: Uint8Array[] = [IDENTIFIER];
  for (let start = 0; start < bytes.byteLength; start += MAX_CHUNK_BYTES) {
    const text = bytes.subarray(start, start + MAX_CHUNK_BYTES);
    const block = compressBlock(text);
    const [kind, data] = block.byteLength < text.byteLength ? [BLOCK, block] : [BYTES, text];
    const header = new DataView(new ArrayBuffer(HEADER_BYTES + CHECKSUM_BYTES));
    // The kind and the length that follows it are written as one little-endian integer.
    header.setUint32(0, ((data.byteLength + CHECKSUM_BYTES) << 8) | kind, true);
    header.setUint32(HEADER_BYTES, checksumOf(text), true);
    chunks.push(new Uint8Array(header.buffer), data);
  }
  return joinAll(chunks);
}

/**
 * Reads what {@link compressFrames} writes. Throws a `RangeError` before it holds more than `maxBytes`. The texts are copied
 * into one array at once, because a stream may have one chunk for each byte.
 */
function decompressFrames(bytes: Uint8Array, maxBytes: number): Uint8Array {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let out = NO_BYTES;
  let length = 0;
  let at = 0;
  while (at < bytes.byteLength) {
    if (bytes.byteLength - at < HEADER_BYTES) throw malformed("a chunk ends too early");
    const header = view.getUint32(at, true);
    const [kind, size] = [header & 0xff, header >>> 8];
    const start = at + HEADER_BYTES;
    at = start + size;
    if (at > bytes.byteLength) throw malformed("a chunk ends too early");
    if (kind >= FIRST_SKIPPABLE) continue;
    if (kind !== BLOCK && kind !== BYTES) throw malformed(`it has a chunk of kind ${kind}`);
    if (size < CHECKSUM_BYTES) throw malformed("a chunk has no checksum");
    const data = bytes.subarray(start + CHECKSUM_BYTES, at);
    const left = maxBytes - length;
    const text = kind === BLOCK ? decompressBlock(data, left) : withinLimit(data, left);
    if (checksumOf(text) !== view.getUint32(start, true)) throw malformed("a checksum is wrong");
    out = append(out, length, text, maxBytes);
    length += text.byteLength;
  }
  return length === out.byteLength ? out : out.slice(0, length);
}

function withinLimit(data: Uint8Array, maxBytes: number): Uint8Array {
  if (data.byteLength > maxBytes)
    throw new RangeError(`snappy stream is ${data.byteLength - maxBytes} bytes too large`);
  return data;
}

/** Appends text to the first `length` bytes of `out`. Returns `out`, or a larger copy of at most `maxBytes`. */
function append(out: Uint8Array, length: number, text: Uint8Array, maxBytes: number): Uint8Array {
  const needed = length + text.byteLength;
  if (needed > out.byteLength) {
    const grown = new Uint8Array(Math.min(maxBytes, Math.max(needed, 2 * out.byteLength)));
    return join([out.subarray(0, length), text], grown);
  }
  out.set(text, length);
  return out;
}

/** The table of CRC-32C for each byte, with the polynomial 0x1edc6f41, reflected. */
const CRC_TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
  let crc = byte;
  for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0x82f63b78 : crc >>> 1;
  return crc;
});

/** Returns the masked CRC-32C, rotated and with an added constant: the CRC of data with plain CRCs is problematic. */
function checksumOf(bytes: Uint8Array): number {
  let crc = -1;
  for (const byte of bytes) crc = (CRC_TABLE[(crc ^ byte) & 0xff] as number) ^ (crc >>> 8);
  const plain = ~crc;
  return (((plain >>> 15) | (plain << 17)) + 0xa282ead8) >>> 0;
}

function malformed(reason: string): Error {
  return new Error(`not a snappy stream: ${reason}`);
}
