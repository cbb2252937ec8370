/**
 * Integers of HPACK (RFC 7541, section 5.1): a prefix of up to eight bits, and continuation bytes with seven bits each.
 */
import { ConnectionError, ErrorCode } from "../codes.ts";

/** The maximum number of continuation bytes, which bounds an integer to 2^28 + 126: all valid lengths and indices are below. */
const MAX_CONTINUATION_BYTES = 4;

/** Creates the connection error for a header block that cannot be decoded (RFC 9113, section 4.3). */
export function compressionError(text: string): ConnectionError {
  return new ConnectionError(ErrorCode.CompressionError, text);
}

/** A reader of integers. `at` is the position after the last integer. */
export class IntegerReader {
  at = 0;

  /** Reads the integer at `at`, whose prefix is the bits of `mask`. Throws a `ConnectionError` if the integer is invalid. */
  read(bytes: Uint8Array, at: number, end: number, mask: number): number {
    let value = (bytes[at] as number) & mask;
    let next = at + 1;
    if (value === mask) {
      let factor = 1;
      for (;;) {
        if (next >= end) throw compressionError("an integer is cut off by the end of the header block");
        if (next - at > MAX_CONTINUATION_BYTES) throw compressionError("an integer has too many bytes");
        const byte = bytes[next] as number;
        next++;
        value += (byte & 0x7f) * factor;
        if (byte < 0x80) break;
        factor *= 128;
      }
    }
    this.at = next;
    return value;
  }
}

/** Writes an integer after the bits of `pattern`, with the bits of `mask` as its prefix. Returns the position after it. */
export function writeInteger(out: Uint8Array, at: number, pattern: number, mask: number, value: number): number {
  let next = at;
  if (value < mask) {
    out[next++] = pattern | value;
    return next;
  }
  out[next++] = pattern | mask;
  let rest = value - mask;
  while (rest >= 0x80) {
    out[next++] = (rest & 0x7f) | 0x80;
    rest >>>= 7;
  }
  out[next++] = rest;
  return next;
}
