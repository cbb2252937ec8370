/** Map fields, which are plain objects. */
import { KEYS, LONGEST_KEY } from "./limits.ts";
import { delimited, type MessageReader } from "./scalar-reader.ts";
import { readUtf8, strict } from "./text.ts";

/** Keys of the last entries, by a hash of their bytes. */
const keys: string[] = [];

/**
 * Reads the key of an entry. Messages of a type often have the same keys, and setting a property by a string that was a key
 * before costs half as much. Only ASCII is remembered, so that invalid UTF-8 is equal to no remembered key.
 */
export function readKey(reader: MessageReader): string {
  const { bytes } = reader;
  const start = delimited(reader);
  const end = reader.pos;
  const length = end - start;
  const last = (bytes[end - 2] as number) * 10 + (bytes[end - 1] as number);
  const slot = (length * 7 + (bytes[start] as number) * 5 + last) & (KEYS - 1);
  const known = keys[slot];
  if (known?.length === length) {
    let index = 0;
    while (index < length && known.charCodeAt(index) === bytes[start + index]) index++;
    if (index === length) return known;
  }
  const key = readUtf8(bytes, start, end, strict);
  if (length <= LONGEST_KEY && key.length === length) keys[slot] = key;
  return key;
}

/** Sets an entry. The key may be `__proto__`, for which an assignment would set the prototype (prototype pollution). */
export function setEntry<Value>(map: Record<string, Value>, key: string, value: Value): void {
  if (key !== "__proto__") map[key] = value;
  else Object.defineProperty(map, key, { value, writable: true, enumerable: true, configurable: true });
}
