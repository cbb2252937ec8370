/**
 * The body of a message (RFC 9112, sections 6 and 7): by its length, in chunks, or until the end of the connection. Its bytes
 * are views of the received chunks.
 *
 *     size ── ";" ──> extension ─┐        ┌── size 0 ──> last ──> trailers ──> ended
 *       └──────── CR ───────> sizeLf ─────┴──> data ──> dataCr ──> dataLf ──> size
 */
import { viewOf } from "../wire/output.ts";
import { BlockReader, type LineParser, parseFields } from "./block.ts";
import { malformed, trailersTooLarge } from "./error.ts";
import { CHUNKED, UNTIL_CLOSE } from "./framing.ts";
import {
  MAX_CHUNK_EXTENSION_BYTES,
  MAX_DIGITS,
  MAX_EXTENSION_BYTES,
  MAX_TRAILER_FIELDS,
  MAX_TRAILER_SECTION_BYTES,
} from "./limits.ts";
import { BITS, Bit, Character } from "./syntax.ts";

const State = {
  Ended: 0,
  /** A body with a length, or without an end: `#left` bytes follow. */
  Plain: 1,
  Size: 2,
  /** In the name or value of an extension. */
  Extension: 3,
  /** In a value in quotes, after a backslash in it, and after its end. */
  Quoted: 4,
  Escaped: 5,
  AfterQuoted: 6,
  SizeLf: 7,
  Data: 8,
  DataCr: 9,
  DataLf: 10,
  /** After the line of the last chunk. */
  Last: 11,
  LastLf: 12,
  Trailers: 13,
} as const;

export type BodyReceiver = (bytes: Uint8Array) => void;

export class BodyReader implements LineParser {
  #state: number = State.Ended;
  /** Bytes that follow, of the body or of a chunk. */
  #left = 0;
  /** Digits of the size of the chunk. */
  #digits = 0;
  /** True if the name or value of the extension has begun, and if it is a value. */
  #hasToken = false;
  #isValue = false;
  /** Bytes of the extensions of the chunk, and of the body. */
  #extension = 0;
  #extensions = 0;
  #trailers: BlockReader | undefined;
  #fields: string[] = [];

  /** True if the end of the body has been read, or if none has begun. */
  get isEnded(): boolean {
    return this.#state === State.Ended;
  }

  /** Begins a body of a length, in chunks, or until the end of the connection. */
  start(length: number): void {
    this.#extensions = 0;
    if (length === CHUNKED) this.#nextChunk();
    else {
      this.#left = length === UNTIL_CLOSE ? Number.POSITIVE_INFINITY : length;
      this.#state = length === 0 ? State.Ended : State.Plain;
    }
  }

