/**
 * The encoder of header blocks (RFC 7541, section 6). Its dynamic table is filled once and never evicts an entry: each
 * insertion changes every dynamic index, which invalidates all encoded lists that are kept for copying.
 */
import type { FieldList } from "../../wire/fields.ts";
import { DEFAULT_HEADER_TABLE_SIZE } from "../codes.ts";
import { ENTRY_OVERHEAD_BYTES } from "./dynamic-table.ts";
import { huffmanLength, writeHuffman } from "./huffman.ts";
import { writeInteger } from "./integer.ts";
import { FIRST_DYNAMIC_INDEX, STATIC_TABLE } from "./static-table.ts";

/** The names in the static table: the index of the first entry with a name, and the indices of all, by value. */
const STATIC_NAMES = new Map<string, { staticIndex: number; staticValues: Map<string, number> }>();
STATIC_TABLE.forEach(([name, value], i) => {
  const known = STATIC_NAMES.get(name) ?? { staticIndex: i + 1, staticValues: new Map() };
  if (value !== "") known.staticValues.set(value, i + 1);
  STATIC_NAMES.set(name, known);
});
const UNKNOWN_NAME = { staticIndex: 0, staticValues: undefined };

/** The entries of one name in the dynamic table: their positions in the order of insertion, by value. */
interface Inserted {
  readonly positions: Map<string, number>;
  readonly first: number;
}

/** A frozen list that was sent, and its encoded form, which is copied when the list is sent again. */
interface Memo {
  readonly list: FieldList | undefined;
  readonly generation: number;
  /** `undefined` until the list has been encoded with all its indexable fields already in the table. */
  readonly bytes: Uint8Array | undefined;
}

const MEMOS = 8;
const NO_MEMO: Memo = { list: undefined, generation: -1, bytes: undefined };
/** Upper bounds, in bytes, of the integers of a field and of the size updates of a block. */
const FIELD_OVERHEAD_BYTES = 12;
const BLOCK_OVERHEAD_BYTES = 16;
/** Names whose values are likely to be secret. Such fields are never indexed, not even by proxies (RFC 7541, 7.1.3). */
const SECRET = /^(?:authorization|proxy-authorization|cookie|set-cookie)$|-(?:bin|token|key)$/;
/** The maximum number of remembered paths that were sent once. A path is indexed when it is sent again. */
const MAX_PATHS_SEEN = 256;

export class Encoder {
  /** A counter that increases with each change of the table, because a change gives indices another meaning. */
  generation = 0;
  #maxBytes = DEFAULT_HEADER_TABLE_SIZE;
  #bytes = 0;
  #pathBytes = 0;
  #count = 0;
  /** Created by the first insertion, which is in the second call of most connections. */
  #inserted: Map<string, Inserted> | undefined;
  readonly #memos: Memo[] = new Array<Memo>(MEMOS).fill(NO_MEMO);
  #nextMemo = 0;
  /** Clients only. */
  #pathsSeen: Set<string> | undefined;
  #mustResize = false;
  readonly #check: (fields: readonly string[]) => void;

  /** Creates an encoder. `check` must throw for fields that are not allowed to be sent. */
  constructor(check: (fields: readonly string[]) => void = () => {}) {
    this.#check = check;
  }

  /** Applies SETTINGS_HEADER_TABLE_SIZE: empties the table; the next block announces its size (RFC 7541, section 4.2). */
  resize(peerBytes: number): void {
    const maxBytes = Math.min(peerBytes, DEFAULT_HEADER_TABLE_SIZE);
    if (maxBytes === this.#maxBytes && !this.#mustResize) return;
    this.#maxBytes = maxBytes;
    this.#mustResize = true;
    this.generation++;
    this.#count = 0;
    this.#bytes = 0;
    this.#pathBytes = 0;
    this.#inserted = undefined;
  }

  /**
   * Returns an upper bound, in bytes, of a block with this list and {@link writeRequestLine} or {@link writeStatus}. Throws
   * if the list has invalid fields. This check comes before writing, because a partly written block changes the table.
   */
  prepare(list: FieldList, path = "", authority = ""): number {
    const memo = this.#memoOf(list);
    if (memo === undefined) this.#check(list.raw);
    let bytes = BLOCK_OVERHEAD_BYTES + path.length + authority.length + 4 * FIELD_OVERHEAD_BYTES;
    if (memo?.bytes !== undefined && memo.generation === this.generation) return bytes + memo.bytes.length;
    const { raw } = list;
    for (let i = 0; i < raw.length; i += 2) {
      bytes += (raw[i] as string).length + (raw[i + 1] as string).length + FIELD_OVERHEAD_BYTES;
    }
    return bytes;
  }

  /** Begins a block with any pending size updates. Returns the position after them. */
  begin(out: Uint8Array, at: number): number {
    if (!this.#mustResize) return at;
    this.#mustResize = false;
    // The first update is to 0, because a peer whose table only shrinks keeps the entries that still fit.
    const next = writeInteger(out, at, 0x20, 0x1f, 0);
    return this.#maxBytes === 0 ? next : writeInteger(out, next, 0x20, 0x1f, this.#maxBytes);
  }

  writeStatus(out: Uint8Array, at: number, status: number): number {
    if (status === 200) {
      out[at] = 0x88;
      return at + 1;
    }
    return this.#writeField(out, at, ":status", String(status), false);
  }

  writeRequestLine(
    out: Uint8Array,
    start: number,
    method: string,
    scheme: string,
    authority: string,
    path: string,
  ): number {
    let at = start;
    if (method === "POST") out[at++] = 0x83;
    else at = this.#writeField(out, at, ":method", method, false);
    out[at++] = scheme === "https" ? 0x87 : 0x86;
    at = this.#writeField(out, at, ":authority", authority, true);
    return this.#writeField(out, at, ":path", path, this.#isWorthIndexing(path));
  }

  /** Writes regular fields. Returns the position after them. */
  write(out: Uint8Array, at: number, list: FieldList): number {
    const memo = this.#memoOf(list);
    if (memo?.bytes !== undefined && memo.generation === this.generation) {
      const { bytes } = memo;
      if (bytes.length > 16) out.set(bytes, at);
      else for (let i = 0; i < bytes.length; i++) out[at + i] = bytes[i] as number;
      return at + bytes.length;
    }
    const before = this.generation;
    const { raw } = list;
    let next = at;
    // Fields are indexed when a list is sent the second time, because it is then likely to be sent often.
    const isIndexing = memo !== undefined;
    for (let i = 0; i < raw.length; i += 2) {
      next = this.#writeField(out, next, raw[i] as string, raw[i + 1] as string, isIndexing);
    }
    if (list.frozen) this.#remember(list, isIndexing && before === this.generation ? out.slice(at, next) : undefined);
    return next;
  }

  #memoOf(list: FieldList): Memo | undefined {
    if (!list.frozen) return undefined;
    const memos = this.#memos;
    for (let i = 0; i < MEMOS; i++) if ((memos[i] as Memo).list === list) return memos[i];
    return undefined;
  }

  #remember(list: FieldList, bytes: Uint8Array | undefined): void {
    const memo: Memo = { list, generation: this.generation, bytes };
    const index = this.#memos.findIndex((one) => one.list === list);
    if (index >= 0) this.#memos[index] = memo;
    else {
      this.#memos[this.#nextMemo] = memo;
      this.#nextMemo = (this.#nextMemo + 1) % MEMOS;
    }
  }

