/**
 * Integers of HPACK (RFC 7541, section 5.1): a prefix of some bits, and bytes of seven bits each after it.
 */
import { ConnectionError, ErrorCode } from "../codes.ts";

/** Larger ones are refused: no length or index that is legal here comes near. */
const MAX_INTEGER: number = 2 ** 28;
/** Continuation bytes that are read; also of leading zeros, which could go on without end. */
const MAX_CONTINUATION_BYTES = 4;

/** The connection error of a header block that cannot be decoded (RFC 9113, section 4.3). */
export function compressionError(text: string): ConnectionError {
  return new ConnectionError(ErrorCode.CompressionError, text);
}

/** Reads integers one after another: `at` is the position after the last one. */
export class IntegerReader {
  at = 0;

  /** The integer whose prefix has as many bits as the mask, in the byte at `at`. */
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
      if (value > MAX_INTEGER) throw compressionError("an integer is too large");
    }
    this.at = next;
    return value;
  }
}

/** Writes an integer behind the bits of `pattern`. Returns the position after it. */
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
