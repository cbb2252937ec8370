/**
 * A cache of decoded header blocks. A client repeats a few blocks, and comparing their bytes is far cheaper than decoding
 * them. A cached block is valid only while the dynamic table does not change: see {@link BlockCache.find}.
 */

const SLOTS = 16;
/** Limits of a cached block, so that a cache takes 40 KiB at the most: its encoded bytes, and the size of its fields. */
const MAX_ENCODED_BYTES = 512;
const MAX_DECODED_BYTES = 2_048;
/** After `MAX_MISSES` consecutive misses, the cache is bypassed for the next `PAUSE_BLOCKS` blocks. */
const MAX_MISSES = 64;
const PAUSE_BLOCKS = 1_024;

interface Slot<Block> {
  readonly bytes: Uint8Array;
  /** The generation of the dynamic table when the block was decoded. */
  readonly generation: number;
  readonly block: Block;
}

/** The cache of one connection. A cache shared between connections would be an oracle for the headers of other clients. */
export class BlockCache<Block> {
  /** Created with the first block. An idle connection has none. */
  #slots: (Slot<Block> | undefined)[] | undefined;
  #misses = 0;
  #pause = 0;

  /** Returns the cached block with these bytes, if the dynamic table has not changed since it was decoded. */
  find(bytes: Uint8Array, start: number, end: number, generation: number): Block | undefined {
    if (this.#pause > 0) {
      this.#pause--;
      return undefined;
    }
    const slot = this.#slots?.[slotOf(bytes, start, end)];
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

  /** Stores a block and a copy of its bytes, unless it is too large. The block must be immutable. */
  keep(bytes: Uint8Array, start: number, end: number, generation: number, block: Block, decodedBytes: number): void {
    if (this.#pause > 0 || end - start > MAX_ENCODED_BYTES || decodedBytes > MAX_DECODED_BYTES) return;
    const index = slotOf(bytes, start, end);
    this.#slots ??= new Array<Slot<Block> | undefined>(SLOTS).fill(undefined);
    this.#slots[index] = { bytes: bytes.slice(start, end), generation, block };
  }

  /** Removes all blocks. */
  clear(): void {
    this.#slots = undefined;
  }
}

/** Hashes the length, the first and the last eight bytes, which distinguish most blocks. A collision only evicts a block. */
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