  /** Returns true for a path that was sent before. Paths take at most half of the table, as those with queries vary. */
  #isWorthIndexing(path: string): boolean {
    if (this.#inserted?.get(":path")?.positions.has(path)) return true;
    if (this.#pathBytes + path.length + 37 > this.#maxBytes / 2) return false;
    this.#pathsSeen ??= new Set();
    if (this.#pathsSeen.has(path)) return true;
    if (this.#pathsSeen.size >= MAX_PATHS_SEEN) this.#pathsSeen.clear();
    this.#pathsSeen.add(path);
    return false;
  }

  #writeField(out: Uint8Array, at: number, name: string, value: string, isConstant: boolean): number {
    const { staticIndex, staticValues } = STATIC_NAMES.get(name) ?? UNKNOWN_NAME;
    const exact = staticValues?.get(value);
    if (exact !== undefined) return writeInteger(out, at, 0x80, 0x7f, exact);
    const inserted = this.#inserted?.get(name);
    const position = inserted?.positions.get(value);
    if (position !== undefined) return writeInteger(out, at, 0x80, 0x7f, this.#indexOf(position));
    const nameIndex = staticIndex > 0 || inserted === undefined ? staticIndex : this.#indexOf(inserted.first);
    if (SECRET.test(name)) return this.#writeLiteral(out, at, 0x10, 0x0f, nameIndex, name, value, isConstant);
    const size = name.length + value.length + ENTRY_OVERHEAD_BYTES;
    if (!isConstant || this.#bytes + size > this.#maxBytes) {
      return this.#writeLiteral(out, at, 0, 0x0f, nameIndex, name, value, isConstant);
    }
    const next = this.#writeLiteral(out, at, 0x40, 0x3f, nameIndex, name, value, true);
    this.#insert(name, value, size);
    return next;
  }

  #insert(name: string, value: string, size: number): void {
    const position = this.#count++;
    this.generation++;
    this.#bytes += size;
    if (name === ":path") this.#pathBytes += size;
    this.#inserted ??= new Map();
    const inserted = this.#inserted.get(name);
    if (inserted === undefined) this.#inserted.set(name, { positions: new Map([[value, position]]), first: position });
    else inserted.positions.set(value, position);
  }

  #indexOf(position: number): number {
    return FIRST_DYNAMIC_INDEX + this.#count - 1 - position;
  }

  #writeLiteral(
    out: Uint8Array,
    start: number,
    pattern: number,
    mask: number,
    nameIndex: number,
    name: string,
    value: string,
    isConstant: boolean,
  ): number {
    let at = writeInteger(out, start, pattern, mask, nameIndex);
    if (nameIndex === 0) at = writeString(out, at, name, isConstant);
    return writeString(out, at, value, isConstant);
  }
}

/** Writes a string (RFC 7541, section 5.2). Only constant strings use the Huffman code, because it costs both peers time. */
function writeString(out: Uint8Array, start: number, text: string, isConstant: boolean): number {
  if (isConstant) {
    const length = huffmanLength(text);
    if (length < text.length) return writeHuffman(out, writeInteger(out, start, 0x80, 0x7f, length), text);
  }
  let at = writeInteger(out, start, 0, 0x7f, text.length);
  for (let i = 0; i < text.length; i++) out[at++] = text.charCodeAt(i);
  return at;
}
