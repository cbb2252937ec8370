/** Objects whose names are not declared. */

/** The largest name that engines treat as an index of an array. */
const LARGEST_INDEX = 2 ** 32 - 2;

/**
 * Creates an object for names that a peer chooses. Engines keep members whose names are integers in an array up to the
 * largest name, 12 KB for the only name 1000, unless there has been a far larger one: then they keep them in a hash table.
 */
export function createRecord(): Record<string, unknown> {
  const record: Record<string, unknown> = {};
  record[LARGEST_INDEX] = undefined;
  delete record[LARGEST_INDEX];
  return record;
}
