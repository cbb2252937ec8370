/**
 * gzip and deflate of `CompressionStream` (WHATWG Compression Streams), which browsers, Deno, Bun, Cloudflare Workers
 * and Node have. They are the default compressions of a router, and add less than a kilobyte to a bundle.
 */
import { concat } from "../call/bytes.ts";
import type { Compression } from "./compression.ts";

/** Returns the compressions of the platform, best first, or none if it has no `CompressionStream`. */
export function webCompressions(): readonly Compression[] {
  return typeof CompressionStream === "function" ? [createCompression("gzip"), createCompression("deflate")] : [];
}

function createCompression(name: "gzip" | "deflate"): Compression {
  return {
    name,
    compress: (bytes) => transform(bytes, new CompressionStream(name), Number.POSITIVE_INFINITY),
    decompress: (bytes, maxBytes) => transform(bytes, new DecompressionStream(name), maxBytes),
  };
}

/** Reads the output of a transform. Throws a `RangeError` as soon as it exceeds `maxBytes`, which bounds inflation. */
async function transform(
  bytes: Uint8Array,
  { writable, readable }: CompressionStream | DecompressionStream,
  maxBytes: number,
): Promise<Uint8Array> {
  const writer = writable.getWriter();
  const written = Promise.all([writer.write(bytes as Uint8Array<ArrayBuffer>), writer.close()]);
  // The reader rejects with the same reason, which is the one that is reported.
  written.catch(() => {});
  const reader = readable.getReader();
  const chunks: Uint8Array[] = [];
  let length = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return concat(chunks, length);
    length += value.byteLength;
    if (length > maxBytes) {
      const error = new RangeError(`the output is larger than ${maxBytes} bytes`);
      reader.cancel(error).catch(() => {});
      throw error;
    }
    chunks.push(value);
  }
}
