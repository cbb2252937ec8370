/** Decodes short text, without the objects that a `TextDecoder` or a view of the bytes needs. */

/** The longest text that engines copy when they append to it, in characters. */
const MAX_SHORT = 12;

/** Returns the text in the bytes; `undefined` if it is long, incomplete or not ASCII. */
export function shortText(bytes: Uint8Array, start: number, length: number): string | undefined {
  if (length > MAX_SHORT) return undefined;
  let text = "";
  for (let i = start; i < start + length; i += 1) {
    const byte = bytes[i] ?? 0xff;
    if (byte >= 0x80) return undefined;
    text += String.fromCharCode(byte);
  }
  return text;
}
