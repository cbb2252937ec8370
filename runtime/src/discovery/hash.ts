/**
 * A non-cryptographic hash of text that distributes keys and addresses: FNV-1a, with the finalizer of MurmurHash3 so
 * that every bit of the result is well distributed.
 */

/** Returns the hash of the text, from 0 to 2 ** 32 - 1. */
export function hashText(text: string, seed = 0): number {
  let hash = 0x811c9dc5 ^ seed;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  return mix(hash);
}

/** Mixes the bits of a number over 32 bits (the finalizer of MurmurHash3). */
export function mix(number: number): number {
  let hash = number ^ (number >>> 16);
  hash = Math.imul(hash, 0x85ebca6b);
  hash ^= hash >>> 13;
  hash = Math.imul(hash, 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}
