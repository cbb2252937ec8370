/** Suggestions for misspelled names. */

/** Returns the name that was probably meant: the nearest of those that differ in at most two letters, if there is one. */
export function nearestName(written: string, names: readonly string[]): string | undefined {
  const letters = (name: string): string => name.toLowerCase().replace(/[^a-z]/g, "");
  const distances = names.map((name) => distance(letters(name), letters(written)));
  const nearest = Math.min(...distances);
  return nearest > 2 ? undefined : names[distances.indexOf(nearest)];
}

/** Returns the end of an error about a name: a question with the nearest name, or nothing. */
export function suggestion(written: string, names: readonly string[]): string {
  const meant = nearestName(written, names);
  return meant === undefined ? "" : `, did you mean "${meant}"?`;
}

/**
 * Computes the Levenshtein distance: the number of letters to add, remove or replace to turn one word into the other.
 */
function distance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, i) => i);
  for (const [i, letter] of [...from].entries()) {
    const next = [i + 1];
    for (let j = 0; j < to.length; j++) {
      const replaced = (row[j] ?? 0) + (to[j] === letter ? 0 : 1);
      next.push(Math.min(replaced, (row[j + 1] ?? 0) + 1, (next[j] ?? 0) + 1));
    }
    row = next;
  }
  return row[to.length] ?? 0;
}
