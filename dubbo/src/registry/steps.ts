/**
 * Work on long lists in steps: other tasks of the process run in between.
 */
import { defer } from "triple-es/internal";

/** The number of entries in one step: parsing them takes a few milliseconds. */
const STEP = 500;

/** The length of an entry that counts as one, in characters. */
const USUAL_LENGTH = 1_000;

/** Counts entries, and ends the task after each step. */
export class EntryCounter {
  #count = 0;

  /** Counts an entry by its length. Returns the same as {@link count}. */
  countText({ length }: string): Promise<void> | undefined {
    return this.count(1 + length / USUAL_LENGTH);
  }

  /** Counts entries that were worked on. Returns a promise if the task is to end here, for the caller to wait for. */
  count(entries = 1): Promise<void> | undefined {
    this.#count += entries;
    if (this.#count < STEP) return undefined;
    this.#count = 0;
    return new Promise(defer);
  }
}
