/** Ends of header blocks that cannot be decoded (RFC 7541): each is a connection error of type COMPRESSION_ERROR. */

/** A literal field without indexing, whose value is the given bytes with Huffman coding. */
const huffman = (...bytes: number[]): Buffer => Buffer.of(0, 1, 0x61, 0x80 | bytes.length, ...bytes);

export const INVALID_BLOCKS: readonly (readonly [name: string, bytes: Buffer])[] = [
  ["the symbol EOS in a string (section 5.2)", huffman(0xff, 0xff, 0xff, 0xff)],
  ["Huffman padding of 11 bits (section 5.2)", huffman(0x1f, 0xff)],
  ["Huffman padding with zeros (section 5.2)", huffman(0x18)],
  ["an integer of seven bytes (section 5.1)", Buffer.of(0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x0f)],
  ["an integer of many zeros (section 5.1)", Buffer.of(0xff, ...Array<number>(40).fill(0x80), 0)],
  ["an integer that does not end (section 5.1)", Buffer.of(0xff, 0x80)],
  ["the index 0 (section 6.1)", Buffer.of(0x80)],
  ["an index beyond the table (section 2.3.3)", Buffer.of(0xff, 0)],
  ["a name of an index beyond the table (section 2.3.3)", Buffer.of(0x7f, 0, 1, 0x61)],
  ["a string that is longer than the block (section 5.2)", Buffer.of(0, 0x7f, 0x80, 0x80, 1, 0x61)],
  ["a string of 256 MiB (section 5.2)", Buffer.of(0, 0x7f, 0x80, 0xff, 0xff, 0x7f)],
  ["a field without its value (section 6.2.2)", Buffer.of(0, 1, 0x61)],
  ["an update of the table's size behind a field (section 4.2)", Buffer.of(0x20)],
];
