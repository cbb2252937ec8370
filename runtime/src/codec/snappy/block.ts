/** snappy's raw block: a length, followed by literals and back-references to earlier bytes. */

/** Matches are looked for inside parts of this many bytes, so that every distance fits into two. */
const MATCH_PART_BYTES = 65_536;
const HASH_BITS = 14;
/** The bound of the reference implementation: no back-reference takes more bytes than its text, and literals a few more. */
const maxCompressedLength = (length: number): number => 32 + length + Math.floor(length / 6);
/** The densest element: a back-reference to 64 bytes, in three bytes. */
const MAX_EXPANSION = 64 / 3;

/** Literals up to this size are copied byte by byte, because a view costs more. */
const SHORT_LITERAL_BYTES = 16;

/** Types of elements: the two low bits of the tag. */
const LITERAL = 0;
const COPY_1 = 1;
const COPY_2 = 2;
/** Size of the distance of a back-reference, in bytes, by its type. */
const DISTANCE_BYTES = [0, 1, 2, 4];

/** Writes bytes as one block. */
export function compressBlock(bytes: Uint8Array): Uint8Array {
  const writer = new BlockWriter(bytes);
  const table = new Uint16Array(1 << HASH_BITS);
  for (let start = 0; start < bytes.byteLength; start += MATCH_PART_BYTES) {
    if (start > 0) table.fill(0);
    compressPart(writer, start, Math.min(start + MATCH_PART_BYTES, bytes.byteLength), table);
  }
  return writer.written;
}

/** `table` maps the hash of four bytes to where they were seen last, counted from the start of the part. */
function compressPart(writer: BlockWriter, start: number, end: number, table: Uint16Array): void {
  const { bytes } = writer;
  let literal = start;
  let at = start + 1;
  // The longer nothing is found, the larger the steps: bytes that are compressed already cost little time.
  let patience = 32;
  while (at + 4 <= end) {
    const word = readWord(bytes, at);
    const hash = Math.imul(word, 0x1e35a7bd) >>> (32 - HASH_BITS);
    const candidate = start + (table[hash] as number);
    table[hash] = at - start;
    if (readWord(bytes, candidate) !== word) {
      at += patience++ >>> 5;
      continue;
    }
    patience = 32;
    let length = 4;
    while (at + length < end && bytes[candidate + length] === bytes[at + length]) length++;
    writer.literal(literal, at);
    writer.copy(at - candidate, length);
    at += length;
    literal = at;
  }
  writer.literal(literal, end);
}

function readWord(bytes: Uint8Array, at: number): number {
  const low = (bytes[at] as number) | ((bytes[at + 1] as number) << 8);
  return low | ((bytes[at + 2] as number) << 16) | ((bytes[at + 3] as number) << 24);
}

/** Writes the elements of the block that stands for `bytes`. */
class BlockWriter {
  readonly bytes: Uint8Array;
  readonly #out: Uint8Array;
  #length = 0;

  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
    this.#out = new Uint8Array(maxCompressedLength(bytes.byteLength));
    let rest = bytes.byteLength;
    for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) this.#put((rest & 0x7f) | 0x80);
    this.#put(rest);
  }

  get written(): Uint8Array {
    return this.#out.subarray(0, this.#length);
  }

  /** The bytes as they are. */
  literal(start: number, end: number): void {
    const last = end - start - 1;
    if (last < 0) return;
    if (last < 60) {
      this.#put((last << 2) | LITERAL);
    } else if (last < 0x100) {
      this.#put((60 << 2) | LITERAL);
      this.#put(last);
    } else {
      this.#put((61 << 2) | LITERAL);
      this.#putTwo(last);
    }
    this.#out.set(this.bytes.subarray(start, end), this.#length);
    this.#length += end - start;
  }

  /** Writes a back-reference to the bytes `distance` earlier. What references to 64 bytes leave must be at least four. */
  copy(distance: number, length: number): void {
    let rest = length;
    while (rest > 64) {
      const piece = rest >= 68 ? 64 : 60;
      this.#put(((piece - 1) << 2) | COPY_2);
      this.#putTwo(distance);
      rest -= piece;
    }
    if (rest >= 12 || distance >= 2048) {
      this.#put(((rest - 1) << 2) | COPY_2);
      this.#putTwo(distance);
    } else {
      this.#put(((distance >> 8) << 5) | ((rest - 4) << 2) | COPY_1);
      this.#put(distance & 0xff);
    }
  }

  #putTwo(integer: number): void {
    this.#put(integer & 0xff);
    this.#put(integer >> 8);
  }

  #put(byte: number): void {
    this.#out[this.#length++] = byte;
  }
}

