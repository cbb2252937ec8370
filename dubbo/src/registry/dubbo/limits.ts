/**
 * Limits of what a consumer reads of one service. Every client of a registry may write its lists, so that a list without a
 * limit could stop the consumers that read it. The rest of a list is skipped with a warning, and long lists are read in steps,
 * between which other tasks of the process run.
 */
import { defer } from "triple-es/internal";
import type { Warn } from "./source.ts";

/** The maximum number of applications that a mapping names: each is watched. */
export const MAX_APPLICATIONS = 1_000;
/** The maximum number of provider URLs of a service, and of instances of an application. */
export const MAX_PROVIDERS = 50_000;
/** The maximum length of the name of an application: that of Nacos. */
const MAX_NAME_LENGTH = 512;

/** Returns the first entries of a list. Warns if there are more. `list` describes it, such as `the mapping of greet`. */
export function takeFirst<T>(entries: readonly T[], max: number, list: string, warn: Warn): readonly T[] {
  if (entries.length <= max) return entries;
  warn(`${list} has more than ${max} entries: the others are skipped`);
  return entries.slice(0, max);
}

/** Returns the applications of a mapping that can be looked up in any registry, with warnings for the others. */
export function checkApplications(names: readonly string[], service: string, warn: Warn): readonly string[] {
  const valid = takeFirst(names, MAX_APPLICATIONS, `the mapping of ${service}`, warn);
  return valid.filter((name) => {
    // Names are parts of paths.
    const isValid = name.length <= MAX_NAME_LENGTH && !/^\.\.?$|[/\p{Cc}\p{Surrogate}]/u.test(name);
    const problem = `its name is no part of a path of at most ${MAX_NAME_LENGTH} characters`;
    if (!isValid) warn(`the application ${shorten(name)} of the mapping of ${service} is skipped: ${problem}`);
    return isValid;
  });
}

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

/** Shortens an entry of a peer for a message. */
export function shorten(text: string): string {
  return JSON.stringify(text.length > 120 ? `${text.slice(0, 120)}…` : text);
}
