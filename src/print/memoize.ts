/** Memoization by key, which keeps the plugin linear where the plugin kit computes the same thing repeatedly. */

/** The function, computed once for each key. */
export function memo<K extends object, V>(compute: (key: K) => V): (key: K) => V {
  const known = new Map<K, V>();
  return (key) => {
    let value = known.get(key);
    if (value === undefined) {
      value = compute(key);
      known.set(key, value);
    }
    return value;
  };
}
