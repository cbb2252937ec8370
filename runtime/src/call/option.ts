/**
 * Options that are one of several words. Callers without a type checker may write any other: it is refused where the option
 * is given, and never read as a default.
 */

/** The value, if it is one of those known. Throws a `TypeError` that lists them for any other. */
export function assertOneOf<Word extends string>(option: string, value: Word, known: readonly Word[]): Word {
  if (known.includes(value)) return value;
  throw new TypeError(`${option} must be in ${JSON.stringify(known)}, not ${JSON.stringify(value)}`);
}
