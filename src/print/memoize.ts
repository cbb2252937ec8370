/**
 * Memoization by key. It keeps the plugin's run time linear where the plugin kit computes the same result repeatedly.
 */

/** Returns a function that computes each key's value once. */
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