  /** Reads a body from a position of a chunk of input. Returns the position after it. Throws a `MessageError`. */
  read(input: Uint8Array, start: number, receive: BodyReceiver): number {
    let at = start;
    while (at < input.length && this.#state !== State.Ended) {
      if (this.#state === State.Data || this.#state === State.Plain) at = this.#readData(input, at, receive);
      else if (this.#state === State.Trailers) at = this.#readTrailers(input, at);
      else if (this.#state === State.Last && input[at] !== Character.Cr) this.#state = State.Trailers;
      else this.#step(input[at++] as number);
    }
    return at;
  }

  #readData(input: Uint8Array, at: number, receive: BodyReceiver): number {
    const end = Math.min(at + this.#left, input.length);
    this.#left -= end - at;
    if (this.#left === 0) this.#state = this.#state === State.Plain ? State.Ended : State.DataCr;
    receive(at === 0 && end === input.length ? input : viewOf(input, at, end));
    return end;
  }

  #nextChunk(): void {
    this.#state = State.Size;
    this.#left = 0;
    this.#digits = 0;
    this.#extension = 0;
  }

  // chunk      = chunk-size [ chunk-ext ] CRLF chunk-data CRLF    (RFC 9112, section 7.1)
  // chunk-size = 1*HEXDIG
  #step(byte: number): void {
    switch (this.#state) {
      case State.Size:
        if (this.#digits > 0 && byte === Character.Cr) this.#state = State.SizeLf;
        else if (this.#digits > 0 && byte === Character.Semicolon) this.#beginToken(false);
        else this.#addDigit(valueOfDigit(byte));
        break;
      case State.SizeLf:
        expect(byte, Character.Lf);
        this.#state = this.#left === 0 ? State.Last : State.Data;
        break;
      case State.DataCr:
        expect(byte, Character.Cr);
        this.#state = State.DataLf;
        break;
      case State.DataLf:
        expect(byte, Character.Lf);
        this.#nextChunk();
        break;
      case State.Last:
        this.#state = State.LastLf;
        break;
      case State.LastLf:
        expect(byte, Character.Lf);
        this.#state = State.Ended;
        break;
      default:
        this.#stepExtension(byte);
    }
  }

  #addDigit(digit: number): void {
    this.#digits++;
    this.#left = this.#left * 16 + digit;
    if (digit < 0 || this.#digits > MAX_DIGITS || this.#left > Number.MAX_SAFE_INTEGER) throw malformed(INVALID_CHUNK);
  }

  #beginToken(isValue: boolean): void {
    this.#state = State.Extension;
    this.#isValue = isValue;
    this.#hasToken = false;
  }

  // chunk-ext = *( ";" chunk-ext-name [ "=" chunk-ext-val ] )    (RFC 9112, section 7.1.1)
  // Whitespace beside ";" and "=" is "bad", and refused.
  #stepExtension(byte: number): void {
    if (++this.#extension > MAX_CHUNK_EXTENSION_BYTES || ++this.#extensions > MAX_EXTENSION_BYTES)
      throw malformed(INVALID_CHUNK);
    const bits = BITS[byte] as number;
    if (this.#state === State.Quoted) {
      if (byte === Character.Quote) this.#state = State.AfterQuoted;
      else if (byte === Character.Backslash) this.#state = State.Escaped;
      else if ((bits & Bit.Value) === 0) throw malformed(INVALID_CHUNK);
    } else if (this.#state === State.Escaped) {
      if ((bits & Bit.Value) === 0) throw malformed(INVALID_CHUNK);
      this.#state = State.Quoted;
    } else if (this.#state === State.Extension && (bits & Bit.Token) !== 0) this.#hasToken = true;
    else if (this.#state === State.Extension && !this.#hasToken) {
      if (!this.#isValue || byte !== Character.Quote) throw malformed(INVALID_CHUNK);
      this.#state = State.Quoted;
    } else if (byte === Character.Cr) this.#state = State.SizeLf;
    else if (byte === Character.Semicolon) this.#beginToken(false);
    else if (byte === Character.Equals && !this.#isValue) this.#beginToken(true);
    else throw malformed(INVALID_CHUNK);
  }

  #readTrailers(input: Uint8Array, at: number): number {
    this.#trailers ??= new BlockReader(MAX_TRAILER_SECTION_BYTES, this, trailersTooLarge);
    const end = this.#trailers.read(input, at);
    if (this.#trailers.isWhole) this.#state = State.Ended;
    return end;
  }

  /** Parses trailer fields, and drops them (RFC 9110, section 6.5). */
  parse(text: string): number {
    const end = parseFields(text, 0, this.#fields);
    if (this.#fields.length > 2 * MAX_TRAILER_FIELDS) throw trailersTooLarge();
    for (let i = 0; i < this.#fields.length; i += 2) {
      const name = this.#fields[i];
      if (name === "content-length" || name === "transfer-encoding") throw malformed(INVALID_CHUNK);
    }
    if (end >= 0) this.#fields = [];
    return end;
  }
}

const INVALID_CHUNK = "the coding of its chunks is invalid";

function expect(byte: number, expected: number): void {
  if (byte !== expected) throw malformed(INVALID_CHUNK);
}

/** Returns the value of a hexadecimal digit; -1 if it is none. */
function valueOfDigit(byte: number): number {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const letter = byte | 0x20;
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : -1;
}
