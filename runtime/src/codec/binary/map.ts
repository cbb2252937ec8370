/** Map fields, which are plain objects. */

/** Sets an entry. The key may be `__proto__`, for which an assignment would set the prototype. */
export function setEntry<Value>(map: Record<string, Value>, key: string, value: Value): void {
  if (key !== "__proto__") map[key] = value;
  else Object.defineProperty(map, key, { value, writable: true, enumerable: true, configurable: true });
}
