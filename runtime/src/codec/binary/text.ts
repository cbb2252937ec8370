/** Decoding of UTF-8 text in received messages. */

/** ASCII text up to this length is decoded here, because a call of the platform costs more. */
const SHORT = 14;
/** Bytes of text up to this length are checked here, because a search in the text costs more. */
const MEDIUM = 24;

const lenient = new TextDecoder("utf-8", { ignoreBOM: true });
const strict = new TextDecoder("utf-8", { ignoreBOM: true, fatal: true });

/** Methods of Node's `Buffer` that work on any array of bytes, at an offset. */
interface TextMethods {
  utf8Slice(start: number, end: number): string;
  utf8Write(value: string, offset: number): number;
}

/**
 * The methods of `Buffer`, if there is one. They are faster than `TextDecoder`, which reports invalid UTF-8, and
 * `TextEncoder`, which needs a view and returns an object.
 */
export const nodeText: TextMethods | undefined =
  typeof Buffer === "function" ? (Buffer.prototype as unknown as TextMethods) : undefined;

/** For each short length an array of as many character codes, because one call with all of them makes one flat string. */
const codesOf: readonly number[][] = Array.from({ length: SHORT + 1 }, (_, length) => Array.from({ length }, () => 0));

/** Decodes UTF-8. For invalid UTF-8 it throws if `isStrict`, and otherwise inserts U+FFFD. */
export function readUtf8(bytes: Uint8Array, start: number, end: number, isStrict: boolean): string {
  const length = end - start;
  let bits = length > MEDIUM ? 0x80 : 0;
  if (length <= SHORT) {
    const codes = codesOf[length] as number[];
    for (let index = 0; index < length; index++) bits |= codes[index] = bytes[start + index] as number;
    if (bits < 0x80) return String.fromCharCode(...codes);
  } else if (length <= MEDIUM) for (let index = start; index < end; index++) bits |= bytes[index] as number;
  const text = nodeText?.utf8Slice.call(bytes, start, end) ?? "\ufffd";
  return bits > 0x7f && text.includes("\ufffd")
    ? (isStrict ? strict : lenient).decode(bytes.subarray(start, end))
    : text;
}
