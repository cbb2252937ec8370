/** Decoding of UTF-8 text in received messages. */

/** ASCII text up to this length is decoded here, which is faster than a call of the platform. */
const SHORT = 24;

const lenient = new TextDecoder("utf-8", { ignoreBOM: true });
const strict = new TextDecoder("utf-8", { ignoreBOM: true, fatal: true });
/** The method of `Buffer`, if there is one: it is faster than `TextDecoder`, but does not report invalid UTF-8. */
const utf8Slice: ((this: Uint8Array, start: number, end: number) => string) | undefined =
  typeof Buffer === "function" ? Reflect.get(Buffer.prototype, "utf8Slice") : undefined;

/** Decodes UTF-8. For invalid UTF-8 it throws if `isStrict`, and otherwise inserts U+FFFD. */
export function readUtf8(bytes: Uint8Array, start: number, end: number, isStrict: boolean): string {
  if (end - start <= SHORT) {
    const text = shortAscii(bytes, start, end);
    if (text !== undefined) return text;
  }
  if (utf8Slice !== undefined) {
    const text = utf8Slice.call(bytes, start, end);
    if (!text.includes("\ufffd")) return text;
  }
  return (isStrict ? strict : lenient).decode(bytes.subarray(start, end));
}

/**
 * Decodes ASCII text of up to {@link SHORT} characters. Returns `undefined` for other bytes. All characters are passed to one
 * call, which makes one flat string; concatenation would make a tree of strings.
 */
function shortAscii(bytes: Uint8Array, start: number, end: number): string | undefined {
  const { fromCharCode } = String;
  let text = "";
  let at = start;
  if (at + 16 <= end) {
    const a = bytes[at] as number;
    const b = bytes[at + 1] as number;
    const c = bytes[at + 2] as number;
    const d = bytes[at + 3] as number;
    const e = bytes[at + 4] as number;
    const f = bytes[at + 5] as number;
    const g = bytes[at + 6] as number;
    const h = bytes[at + 7] as number;
    const i = bytes[at + 8] as number;
    const j = bytes[at + 9] as number;
    const k = bytes[at + 10] as number;
    const l = bytes[at + 11] as number;
    const m = bytes[at + 12] as number;
    const n = bytes[at + 13] as number;
    const o = bytes[at + 14] as number;
    const p = bytes[at + 15] as number;
    if ((a | b | c | d | e | f | g | h | i | j | k | l | m | n | o | p) > 0x7f) return undefined;
    text = fromCharCode(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p);
    at += 16;
  }
  if (at + 8 <= end) {
    const a = bytes[at] as number;
    const b = bytes[at + 1] as number;
    const c = bytes[at + 2] as number;
    const d = bytes[at + 3] as number;
    const e = bytes[at + 4] as number;
    const f = bytes[at + 5] as number;
    const g = bytes[at + 6] as number;
    const h = bytes[at + 7] as number;
    if ((a | b | c | d | e | f | g | h) > 0x7f) return undefined;
    text += fromCharCode(a, b, c, d, e, f, g, h);
    at += 8;
  }
  if (at + 4 <= end) {
    const a = bytes[at] as number;
    const b = bytes[at + 1] as number;
    const c = bytes[at + 2] as number;
    const d = bytes[at + 3] as number;
    if ((a | b | c | d) > 0x7f) return undefined;
    text += fromCharCode(a, b, c, d);
    at += 4;
  }
  for (; at < end; at++) {
    const byte = bytes[at] as number;
    if (byte > 0x7f) return undefined;
    text += fromCharCode(byte);
  }
  return text;
}
