/**
 * Protection against hash flooding of sets and maps whose keys a peer chooses. JavaScript engines hash text with a secret
 * seed, but numbers with a public function: if many numbers have the same hash, each lookup takes time in proportion to their
 * number. The guard measures the time of lookups, because only the engine can tell which keys collide.
 */

/** The number of keys in a measurement. They are a random sample of all keys, so that a peer cannot predict them. */
const SAMPLE = 64;

/** The number of keys that are added between two measurements. */
const INTERVAL = 512;

/**
 * The longest average time of a lookup, in milliseconds, which is that of a chain of about a thousand keys. Without
 * collisions a lookup takes a hundredth of it, for any number of keys.
 */
const MAX_LOOKUP_MS = 0.004;

/** The number of measurements in a row that must be slow. A pause of the process slows one, but hardly three. */
const MEASUREMENTS = 3;

/** The guard of one set or map while keys are added to it. */
export class CollisionGuard {
  readonly #keys: { has(key: unknown): boolean };
  readonly #sample: unknown[] = [];
  #count = 0;

  constructor(keys: { has(key: unknown): boolean }) {
    this.#keys = keys;
  }

  /** Records an added key. Throws if lookups have become slow. */
  added(key: unknown): void {
    if (typeof key !== "number" && typeof key !== "bigint") return;
    this.#count += 1;
    // Reservoir sampling: each key so far is in the sample with the same probability.
    const place = this.#count <= SAMPLE ? this.#count - 1 : Math.floor(Math.random() * this.#count);
    if (place < SAMPLE) this.#sample[place] = key;
    if (this.#count % INTERVAL === 0 && this.#isSlow()) {
      throw new Error("too many numbers in a set or in the keys of a map have the same hash");
    }
  }

  #isSlow(): boolean {
    for (let i = 0; i < MEASUREMENTS; i += 1) {
      const start = performance.now();
      // An optimizing compiler removes lookups whose results are not used.
      let found = 0;
      for (const key of this.#sample) if (this.#keys.has(key)) found += 1;
      if (found < SAMPLE || performance.now() - start < SAMPLE * MAX_LOOKUP_MS) return false;
    }
    return true;
  }
}