/**
 * Decompresses the output of {@link compressBlock}. Throws a `RangeError` for more than `maxBytes`: the declared length is
 * checked against the limit, and against what the input could hold at most, before any memory is taken.
 *
 *     Block   → Length *Element                ; Length: varint, little-endian, up to 2^32 - 1
 *     Element → Literal / Copy-1 / Copy-2 / Copy-4
 */
export function decompressBlock(bytes: Uint8Array, maxBytes: number): Uint8Array {
  const { length, end: begin } = readLength(bytes);
  if (length > maxBytes) throw new RangeError(`snappy block of ${length} bytes is larger than ${maxBytes}`);
  if (length > bytes.byteLength * MAX_EXPANSION) throw malformed(`${bytes.byteLength} bytes cannot hold ${length}`);
  const out = new Uint8Array(length);
  let from = begin;
  let at = 0;
  while (from < bytes.byteLength) {
    const tag = bytes[from++] as number;
    const kind = tag & 3;
    const integerBytes = kind === LITERAL ? Math.max(0, (tag >> 2) - 59) : (DISTANCE_BYTES[kind] as number);
    if (integerBytes > bytes.byteLength - from) throw malformed("it ends too early");
    let integer = 0;
    for (let i = from + integerBytes - 1; i >= from; i--) integer = integer * 0x100 + (bytes[i] as number);
    from += integerBytes;
    if (kind === LITERAL) {
      const size = (integerBytes === 0 ? tag >> 2 : integer) + 1;
      if (size > bytes.byteLength - from) throw malformed("it ends too early");
      if (size > length - at) throw malformed("it holds more than its length says");
      if (size > SHORT_LITERAL_BYTES) out.set(bytes.subarray(from, from + size), at);
      else for (let i = 0; i < size; i++) out[at + i] = bytes[from + i] as number;
      from += size;
      at += size;
      continue;
    }
    const size = kind === COPY_1 ? ((tag >> 2) & 7) + 4 : (tag >> 2) + 1;
    const distance = kind === COPY_1 ? ((tag >> 5) << 8) | integer : integer;
    if (distance === 0 || distance > at) throw malformed("a copy points before its beginning");
    if (size > length - at) throw malformed("it holds more than its length says");
    // Byte by byte: a copy may reach into what it writes itself.
    for (const end = at + size; at < end; at++) out[at] = out[at - distance] as number;
  }
  if (at !== length) throw malformed("it ends too early");
  return out;
}

/** Reads the length at the beginning of a block. Returns it with the position after it. */
function readLength(bytes: Uint8Array): { readonly length: number; readonly end: number } {
  let length = 0;
  for (let i = 0; i < 5; i++) {
    if (i === bytes.byteLength) throw malformed("it ends too early");
    const byte = bytes[i] as number;
    length += (byte & 0x7f) * 2 ** (7 * i);
    if (byte >= 0x80) continue;
    if (length < 2 ** 32) return { length, end: i + 1 };
    break;
  }
  throw malformed("its length is not a number of 32 bits");
}

function malformed(reason: string): Error {
  return new Error(`not a snappy block: ${reason}`);
}
