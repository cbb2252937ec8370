/**
 * The open streams of a connection by id: a hash table with open addressing and linear probing, which is changed in place. A
 * `Map` with many additions and removals moves its members to new tables repeatedly, and V8 links the old tables to the new
 * ones: once a table has reached the old generation, every later stream survives minor collections, together with its whole
 * exchange.
 */
import type { EngineStream } from "./stream.ts";

const MIN_SLOTS = 4;

export class StreamTable {
  size = 0;
  /** At least half of the slots, a power of two, are empty. Consecutive ids, which peers use, hardly ever collide. */
  #slots: (EngineStream | undefined)[] = emptySlots(MIN_SLOTS);

  get(id: number): EngineStream | undefined {
    const slots = this.#slots;
    const mask = slots.length - 1;
    for (let at = (id >> 1) & mask; ; at = (at + 1) & mask) {
      const stream = slots[at];
      if (stream === undefined || stream.id === id) return stream;
    }
  }

  /** Adds a stream that is not in the table. */
  add(stream: EngineStream): void {
    this.size++;
    if (this.size * 2 > this.#slots.length) this.#grow();
    insert(this.#slots, stream);
  }

  delete(id: number): void {
    const slots = this.#slots;
    const mask = slots.length - 1;
    let hole = (id >> 1) & mask;
    for (;;) {
      const stream = slots[hole];
      if (stream === undefined) return;
      if (stream.id === id) break;
      hole = (hole + 1) & mask;
    }
    this.size--;
    // Entries after the hole move up, unless they are in their own slot: a search ends at the first empty slot.
    for (let at = (hole + 1) & mask; ; at = (at + 1) & mask) {
      const stream = slots[at];
      if (stream === undefined) break;
      const home = (stream.id >> 1) & mask;
      if (((at - home) & mask) < ((at - hole) & mask)) continue;
      slots[hole] = stream;
      hole = at;
    }
    slots[hole] = undefined;
  }

  /** Returns all streams in the order of their ids. */
  values(): EngineStream[] {
    const streams = this.#slots.filter((stream) => stream !== undefined);
    return streams.sort((a, b) => a.id - b.id);
  }

  #grow(): void {
    const slots = emptySlots(this.#slots.length * 2);
    for (const stream of this.#slots) if (stream !== undefined) insert(slots, stream);
    this.#slots = slots;
  }
}

function emptySlots(length: number): (EngineStream | undefined)[] {
  return new Array<EngineStream | undefined>(length).fill(undefined);
}

function insert(slots: (EngineStream | undefined)[], stream: EngineStream): void {
  const mask = slots.length - 1;
  let at = (stream.id >> 1) & mask;
  while (slots[at] !== undefined) at = (at + 1) & mask;
  slots[at] = stream;
}
