/**
 * The Huffman code of HPACK (RFC 7541, section 5.2 and appendix B). It is canonical: the lengths of the codes determine the
 * codes, and the tables are computed from them at first use.
 */
import { compressionError } from "./integer.ts";

/** The code length in bits of each symbol from 0 to 255 and of EOS, as one base-36 digit per symbol. */
const LENGTHS =
  "dnsssssssoussussssssssusssssssss6aacd68baa8b8666555666666678f6cad67777777777777777777777878djde6f5656566657766" +
  "6567655677777fbedskmkkmmmnmnnnnnonoomnonnnnlmnmnnomlkmmnnlnmmolmnnllmlnmnnkmmmnmmnqqkjmnmpqqqrrqopjlqrrqrollqq" +
  "srrrkoklmllnmmppooqnqrqqrrrrrsrrrrrqu";
const SYMBOLS = 257;
const EOS = 256;

interface Code {
  readonly bits: number;
  readonly length: number;
}

function makeCodes(): Code[] {
  const lengths = Array.from(LENGTHS, (digit) => Number.parseInt(digit, 36));
  const order = Array.from({ length: SYMBOLS }, (_, symbol) => symbol);
  order.sort((a, b) => (lengths[a] as number) - (lengths[b] as number) || a - b);
  const codes = new Array<Code>(SYMBOLS);
  let bits = 0;
  let before = 0;
  for (const symbol of order) {
    const length = lengths[symbol] as number;
    // The shift cannot overflow, because codes have at most 30 bits.
    bits <<= length - before;
    codes[symbol] = { bits, length };
    bits++;
    before = length;
  }
  return codes;
}

/** Flags of a decoder step. Its low byte is the next state, and its second byte is the decoded symbol. */
const EMITS = 0x1_0000;
const FAILS = 0x2_0000;

interface Decoding {
  /** Steps indexed by state and the next four bits. A state is an inner node of the code tree; 0 is the root. */
  readonly steps: Int32Array;
  /** 1 for a state in which a string can end: fewer than eight bits since the last symbol, all of them 1. */
  readonly mayEnd: Uint8Array;
}

function makeDecoding(codes: readonly Code[]): Decoding {
  // Each child of an inner node is the index of another inner node, or the bitwise complement of a symbol.
  const children: [number, number][] = [[0, 0]];
  const mayEnd = [1];
  codes.forEach(({ bits, length }, symbol) => {
    let node = 0;
    for (let i = length - 1; i > 0; i--) {
      const bit = (bits >>> i) & 1;
      const pair = children[node] as [number, number];
      if (pair[bit] === 0) {
        pair[bit] = children.push([0, 0]) - 1;
        const depth = length - i;
        mayEnd.push(depth < 8 && bits >>> i === 2 ** depth - 1 ? 1 : 0);
      }
      node = pair[bit] as number;
    }
    (children[node] as [number, number])[bits & 1] = ~symbol;
  });
  const steps = new Int32Array(children.length * 16);
  for (let state = 0; state < children.length; state++) {
    for (let nibble = 0; nibble < 16; nibble++) steps[state * 16 + nibble] = stepOf(children, state, nibble);
  }
  return { steps, mayEnd: Uint8Array.from(mayEnd) };
}

function stepOf(children: readonly [number, number][], state: number, nibble: number): number {
  let node = state;
  let emitted = 0;
  for (let i = 3; i >= 0; i--) {
    const child = children[node]?.[((nibble >>> i) & 1) as 0 | 1] as number;
    if (child >= 0) {
      node = child;
      continue;
    }
    // EOS in a string is an error (RFC 7541, section 5.2).
    if (~child === EOS) return FAILS;
    emitted = EMITS | (~child << 8);
    node = 0;
  }
  return emitted | node;
}

let codes: Code[] | undefined;
let decoding: Decoding | undefined;

/** Returns the maximum length of the text in `bytes` bytes of Huffman code: the shortest codes have five bits. */
export function maxDecodedLength(bytes: number): number {
  return Math.floor((bytes * 8) / 5);
}

/**
 * Decodes a string into `out`, which must have {@link maxDecodedLength} bytes, and returns the decoded length. Throws for
 * EOS, and for padding that is longer than seven bits or contains a 0.
 */
export function decodeHuffman(bytes: Uint8Array, start: number, end: number, out: Uint8Array): number {
  codes ??= makeCodes();
  decoding ??= makeDecoding(codes);
  const { steps, mayEnd } = decoding;
  let state = 0;
  let length = 0;
  for (let i = start; i < end; i++) {
    const byte = bytes[i] as number;
    const high = steps[state * 16 + (byte >>> 4)] as number;
    if (high & EMITS) out[length++] = (high >>> 8) & 0xff;
    const low = steps[(high & 0xff) * 16 + (byte & 15)] as number;
    if (low & EMITS) out[length++] = (low >>> 8) & 0xff;
    if ((high | low) & FAILS) throw compressionError("a string has EOS in its Huffman code");
    state = low & 0xff;
  }
  if (mayEnd[state] === 0) throw compressionError("the Huffman code of a string ends with something else than padding");
  return length;
}

/** Returns the length of a Latin-1 text in Huffman code, in bytes. */
export function huffmanLength(text: string): number {
  codes ??= makeCodes();
  let bits = 0;
  for (let i = 0; i < text.length; i++) bits += (codes[text.charCodeAt(i)] as Code).length;
  return Math.ceil(bits / 8);
}

/** Writes a text in Huffman code. Returns the position after it. */
export function writeHuffman(out: Uint8Array, at: number, text: string): number {
  codes ??= makeCodes();
  let next = at;
  let pending = 0;
  let count = 0;
  for (let i = 0; i < text.length; i++) {
    const { bits, length } = codes[text.charCodeAt(i)] as Code;
    for (let left = length; left > 0; ) {
      const taken = Math.min(8 - count, left);
      pending = (pending << taken) | ((bits >>> (left - taken)) & (2 ** taken - 1));
      count += taken;
      left -= taken;
      if (count === 8) {
        out[next++] = pending;
        pending = 0;
        count = 0;
      }
    }
  }
  if (count > 0) out[next++] = (pending << (8 - count)) | (0xff >>> count);
  return next;
}
