/**
 * Joining of chunks of bytes.
 */

export const NO_BYTES: Uint8Array = new Uint8Array(0);

/** Joins chunks with this total length. A single chunk is returned without a copy. */
export function concat(chunks: readonly Uint8Array[], length: number): Uint8Array {
  if (chunks.length <= 1) return chunks[0] ?? NO_BYTES;
  return join(chunks, new Uint8Array(length));
}

/** Joins chunks into a new array. */
export function joinAll(chunks: readonly Uint8Array[]): Uint8Array {
  return join(chunks, new Uint8Array(chunks.reduce((sum, { length }) => sum + length, 0)));
}

/** Copies chunks into `joined`, one after the other, and returns it. */
export function join(chunks: readonly Uint8Array[], joined: Uint8Array): Uint8Array {
  let offset = 0;
  for (const chunk of chunks) {
    joined.set(chunk, offset);
    offset += chunk.length;
  }
  return joined;
}
