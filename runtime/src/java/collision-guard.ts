/**
 * A guard against hash flooding of sets and maps whose keys a peer chooses. Engines hash text with a secret seed, but numbers
 * with a function that everybody knows: keys that it maps to one hash make each lookup as slow as all of them together.
 * The guard measures lookups, because which keys collide only the engine knows.
 */

/** Keys that are looked up in a measurement: a random sample of all, so that a peer cannot know which ones. */
const SAMPLE = 64;

/** Keys that are added between two measurements. */
const INTERVAL = 512;

/**
 * Most time of a lookup, in milliseconds, on average over the sample: that of a chain of about a thousand keys. Lookups take
 * a hundredth of it where keys do not collide, however many there are.
 */
const MAX_LOOKUP_MS = 0.004;

/** A pause of the process makes one measurement slow, but hardly three of the same lookups. */
const MEASUREMENTS = 3;

/** The guard of one set or map while keys are added to it. */
export class CollisionGuard {
  readonly #keys: { has(key: unknown): boolean };
  readonly #sample: unknown[] = [];
  #count = 0;

  constructor(keys: { has(key: unknown): boolean }) {
    this.#keys = keys;
  }

  /** To be called after each key that was added. Throws if looking keys up has become slow. */
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
      for (const key of this.#sample) this.#keys.has(key);
      if (performance.now() - start < SAMPLE * MAX_LOOKUP_MS) return false;
    }
    return true;
  }
}

/** Adds what `make` makes of each item to a set. Throws as the guard does. */
export function addAll<T>(set: Set<unknown>, items: Iterable<T>, make: (item: T) => unknown): Set<unknown> {
  const guard = new CollisionGuard(set);
  for (const item of items) {
    const key = make(item);
    set.add(key);
    guard.added(key);
  }
  return set;
}

/** Adds entries to a map. Throws as the guard does. */
export function setAll(map: Map<unknown, unknown>, entries: Iterable<readonly [unknown, unknown]>): typeof map {
  const guard = new CollisionGuard(map);
  for (const [key, value] of entries) {
    map.set(key, value);
    guard.added(key);
  }
  return map;
}
