/** Decoding of UTF-8 text in received messages. */
import { SHORT_UTF8 } from "./limits.ts";

type Decoder = InstanceType<typeof TextDecoder>;

/** Inserts U+FFFD for invalid UTF-8. */
export const lenient: Decoder = /*@__PURE__*/ new TextDecoder("utf-8", { ignoreBOM: true });
/** Throws for invalid UTF-8. */
export const strict: Decoder = /*@__PURE__*/ new TextDecoder("utf-8", { ignoreBOM: true, fatal: true });

/** Methods of Node's `Buffer` that work on any array of bytes, at an offset. */
interface TextMethods {
  utf8Slice(start: number, end: number): string;
  utf8Write(value: string, offset: number, length: number): number;
}

/** The methods of `Buffer`, if any: faster than `TextDecoder`, which reports invalid UTF-8, and `TextEncoder`. */
export const nodeText: TextMethods | undefined =
  typeof Buffer === "function" ? (Buffer.prototype as unknown as TextMethods) : undefined;

/** For each short length an array of as many character codes, because one call with all of them makes one flat string. */
const codesOf: readonly number[][] = Array.from({ length: SHORT_UTF8 + 1 }, (_, length) => [...Array(length).keys()]);

/** Decodes UTF-8. `decoder` handles text that may be invalid. */
export function readUtf8(bytes: Uint8Array, start: number, end: number, decoder: Decoder): string {
  const short = readShort(bytes, start, end - start);
  if (short !== undefined) return short;
  const text = nodeText?.utf8Slice.call(bytes, start, end) ?? "\ufffd";
  return text.includes("\ufffd") ? decoder.decode(bytes.subarray(start, end)) : text;
}

/** Decodes short text. Returns `undefined` for other text, and for characters of more than two bytes. */
function readShort(bytes: Uint8Array, start: number, length: number): string | undefined {
  const codes = codesOf[length];
  if (codes === undefined) return undefined;
  let index = 0;
  // Four ASCII characters at a time take four fifths of the time.
  for (; index < length - 3; index += 4) {
    const at = start + index;
    const a = bytes[at] as number;
    const b = bytes[at + 1] as number;
    const c = bytes[at + 2] as number;
    const d = bytes[at + 3] as number;
    if ((a | b | c | d) > 0x7f) break;
    codes[index] = a;
    codes[index + 1] = b;
    codes[index + 2] = c;
    codes[index + 3] = d;
  }
  let count = index;
  while (index < length) {
    let code = bytes[start + index++] as number;
    if (code > 0x7f) {
      // The first byte of two has five bits of the character, and the second, which begins with 10, has six.
      const next = (bytes[start + index] as number) ^ 0x80;
      if (code < 0xc2 || code > 0xdf || next > 0x3f || index++ === length) return undefined;
      code = ((code & 0x1f) << 6) | next;
    }
    codes[count++] = code;
  }
  return String.fromCharCode(...(count < length ? codes.slice(0, count) : codes));
}
