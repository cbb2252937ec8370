/**
 * The dynamic table of a decoder (RFC 7541, sections 2.3.2 and 4): entries in the order of insertion. The oldest entries are
 * evicted when the table is full.
 */
import { DEFAULT_HEADER_TABLE_SIZE } from "../codes.ts";

/** The size of an entry in addition to its name and value, in bytes (RFC 7541, section 4.1). */
export const ENTRY_OVERHEAD_BYTES = 32;

/** An entry of the static or dynamic table, with its classification, which is computed once. */
export interface Entry {
  readonly name: string;
  readonly value: string;
  /** The length of the name and the value plus {@link ENTRY_OVERHEAD_BYTES}, in bytes. */
  readonly size: number;
  /** The kind of the name, and the kind of the whole field, as `FieldRules` define them. */
  readonly nameKind: number;
  readonly kind: number;
}

const MIN_ENTRIES = 16;
/** The ring of tables without entries, which is never written to. */
const NO_ENTRIES: undefined[] = [];

/** A ring buffer of entries: insertion and eviction move no other entry. */
export class DynamicTable {
  /** A counter that increases with each change of the table, because a change can give an index another meaning. */
  generation = 0;
  maxBytes: number = DEFAULT_HEADER_TABLE_SIZE;
  #bytes = 0;
  /** Its length is 0 before the first insertion, and then a power of two. */
  #ring: (Entry | undefined)[] = NO_ENTRIES;
  /** The position of the next insertion in the ring. */
  #next = 0;
  length = 0;

  /** Returns the entry at an age, 0 for the newest entry, or `undefined` if the table has no such entry. */
  at(age: number): Entry | undefined {
    if (age >= this.length) return undefined;
    return this.#ring[(this.#next - 1 - age) & (this.#ring.length - 1)];
  }

  /** Inserts an entry after evicting older ones. An entry larger than the table empties it (RFC 7541, section 4.4). */
  insert(entry: Entry): void {
    this.generation++;
    this.#evictTo(this.maxBytes - entry.size);
    if (entry.size > this.maxBytes) return;
    if (this.length === this.#ring.length) this.#grow();
    this.#ring[this.#next] = entry;
    this.#next = (this.#next + 1) & (this.#ring.length - 1);
    this.length++;
    this.#bytes += entry.size;
  }

  /** Changes the maximum size and evicts entries beyond it (RFC 7541, section 4.3). */
  resize(maxBytes: number): void {
    this.generation++;
    this.maxBytes = maxBytes;
    this.#evictTo(maxBytes);
  }

  #evictTo(bytes: number): void {
    while (this.length > 0 && this.#bytes > bytes) {
      const oldest = (this.#next - this.length) & (this.#ring.length - 1);
      this.#bytes -= (this.#ring[oldest] as Entry).size;
      this.#ring[oldest] = undefined;
      this.length--;
    }
  }

  #grow(): void {
    const entries = Array.from({ length: this.length }, (_, i) => this.at(this.length - 1 - i));
    this.#ring = [...entries, ...new Array<undefined>(Math.max(MIN_ENTRIES, this.length)).fill(undefined)];
    this.#next = this.length;
  }
}
