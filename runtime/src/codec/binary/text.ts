/** Decoding of UTF-8 text in received messages. */

type Decoder = InstanceType<typeof TextDecoder>;

/** ASCII text up to this length is decoded here, because a call of the platform costs more. */
const SHORT = 36;

/** Inserts U+FFFD for invalid UTF-8. */
export const lenient: Decoder = /*@__PURE__*/ new TextDecoder("utf-8", { ignoreBOM: true });
/** Throws for invalid UTF-8. */
export const strict: Decoder = /*@__PURE__*/ new TextDecoder("utf-8", { ignoreBOM: true, fatal: true });

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
const codesOf: readonly number[][] = Array.from({ length: SHORT + 1 }, (_, length) => [...Array(length).keys()]);

/** Decodes UTF-8. `decoder` handles text that may be invalid. */
export function readUtf8(bytes: Uint8Array, start: number, end: number, decoder: Decoder): string {
  const length = end - start;
  if (length > SHORT) return decodeText(bytes, start, end, decoder);
  const codes = codesOf[length] as number[];
  let bits = 0;
  let index = 0;
  // Four bytes at a time take four fifths of the time.
  for (; index < length - 3; index += 4) {
    const at = start + index;
    const a = bytes[at] as number;
    const b = bytes[at + 1] as number;
    const c = bytes[at + 2] as number;
    const d = bytes[at + 3] as number;
    bits |= a | b | c | d;
    codes[index] = a;
    codes[index + 1] = b;
    codes[index + 2] = c;
    codes[index + 3] = d;
  }
  for (; index < length; index++) {
    const code = bytes[start + index] as number;
    bits |= code;
    codes[index] = code;
  }
  return bits < 0x80 ? String.fromCharCode(...codes) : decodeText(bytes, start, end, decoder);
}

function decodeText(bytes: Uint8Array, start: number, end: number, decoder: Decoder): string {
  const text = nodeText?.utf8Slice.call(bytes, start, end) ?? "\ufffd";
  return text.includes("\ufffd") ? decoder.decode(bytes.subarray(start, end)) : text;
}
