/**
 * gzip and deflate on `CompressionStream` (WHATWG Compression Streams), which browsers, Deno, Bun, Cloudflare Workers and
 * Node have: the compressions of a router that is told of no others. They cost a bundle less than a kilobyte.
 */
import type { Compression } from "./compression.ts";

/** The compressions of this platform, best first; none where there is no `CompressionStream`. */
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

/** The output of a transform, chunk by chunk: a small input that inflates to much is left when it exceeds the limit. */
async function transform(
  bytes: Uint8Array,
  { writable, readable }: CompressionStream | DecompressionStream,
  maxBytes: number,
): Promise<Uint8Array> {
  const writer = writable.getWriter();
  const written = Promise.all([writer.write(bytes as Uint8Array<ArrayBuffer>), writer.close()]);
  // The reader fails with the same reason.
  written.catch(() => {});
  const reader = readable.getReader();
  const chunks: Uint8Array[] = [];
  let length = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return join(chunks, length);
    length += value.byteLength;
    if (length > maxBytes) {
      const error = new RangeError(`the output is larger than ${maxBytes} bytes`);
      reader.cancel(error).catch(() => {});
      throw error;
    }
    chunks.push(value);
  }
}

function join(chunks: readonly Uint8Array[], length: number): Uint8Array {
  const joined = new Uint8Array(length);
  let offset = 0;
  for (const chunk of chunks) {
    joined.set(chunk, offset);
    offset += chunk.byteLength;
  }
  return joined;
}
