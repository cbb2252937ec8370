/**
 * The decoder of header blocks (RFC 7541, section 3.2). Every block is decoded to its end, because it can change the dynamic
 * table. Fields beyond {@link MAX_HEADER_BYTES} are not passed on.
 */
import { decodeLatin1 } from "../../wire/fields.ts";
import { DEFAULT_HEADER_TABLE_SIZE } from "../codes.ts";
import { MAX_HEADER_BYTES } from "../limits.ts";
import { DynamicTable, ENTRY_OVERHEAD_BYTES, type Entry } from "./dynamic-table.ts";
import { decodeHuffman, maxDecodedLength } from "./huffman.ts";
import { compressionError, IntegerReader } from "./integer.ts";
import { FIRST_DYNAMIC_INDEX, STATIC_TABLE } from "./static-table.ts";

/** A classification of fields. Kinds are numbers that the implementing module defines. */
export interface FieldRules {
  nameKind(name: string): number;
  /** Returns the kind of a field from the kind of its name and its value. */
  fieldKind(nameKind: number, value: string): number;
}

/** A receiver of the fields of a block, in order. */
export interface FieldSink {
  onField(name: string, value: string, kind: number): void;
}

/** The maximum number of size updates at the start of a block (RFC 7541, section 4.2). */
const MAX_SIZE_UPDATES = 2;
/** Strings up to this length are decoded byte by byte, which is faster than calling the platform's decoder. */
const MAX_BYTEWISE_LENGTH = 12;

const staticEntries = new WeakMap<FieldRules, readonly Entry[]>();

function staticEntriesFor(rules: FieldRules): readonly Entry[] {
  let entries = staticEntries.get(rules);
  if (entries === undefined) {
    entries = STATIC_TABLE.map(([name, value]) => entryOf(rules, name, rules.nameKind(name), value));
    staticEntries.set(rules, entries);
  }
  return entries;
}

function entryOf(rules: FieldRules, name: string, nameKind: number, value: string): Entry {
  const size = name.length + value.length + ENTRY_OVERHEAD_BYTES;
  return { name, value, size, nameKind, kind: rules.fieldKind(nameKind, value) };
}

/** The buffer of all decoders for decoded Huffman strings. It grows when a longer string arrives. */
let scratch = new Uint8Array(256);
/** The reader of all decoders: a block is decoded without interruption. */
const integers = new IntegerReader();

export class Decoder {
  /** The decoded size of the last block in bytes, fields beyond the limit included: names and values, and 32 bytes for each. */
  size = 0;
  /** The number of table size updates in the last block. */
  updates = 0;
  /** True if the last block left the table unchanged and was within the limit: the same bytes give the same fields. */
  repeatable = false;
  readonly table: DynamicTable = new DynamicTable();
  readonly #static: readonly Entry[];
  readonly #rules: FieldRules;

  constructor(rules: FieldRules) {
    this.#rules = rules;
    this.#static = staticEntriesFor(rules);
  }

  /** True if the last block exceeded the limit, so that some of its fields were dropped. */
  get overLimit(): boolean {
    return this.size > MAX_HEADER_BYTES;
  }

  /** Decodes a block and passes its fields to `sink`. Throws a `ConnectionError` if the block is invalid. */
  decode(bytes: Uint8Array, start: number, end: number, sink: FieldSink): void {
    const before = this.table.generation;
    this.updates = 0;
    this.size = 0;
    let at = start;
    while (at < end) {
      const byte = bytes[at] as number;
      if (byte >= 0x80) {
        // This is an indexed field (RFC 7541, section 6.1).
        const index = byte === 0xff ? integers.read(bytes, at, end, 0x7f) : byte & 0x7f;
        at = byte === 0xff ? integers.at : at + 1;
        const { name, value, size, kind } = this.#entry(index);
        if (this.#keep(size)) sink.onField(name, value, kind);
      } else if ((byte & 0xe0) === 0x20) {
        // This is a size update (section 6.3), which is valid only at the start of a block (section 4.2).
        this.updates++;
        if (this.size > 0) throw compressionError("a table size update follows a field");
        if (this.updates > MAX_SIZE_UPDATES) throw compressionError("a header block has too many table size updates");
        const size = integers.read(bytes, at, end, 0x1f);
        at = integers.at;
        if (size > DEFAULT_HEADER_TABLE_SIZE) throw compressionError(`a table size update is for ${size} bytes`);
        this.table.resize(size);
      } else at = this.#literal(bytes, at, end, sink);
    }
    this.repeatable = this.table.generation === before && !this.overLimit;
  }

  /** Decodes a literal field, with or without indexing (RFC 7541, section 6.2). Returns the position after it. */
  #literal(bytes: Uint8Array, start: number, end: number, sink: FieldSink): number {
    const rules = this.#rules;
    const byte = bytes[start] as number;
    const isIndexing = byte >= 0x40;
    const index = integers.read(bytes, start, end, isIndexing ? 0x3f : 0x0f);
    let at = integers.at;
    let name: string;
    let nameKind: number;
    // Strings beyond the limit are not decoded, unless the field enters the table, where later blocks can refer to it.
    const isWanted = isIndexing || !this.overLimit;
    if (index > 0) ({ name, nameKind } = this.#entry(index));
    else {
      name = this.#string(bytes, at, end, isWanted);
      at = integers.at;
      nameKind = isWanted ? rules.nameKind(name) : 0;
    }
    const value = this.#string(bytes, at, end, isWanted);
    const size = name.length + value.length + ENTRY_OVERHEAD_BYTES;
    const kind = isWanted ? rules.fieldKind(nameKind, value) : 0;
    if (isIndexing) this.table.insert({ name, value, size, nameKind, kind });
    if (this.#keep(size)) sink.onField(name, value, kind);
    return integers.at;
  }

  #entry(index: number): Entry {
    const entry = index < FIRST_DYNAMIC_INDEX ? this.#static[index - 1] : this.table.at(index - FIRST_DYNAMIC_INDEX);
    if (entry === undefined) throw compressionError(`there is no entry ${index} in the tables`);
    return entry;
  }

  /** Adds a field to the size of the block. Returns true if the block is still within the limit. */
  #keep(size: number): boolean {
    this.size += size;
    return !this.overLimit;
  }

  /** Reads a string (RFC 7541, section 5.2) and sets `integers.at` to its end. Skips the string if it is not wanted. */
  #string(bytes: Uint8Array, start: number, end: number, isWanted: boolean): string {
    if (start >= end) throw compressionError("a string is cut off by the end of the header block");
    const isHuffman = (bytes[start] as number) >= 0x80;
    const length = integers.read(bytes, start, end, 0x7f);
    const at = integers.at;
    if (length > end - at) throw compressionError("a string is longer than the rest of the header block");
    integers.at = at + length;
    if (!isWanted || length === 0) return "";
    if (!isHuffman) return textOf(bytes, at, at + length);
    const needed = maxDecodedLength(length);
    if (needed > scratch.length) scratch = new Uint8Array(2 * needed);
    const decoded = decodeHuffman(bytes, at, at + length, scratch);
    return textOf(scratch, 0, decoded);
  }
}

function textOf(bytes: Uint8Array, start: number, end: number): string {
  if (end - start > MAX_BYTEWISE_LENGTH) return decodeLatin1(bytes, start, end);
  let text = "";
  for (let i = start; i < end; i++) text += String.fromCharCode(bytes[i] as number);
  return text;
}
