/**
 * Header fields on the wire, in both versions of HTTP.
 */

/** Fields to send. */
export interface FieldList {
  /** Names and values, in turn. */
  readonly raw: readonly string[];
  /** True if the list does not change any more, so that its encoding can be kept. */
  readonly frozen: boolean;
}

/** The head of a request to send. */
export interface SentHead {
  readonly method: string;
  readonly path: string;
  readonly headers: FieldList;
}

/** The fast conversion of Node and of platforms like it. Those of polyfills take a `Buffer` only. */
const { latin1Slice } = (globalThis.Buffer?.prototype ?? {}) as {
  latin1Slice?: (this: Uint8Array, start: number, end: number) => string;
};
const isFast = latin1Slice?.call(Uint8Array.of(0x41, 0xff), 0, 2) === "A\xff";

/** Decodes Latin-1: each byte becomes one character. */
export const decodeLatin1: (bytes: Uint8Array, start: number, end: number) => string =
  latin1Slice && isFast ? (bytes, start, end) => latin1Slice.call(bytes, start, end) : portableLatin1;

/** Decodes Latin-1 on any platform, slowly for long strings. It works in chunks, because arguments are on the stack. */
export function portableLatin1(bytes: Uint8Array, start: number, end: number): string {
  let text = "";
  for (let at = start; at < end; at += 4_096) {
    text += String.fromCharCode.apply(null, bytes.subarray(at, Math.min(at + 4_096, end)) as unknown as number[]);
  }
  return text;
}
