/**
 * Header blocks that have come before. A client sends the same few over and over, and to compare bytes is far cheaper than
 * to decode them. That is right because the tables have not changed since: see {@link BlockCache.find}.
 */

const SLOTS = 16;
/** Limits of the cache: bytes of an encoded block, and size of its headers (RFC 9113, section 10.5.1). */
const MAX_ENCODED_BYTES = 512;
const MAX_DECODED_BYTES = 2_048;
/** After so many misses in a row it is not tried any more, until so many blocks have passed. */
const MAX_MISSES = 64;
const PAUSE_BLOCKS = 1_024;

interface Slot<Block> {
  readonly bytes: Uint8Array;
  /** Generation of the tables when the block was decoded. */
  readonly generation: number;
  readonly block: Block;
}

/** Decoded blocks of one connection. Shared between connections, the cache would be an oracle for what others send. */
export class BlockCache<Block> {
  readonly #slots: (Slot<Block> | undefined)[] = new Array<Slot<Block> | undefined>(SLOTS).fill(undefined);
  #misses = 0;
  #pause = 0;
  /** Bytes that are kept, decoded ones estimated. */
  held = 0;

  /** The decoded form of the same bytes, if it is still valid: no table entry was added, evicted or moved since. */
  find(bytes: Uint8Array, start: number, end: number, generation: number): Block | undefined {
    if (this.#pause > 0) {
      this.#pause--;
      return undefined;
    }
    const slot = this.#slots[slotOf(bytes, start, end)];
    if (slot !== undefined && slot.generation === generation && equals(slot.bytes, bytes, start, end)) {
      this.#misses = 0;
      return slot.block;
    }
    this.#misses++;
    if (this.#misses >= MAX_MISSES) {
      this.#misses = 0;
      this.#pause = PAUSE_BLOCKS;
    }
    return undefined;
  }

  /** Keeps a block, which must never change, unless it is too large. The bytes are copied. */
  keep(bytes: Uint8Array, start: number, end: number, generation: number, block: Block, decodedBytes: number): void {
    if (this.#pause > 0 || end - start > MAX_ENCODED_BYTES || decodedBytes > MAX_DECODED_BYTES) return;
    const index = slotOf(bytes, start, end);
    if (this.#slots[index] === undefined) this.held += MAX_ENCODED_BYTES + MAX_DECODED_BYTES;
    this.#slots[index] = { bytes: bytes.slice(start, end), generation, block };
  }

  /** Forgets all. */
  clear(): void {
    if (this.held === 0) return;
    this.held = 0;
    this.#slots.fill(undefined);
  }
}

/** The ends of a block and its length tell most blocks apart; a collision costs an eviction, and nothing else. */
function slotOf(bytes: Uint8Array, start: number, end: number): number {
  let hash = end - start;
  const head = Math.min(end, start + 8);
  for (let i = start; i < head; i++) hash = (Math.imul(hash, 31) + (bytes[i] as number)) | 0;
  for (let i = Math.max(head, end - 8); i < end; i++) hash = (Math.imul(hash, 31) + (bytes[i] as number)) | 0;
  return (hash ^ (hash >>> 8) ^ (hash >>> 16)) & (SLOTS - 1);
}

function equals(kept: Uint8Array, bytes: Uint8Array, start: number, end: number): boolean {
  if (kept.length !== end - start) return false;
  for (let i = 0; i < kept.length; i++) if (kept[i] !== bytes[start + i]) return false;
  return true;
}
