/**
 * Validation of options: choices from a list of words, and groups of limits. Callers without a type checker can pass any
 * value. An invalid value throws when the option is passed; it is never replaced by the default.
 */

/** Returns the value if it is in the list of known values. Otherwise throws a `TypeError` that lists them. */
export function assertOneOf<T extends string | number | boolean>(option: string, value: T, known: readonly T[]): T {
  if (known.includes(value)) return value;
  throw new TypeError(`${option} must be in ${JSON.stringify(known)}, not ${JSON.stringify(value)}`);
}

/** Returns a number of at least 0, or of more than 0 if it `isPositive`. Throws a `TypeError` for other values. */
export function assertAmount(option: string, value: unknown, isPositive = false): number {
  if (typeof value === "number" && (isPositive ? value > 0 : value >= 0)) return value;
  const shown = typeof value === "string" ? JSON.stringify(value) : String(value);
  throw new TypeError(`${option} must be ${isPositive ? "more than 0" : "0 or more"}, not ${shown}`);
}

/** Throws a `TypeError` for options that are given, but are not functions. */
export function assertFunctions(options: Readonly<Record<string, unknown>>): void {
  for (const [option, value] of Object.entries(options)) {
    if (value === undefined || typeof value === "function") continue;
    throw new TypeError(`${option} must be a function, not ${JSON.stringify(value)}`);
  }
}

/** Throws a `TypeError` for an option that is given, but is not an object. `example` shows a valid value. */
export function assertObject(option: string, value: unknown, example: string): void {
  if (value === undefined || (typeof value === "object" && value !== null && !Array.isArray(value))) return;
  throw new TypeError(`${option} must be an object, such as ${example}, not ${kindOf(value)}`);
}

/** Throws a `TypeError` for options that are given, but are not arrays. */
export function assertArrays(options: Readonly<Record<string, unknown>>): void {
  for (const [option, value] of Object.entries(options)) {
    if (value === undefined || Array.isArray(value)) continue;
    throw new TypeError(`${option} must be an array, not ${kindOf(value)}`);
  }
}

/** Describes a value without its content, which can be a private key. */
function kindOf(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "an array";
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}

/** The names of the members of an interface. The compiler reports a missing one. */
export type MemberNames<Options> = Readonly<Record<keyof Options, unknown>>;

/** Throws a `TypeError` for a value that is not an object, or has a member that is not in the list of known names. */
export function assertMembers(option: string, given: object, known: readonly string[]): void {
  const names = known.join(", ");
  if (typeof given !== "object" || given === null || Array.isArray(given)) {
    throw new TypeError(`${option} must be an object with some of: ${names}`);
  }
  for (const name of Object.keys(given)) {
    if (known.includes(name)) continue;
    const meant = similarName(name, known);
    throw new TypeError(
      meant === undefined
        ? `${option}: "${name}" is not among: ${names}`
        : `${option}: there is no "${name}", did you mean "${meant}"?`,
    );
  }
}

/** Returns a copy of an object with some of its members. */
export function pickMembers<Options extends object>(given: Options, names: readonly string[]): Options {
  return Object.fromEntries(Object.entries(given).filter(([name]) => names.includes(name))) as Options;
}

/** Returns the name that was probably meant: one that differs in case, in a letter, or in two of at least six letters. */
export function similarName(written: string, known: readonly string[]): string | undefined {
  const letters = written.length < 6 ? 1 : 2;
  return known.find((name) => distance(name.toLowerCase(), written.toLowerCase()) <= letters);
}

/** Computes the Levenshtein distance: the number of letters to add, remove or replace to turn one word into the other. */
function distance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, i) => i);
  for (const [i, letter] of [...from].entries()) {
    const next = [i + 1];
    for (let j = 0; j < to.length; j++) {
      const replaced = (row[j] as number) + (to[j] === letter ? 0 : 1);
      next.push(Math.min(replaced, (row[j + 1] as number) + 1, (next[j] as number) + 1));
    }
    row = next;
  }
  return row[to.length] as number;
}

/**
 * Fills in the defaults of a group of limits, each a positive integer up to its maximum. Throws a `TypeError` for an unknown
 * name and a `RangeError` for a value out of range.
 */
export function resolveLimitGroup<Limits extends { readonly [Limit in keyof Limits]: number }>(
  option: string,
  defaults: Limits,
  given: { readonly [Limit in keyof Limits]?: number | undefined } = {},
  maxima?: Limits,
): Limits {
  assertMembers(option, given, Object.keys(defaults));
  const limits = { ...defaults };
  for (const [name, value] of Object.entries<number | undefined>(given)) {
    if (value === undefined) continue;
    const max = maxima?.[name as keyof Limits] ?? Number.MAX_SAFE_INTEGER;
    if (!Number.isSafeInteger(value) || value < 1 || value > max) {
      const range = maxima === undefined ? "a positive integer" : `an integer between 1 and ${max}`;
      throw new RangeError(`${option}.${name} must be ${range}, not ${value}`);
    }
    Object.assign(limits, { [name]: value });
  }
  return limits;
}
