/**
 * Validation of options that are one of several strings, for callers without a type checker: an unknown string is
 * refused and never treated as the default.
 */

/** Returns the value if it is known. Throws a `TypeError` that lists the known values otherwise. */
export function assertOneOf<Word extends string>(option: string, value: Word, known: readonly Word[]): Word {
  if (known.includes(value)) return value;
  throw new TypeError(`${option} must be in ${JSON.stringify(known)}, not ${JSON.stringify(value)}`);
}
