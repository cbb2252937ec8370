/**
 * Blocks of lines: heads and trailer sections, up to and including their empty line (RFC 9112, section 2.1). A block that is
 * in one chunk is parsed without a copy. Otherwise its lines are parsed as they arrive.
 */
import { decodeLatin1 } from "../wire/fields.ts";
import { EMPTY } from "../wire/output.ts";
import { type MessageError, malformed } from "./error.ts";
import { BITS, Bit, Character } from "./syntax.ts";

/** Parses the lines of a block. */
export interface LineParser {
  /** Parses lines that end with LF. Returns the position after the block; -1: more follow. Throws a `MessageError`. */
  parse(text: string): number;
}

export class BlockReader {
  readonly #maxBytes: number;
  readonly #parser: LineParser;
  readonly #tooLarge: () => MessageError;
  /** The bytes of an incomplete block, and their number. */
  #bytes: Uint8Array = EMPTY;
  held = 0;
  /** The start of the first line that has not been parsed. */
  #parsed = 0;
  /** True if the end of the block has been reached by the last call of {@link read}. */
  isWhole = false;

  /** `tooLarge` creates the error of a block of more than `maxBytes`. */
  constructor(maxBytes: number, parser: LineParser, tooLarge: () => MessageError) {
    this.#tooLarge = tooLarge;
    this.#maxBytes = maxBytes;
    this.#parser = parser;
  }

  /** Reads a block from a position of a chunk. Returns the position after it. */
  read(chunk: Uint8Array, at: number): number {
    const end = this.held === 0 ? endOfBlock(chunk, at) : -1;
    if (end < 0) return this.#readPart(chunk, at);
    if (end - at > this.#maxBytes) throw this.#tooLarge();
    const length = this.#parser.parse(decodeLatin1(chunk, at, end));
    this.isWhole = length >= 0;
    if (this.isWhole) return at + length;
    // These were empty lines before a request line.
    this.#bytes = new Uint8Array(end - at);
    this.held = end - at;
    this.#parsed = end - at;
    return end;
  }

  #readPart(chunk: Uint8Array, at: number): number {
    const before = this.held;
    const length = Math.min(before + chunk.length - at, this.#maxBytes + 1);
    if (length > this.#bytes.length) {
      const held = new Uint8Array(Math.min(2 * length, this.#maxBytes + 1));
      held.set(this.#bytes);
      this.#bytes = held;
    }
    this.#bytes.set(chunk.subarray(at, at + length - before), before);
    this.held = length;
    let end = length;
    while (end > before && this.#bytes[end - 1] !== Character.Lf) end--;
    this.isWhole = false;
    if (end > before) {
      const parsed = this.#parser.parse(decodeLatin1(this.#bytes, this.#parsed, end));
      if (parsed >= 0) {
        const last = this.#parsed + parsed;
        this.#bytes = EMPTY;
        this.held = 0;
        this.#parsed = 0;
        if (last > this.#maxBytes) throw this.#tooLarge();
        this.isWhole = true;
        return at + last - before;
      }
      this.#parsed = end;
    }
    if (length > this.#maxBytes) throw this.#tooLarge();
    return chunk.length;
  }
}

/** Returns the position after the first empty line that follows another line, or -1. */
function endOfBlock(bytes: Uint8Array, at: number): number {
  // The end of a block is CR LF CR LF, so a byte above CR cannot be in it, and three more bytes are passed over.
  let i = at + 3;
  while (i < bytes.length) {
    const byte = bytes[i] as number;
    if (byte > Character.Cr) i += 4;
    else if (
      byte === Character.Lf &&
      bytes[i - 1] === Character.Cr &&
      bytes[i - 2] === Character.Lf &&
      bytes[i - 3] === Character.Cr
    )
      return i + 1;
    else i++;
  }
  return -1;
}

// field-line = field-name ":" OWS field-value OWS    (RFC 9112, section 5)

/**
 * Parses field lines from a position, and adds their names in lower case and values to a flat list. Returns the position after
 * the empty line, or -1 if more lines follow. Lines must end with CRLF, and folded ones are refused (RFC 9112, sections 2.2
 * and 5.2).
 */
export function parseFields(text: string, start: number, fields: string[]): number {
  const { length } = text;
  let at = start;
  while (at < length) {
    if (text.charCodeAt(at) === Character.Cr) {
      if (text.charCodeAt(at + 1) !== Character.Lf) throw malformed(INVALID_FIELD);
      return at + 2;
    }
    const nameStart = at;
    let bits = 0;
    let all = 0;
    for (;;) {
      bits = BITS[text.charCodeAt(at)] as number;
      if ((bits & Bit.Token) === 0) break;
      all |= bits;
      at++;
    }
    if (at === nameStart || text.charCodeAt(at) !== Character.Colon) throw malformed(INVALID_FIELD);
    const name = text.slice(nameStart, at);
    at++;
    while (text.charCodeAt(at) === Character.Space || text.charCodeAt(at) === Character.Tab) at++;
    const valueStart = at;
    while (((BITS[text.charCodeAt(at)] as number) & Bit.Value) !== 0) at++;
    // Every line ends with LF, so there is a character after this one.
    if (text.charCodeAt(at) !== Character.Cr || text.charCodeAt(at + 1) !== Character.Lf)
      throw malformed(INVALID_FIELD);
    let valueEnd = at;
    while (valueEnd > valueStart && isSpace(text.charCodeAt(valueEnd - 1))) valueEnd--;
    fields.push((all & Bit.Capital) === 0 ? name : name.toLowerCase(), text.slice(valueStart, valueEnd));
    at += 2;
  }
  return -1;
}

const INVALID_FIELD = "a header field is invalid";

function isSpace(code: number): boolean {
  return code === Character.Space || code === Character.Tab;
}
