/**
 * Heads: the first line of a message and its fields (RFC 9112, section 2.1). A head that equals the one before it is not parsed
 * again.
 */
import { decodeLatin1 } from "../wire/fields.ts";
import { BlockReader, type LineParser, parseFields } from "./block.ts";
import { headTooLarge, malformed } from "./error.ts";
import { MAX_EMPTY_LINES, MAX_MEMO_BYTES } from "./limits.ts";
import { Character } from "./syntax.ts";

/** The syntax of the heads of requests, or of responses. */
export interface HeadSyntax<Line, Head> {
  /** Checks the first bytes: other protocols, such as TLS, may send no line end. `held` bytes precede this position. */
  checkStart(chunk: Uint8Array, at: number, held: number): void;
  parseLine(line: string): Line;
  createHead(line: Line, fields: string[]): Head;
}

export class HeadReader<Line, Head> implements LineParser {
  /** The head, after its end. */
  head: Head | undefined;
  readonly #block: BlockReader;
  readonly #syntax: HeadSyntax<Line, Head>;
  /** The last head and its text. */
  #memo: Head | undefined;
  #memoText = "";
  // The parts of the head that is being parsed.
  #emptyLines = 0;
  #line: Line | undefined;
  #fields: string[] = [];

  constructor(maxBytes: number, syntax: HeadSyntax<Line, Head>) {
    this.#block = new BlockReader(maxBytes, this, headTooLarge);
    this.#syntax = syntax;
  }

  /** True if a head has begun, after empty lines, and is not whole. */
  get isMidway(): boolean {
    return this.#block.held > 2 * this.#emptyLines;
  }

  /** Reads a head from a position of a chunk. Returns the position after it. Throws a `MessageError`. */
  read(chunk: Uint8Array, at: number): number {
    const { held } = this.#block;
    this.#syntax.checkStart(chunk, at, held);
    const { length } = this.#memoText;
    const end = at + length;
    if (length > 0 && chunk[end - 1] === Character.Lf && chunk[end - 3] === Character.Lf && held === 0) {
      if (decodeLatin1(chunk, at, end) === this.#memoText) {
        this.head = this.#memo;
        return end;
      }
    }
    this.head = undefined;
    return this.#block.read(chunk, at);
  }

  parse(text: string): number {
    let at = 0;
    if (this.#line === undefined) {
      while (text.charCodeAt(at) === Character.Cr && text.charCodeAt(at + 1) === Character.Lf) {
        if (++this.#emptyLines > MAX_EMPTY_LINES) throw malformed();
        at += 2;
      }
      if (at === text.length) return -1;
      const start = at;
      at = text.indexOf("\n", at) + 1;
      this.#line = this.#syntax.parseLine(text.slice(start, at));
    }
    const end = parseFields(text, at, this.#fields);
    if (end < 0) return -1;
    this.head = this.#syntax.createHead(this.#line, this.#fields);
    this.#line = undefined;
    this.#fields = [];
    this.#emptyLines = 0;
    if (at > 0 && end === text.length && end <= MAX_MEMO_BYTES) {
      this.#memo = this.head;
      this.#memoText = text;
    }
    return end;
  }
}
