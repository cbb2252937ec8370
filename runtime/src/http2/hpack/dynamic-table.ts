/**
 * The dynamic table of a decoder (RFC 7541, sections 2.3.2 and 4): entries in the order of their insertion, the oldest of
 * which leave when there is no space.
 */

/** Overhead of an entry beside its name and value (RFC 7541, section 4.1). */
export const ENTRY_OVERHEAD_BYTES = 32;

/** A field as the tables have it, with what was found out about it when it came. */
export interface Entry {
  readonly name: string;
  readonly value: string;
  /** Length of name and value, and {@link ENTRY_OVERHEAD_BYTES}. */
  readonly size: number;
  /** Kinds of the name, and of name and value together, by the rules of messages. */
  readonly nameKind: number;
  readonly kind: number;
}

/** A ring of entries: nothing moves when one comes or goes. */
export class DynamicTable {
  /** Raised by whatever changes the meaning of an index. */
  generation = 0;
  maxBytes: number;
  #bytes = 0;
  #ring: (Entry | undefined)[] = new Array<Entry | undefined>(16).fill(undefined);
  /** Position of the next entry. */
  #next = 0;
  length = 0;

  constructor(maxBytes: number) {
    this.maxBytes = maxBytes;
  }

  /** The entry that has come so many before the newest one; `undefined` if there is none. */
  at(age: number): Entry | undefined {
    if (age >= this.length) return undefined;
    return this.#ring[(this.#next - 1 - age) & (this.#ring.length - 1)];
  }

  /** Inserts, and evicts what has to go first. An entry that is larger than the table empties it (RFC 7541, section 4.4). */
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

  /** Changes the size (RFC 7541, section 4.3). */
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
    this.#ring = [...entries, ...new Array<undefined>(this.length).fill(undefined)];
    this.#next = this.length;
  }
}
