/**
 * Pseudo-random numbers in streams that are split by purpose, such as `link/client1-server2`. With one generator for
 * everything, a plan without one of its faults would change all other draws, and could not be shrunk.
 */

/** A stream of pseudo-random numbers. */
export interface Random {
  /** Returns a number from 0 to 1, without 1. */
  next(): number;
  /** Returns an integer from `low` to `high`, both included. */
  int(low: number, high: number): number;
  /** Returns a number from `low` to `high`. */
  between(low: number, high: number): number;
  /** Returns a number from `low` to `high` whose logarithm is distributed evenly. */
  log(low: number, high: number): number;
  /** Returns true with the given probability. */
  chance(probability: number): boolean;
  /** Returns one of the values. */
  pick<T>(values: readonly T[]): T;
}

/** FNV-1a, 32 bits, of a text. */
export function hashText(text: string, start = 0x811c9dc5): number {
  let hash = start;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  return hash >>> 0;
}

/** Creates the stream of a seed for a purpose (sfc32). */
export function createRandom(seed: number, purpose: string): Random {
  let a = hashText(purpose, (seed ^ 0x9e3779b9) >>> 0);
  let b = hashText(purpose, (Math.imul(seed, 0x85ebca6b) ^ 0x243f6a88) >>> 0);
  let c = seed >>> 0;
  let count = 1;
  const next = (): number => {
    const sum = (((a + b) | 0) + count) | 0;
    count = (count + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = (c << 21) | (c >>> 11);
    c = (c + sum) | 0;
    return (sum >>> 0) / 2 ** 32;
  };
  for (let i = 0; i < 12; i++) next();
  const random: Random = {
    next,
    int: (low, high) => low + Math.floor(next() * (high - low + 1)),
    between: (low, high) => low + next() * (high - low),
    log: (low, high) => low * (high / low) ** next(),
    chance: (probability) => next() < probability,
    pick: (values) => values[Math.floor(next() * values.length)] as (typeof values)[number],
  };
  return random;
}
