/** Decoding of UTF-8 text in received messages, and the memory of map keys. */

/** ASCII text up to this length is decoded here, because a call of the platform costs more. */
const SHORT = 14;
/** Bytes of text up to this length are checked here, because a search in the text costs more. */
const MEDIUM = 24;
/** Number of map keys that are remembered: a power of two. */
const KEYS = 256;
/** Longer keys are not remembered. */
const LONGEST_KEY = 32;

const lenient = new TextDecoder("utf-8", { ignoreBOM: true });
const strict = new TextDecoder("utf-8", { ignoreBOM: true, fatal: true });
/** The method of `Buffer`, if there is one: it is faster than `TextDecoder`, but does not report invalid UTF-8. */
const utf8Slice: ((this: Uint8Array, start: number, end: number) => string) | undefined =
  typeof Buffer === "function" ? Reflect.get(Buffer.prototype, "utf8Slice") : undefined;

/** For each short length an array of as many character codes, because one call with all of them makes one flat string. */
const codesOf: readonly number[][] = Array.from({ length: SHORT + 1 }, (_, length) => Array.from({ length }, () => 0));

/** Keys of the last entries of maps, by a hash of their bytes. */
const keys: string[] = Array.from({ length: KEYS }, () => "");

/** Decodes UTF-8. For invalid UTF-8 it throws if `isStrict`, and otherwise inserts U+FFFD. */
export function readUtf8(bytes: Uint8Array, start: number, end: number, isStrict: boolean): string {
  const length = end - start;
  let bits = length > MEDIUM ? 0x80 : 0;
  if (length <= SHORT) {
    const codes = codesOf[length] as number[];
    for (let index = 0; index < length; index++) bits |= codes[index] = bytes[start + index] as number;
    if (bits < 0x80) return String.fromCharCode(...codes);
  } else if (length <= MEDIUM) for (let index = start; index < end; index++) bits |= bytes[index] as number;
  const text = utf8Slice?.call(bytes, start, end) ?? "\ufffd";
  return bits > 0x7f && text.includes("\ufffd")
    ? (isStrict ? strict : lenient).decode(bytes.subarray(start, end))
    : text;
}

/**
 * Decodes the key of a map entry. Messages of a type often have the same keys, and setting a property by a string that was a
 * key before costs half as much. Only ASCII is remembered, so that invalid UTF-8 is equal to no remembered key.
 */
export function readKey(bytes: Uint8Array, start: number, end: number): string {
  const length = end - start;
  const slot =
    (length * 7 + (bytes[start] as number) * 5 + (bytes[end - 2] as number) * 10 + (bytes[end - 1] as number)) &
    (KEYS - 1);
  const known = keys[slot] as string;
  if (known.length === length) {
    let index = 0;
    while (index < length && known.charCodeAt(index) === bytes[start + index]) index++;
    if (index === length) return known;
  }
  const key = readUtf8(bytes, start, end, true);
  if (length <= LONGEST_KEY && key.length === length) keys[slot] = key;
  return key;
}
