/**
 * Parses large JSON text in steps, and yields to the event loop between them. `JSON.parse` takes a second for 4 MiB of
 * hostile text: small objects with different keys, or one object with many keys. A scan finds the arrays, objects and plain
 * strings that are larger than a part. Then `JSON.parse` reads the text between them, part by part, and so validates the
 * syntax.
 */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { reasonOf } from "../call/error.ts";
import { nextStep } from "../call/time-slice.ts";
import { LargeObject, largeArray } from "./json-parts.ts";
import {
  BACKSLASH,
  CLOSE_ARRAY,
  CLOSE_OBJECT,
  COLON,
  COMMA,
  MAX_JSON_DEPTH,
  OPEN_ARRAY,
  OPEN_OBJECT,
  QUOTE,
} from "./json-syntax.ts";
import { type DecodeBudget, Memory } from "./memory.ts";

/**
 * Bytes that are parsed in one step, and up to twice as many if a part ends with a large element. A step takes a few
 * milliseconds.
 */
const PARSE_PART_BYTES = 16 * 1024;
/** Bytes that are scanned in one step. */
const SCAN_BYTES = 64 * 1024;

/**
 * Keeps byte order marks, so that one between tokens is a syntax error. Only the one at the beginning of the text is
 * skipped.
 */
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/**
 * Parses JSON text. Rejects with `resource_exhausted`, before any value is created, if the values would exceed the
 * budget, and with an `Error` for text that is not UTF-8, not JSON or nested too deeply.
 * `parse` parses each part, which is valid JSON text if the whole text is. It throws a `SyntaxError` for any other text.
 */
export async function parseJsonInSteps(
  bytes: Uint8Array,
  budget: Pick<DecodeBudget, "take">,
  partBytes: number = PARSE_PART_BYTES,
  parse: (text: string) => JsonValue = JSON.parse,
): Promise<JsonValue> {
  const start = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? 3 : 0;
  const scan = new Scan(bytes, start, partBytes);
  for (let counted = 0, ended = false; !ended; counted = scan.memory) {
    ended = scan.run(SCAN_BYTES);
    budget.take(scan.memory - counted);
    const turn = nextStep();
    if (turn !== undefined) await turn;
  }
  return new Parts(bytes, scan.ends, partBytes, parse).whole(start);
}

/** The scan of a text: estimates the memory of its values, and finds the ends of its large arrays and objects. */
class Scan {
  /** Memory of the values so far, in bytes. */
  memory = 0;
  /**
   * The index of the last byte of each array, object and plain string larger than a part, by the index of its first byte.
   */
  readonly ends: Map<number, number> = new Map();
  readonly #bytes: Uint8Array;
  readonly #partBytes: number;
  readonly #open: number[] = [];
  /** By depth: 1 if the object has a member so far. */
  readonly #hasMember = new Uint8Array(MAX_JSON_DEPTH + 1);
  readonly #keys = new KeyTable();
  /** The last string: the index after its opening quote, and that of its closing quote. */
  #textStart = 0;
  #textEnd = 0;
  #at: number;

  constructor(bytes: Uint8Array, start: number, partBytes: number) {
    this.#bytes = bytes;
    this.#at = start;
    this.#partBytes = partBytes;
  }

  /** Scans `count` bytes, and more if they end inside a string. Returns true at the end of the text. */
  run(count: number): boolean {
    const bytes = this.#bytes;
    const end = Math.min(bytes.length, this.#at + count);
    let at = this.#at;
    let { memory } = this;
    for (; at < end; at += 1) {
      const byte = bytes[at] as number;
      if (byte === QUOTE) {
        this.#textStart = at + 1;
        at = endOfString(bytes, at);
        this.#textEnd = at;
        const start = this.#textStart;
        memory += Memory.text(at - start);
        if (at - start > this.#partBytes && isPlainText(bytes, start, at)) this.ends.set(start - 1, at);
      } else if (byte === COMMA) memory += Memory.slot;
      else if (byte === COLON) memory += this.#member();
      else if (byte === DOT || (isExponent(byte) && isDigit(bytes[at - 1] as number))) memory += Memory.number;
      else if (byte === OPEN_ARRAY || byte === OPEN_OBJECT) {
        memory += Memory.slot + (byte === OPEN_OBJECT ? Memory.map : Memory.list);
        if (byte === OPEN_ARRAY && bytes[at + 1] !== CLOSE_ARRAY) memory += Memory.items;
        this.#open.push(at);
        if (this.#open.length > MAX_JSON_DEPTH)
          throw new Error(`the JSON is nested more than ${MAX_JSON_DEPTH} levels deep`);
        this.#hasMember[this.#open.length] = 0;
      } else if (byte === CLOSE_ARRAY || byte === CLOSE_OBJECT) this.#close(at, byte);
    }
    this.#at = at;
    this.memory = memory;
    if (at < bytes.length) return false;
    if (this.#open.length > 0) throw new SyntaxError("the JSON ends too early");
    return true;
  }

  /**
   * Estimates the memory of a member whose key is the last string. Objects with the same keys share their layout and the
   * keys' text, so only a new key takes memory of its own.
   */
  #member(): number {
    const [bytes, start, end] = [this.#bytes, this.#textStart, this.#textEnd];
    const depth = this.#open.length;
    const isFirst = this.#hasMember[depth] === 0;
    this.#hasMember[depth] = 1;
    if (isDigit(bytes[start] as number)) return Memory.slot + (isFirst ? Memory.firstIndex : Memory.member);
    if (this.#keys.has(bytes, start, end)) return Memory.slot - Memory.text(end - start);
    return Memory.slot + (isFirst ? Memory.firstMember : Memory.member);
  }

  #close(at: number, byte: number): void {
    const start = this.#open.pop();
    if (start === undefined || this.#bytes[start] !== (byte === CLOSE_ARRAY ? OPEN_ARRAY : OPEN_OBJECT))
      throw unexpected(at);
    if (at - start > this.#partBytes) this.ends.set(start, at);
  }
}

/** A cache of the keys in a text: each entry is the place of a key. A key may replace another one with the same hash. */
class KeyTable {
  readonly #starts = new Int32Array(KEY_TABLE_SIZE);
  readonly #ends = new Int32Array(KEY_TABLE_SIZE);

  /** Reports whether the table contains the key, and adds it. */
  has(bytes: Uint8Array, start: number, end: number): boolean {
    let hash = end - start;
    for (let at = start; at < end; at += 1) hash = (hash * 31 + (bytes[at] as number)) | 0;
    const place = hash & (KEY_TABLE_SIZE - 1);
    const known = this.#starts[place] as number;
    const same = known > 0 && (this.#ends[place] as number) - known === end - start;
    this.#starts[place] = start;
    this.#ends[place] = end;
    return same && areEqual(bytes, known, start, end - start);
  }
}

/** Places in the table, a power of two: more than the keys that the messages of one service have. */
const KEY_TABLE_SIZE = 4096;

function areEqual(bytes: Uint8Array, first: number, second: number, length: number): boolean {
  for (let i = 0; i < length; i += 1) if (bytes[first + i] !== bytes[second + i]) return false;
  return true;
}

/** Estimates the memory of the values of JSON text, in bytes. For invalid text, it returns any estimate or throws. */
export function estimateJsonText(bytes: Uint8Array): number {
  const scan = new Scan(bytes, 0, Number.POSITIVE_INFINITY);
  scan.run(Number.POSITIVE_INFINITY);
  return scan.memory;
}

/** The parser of a text that has been scanned. */
class Parts {
  readonly #bytes: Uint8Array;
  readonly #ends: ReadonlyMap<number, number>;
  readonly #partBytes: number;
  readonly #parseText: (text: string) => JsonValue;

  constructor(
    bytes: Uint8Array,
    ends: ReadonlyMap<number, number>,
    partBytes: number,
    parseText: (text: string) => JsonValue,
  ) {
    this.#bytes = bytes;
    this.#ends = ends;
    this.#partBytes = partBytes;
    this.#parseText = parseText;
  }

  async whole(start: number): Promise<JsonValue> {
    const first = this.#skipSpace(start);
    const last = this.#ends.get(first);
    if (last === undefined) return this.#parse(start, this.#bytes.length);
    const after = this.#skipSpace(last + 1);
    if (after < this.#bytes.length) throw unexpected(after);
    return this.#large(first, last);
  }

  async #large(start: number, end: number): Promise<JsonValue> {
    const first = this.#bytes[start];
    // `JSON.parse` would need the text of the part twice more. A string of base64 can be most of a message.
    if (first === QUOTE) return decoder.decode(this.#bytes.subarray(start + 1, end));
    return first === OPEN_ARRAY ? this.#array(start, end) : this.#object(start, end);
  }

  async #array(start: number, end: number): Promise<JsonValue[]> {
    const items = largeArray();
    await this.#each(
      start,
      end,
      (part) => {
        const values = this.#parse(part.start, part.end, "[", "]") as JsonValue[];
        for (const value of values) items.push(value);
        return values.length;
      },
      async (child, from) => {
        if (this.#skipSpace(from) !== child) throw unexpected(child);
        items.push(await this.#large(child, this.#ends.get(child) as number));
      },
    );
    return items;
  }

  async #object(start: number, end: number): Promise<JsonObject> {
    const large = new LargeObject();
    await this.#each(
      start,
      end,
      (part) => {
        const members = Object.entries(this.#parse(part.start, part.end, "{", "}") as JsonObject);
        for (const [key, value] of members) large.set(key, value);
        return members.length;
      },
      async (child, from) => {
        const key = this.#keyBefore(child, from);
        large.set(key, await this.#large(child, this.#ends.get(child) as number));
      },
    );
    return large.object;
  }

  /**
   * Iterates over the elements of a large array or object. `onPart` gets parts of several small elements, `onLarge`
   * gets each large one.
   */
  async #each(
    start: number,
    end: number,
    onPart: (part: { readonly start: number; readonly end: number }) => number,
    onLarge: (child: number, from: number) => Promise<void>,
  ): Promise<void> {
    const bytes = this.#bytes;
    const flush = async (from: number, to: number): Promise<void> => {
      const turn = nextStep();
      if (turn !== undefined) await turn;
      if (onPart({ start: from, end: to }) === 0) throw unexpected(to);
    };
    /**
     * The start of the current part, which has not been passed to `onPart`. `elementStart` is the start of the current
     * element.
     */
    let partStart = start + 1;
    let elementStart = partStart;
    let depth = 0;
    let at = start + 1;
    while (at < end) {
      const byte = bytes[at] as number;
      if (byte === QUOTE || byte === OPEN_ARRAY || byte === OPEN_OBJECT) {
        const last = this.#ends.get(at);
        if (byte === QUOTE && (last === undefined || bytes[this.#skipSpace(last + 1)] === COLON)) {
          // A key, or a string that is part of a small element.
          at = last ?? endOfString(bytes, at);
        } else if (last === undefined) depth += 1;
        else {
          // A small element cannot contain a large one, so the depth is 0 here.
          if (partStart < elementStart) await flush(partStart, elementStart - 1);
          await onLarge(at, elementStart);
          at = this.#skipSpace(last + 1);
          if (at === end) return;
          if (bytes[at] !== COMMA) throw unexpected(at);
          partStart = elementStart = at + 1;
        }
      } else if (byte === CLOSE_ARRAY || byte === CLOSE_OBJECT) depth -= 1;
      else if (byte === COMMA && depth === 0) {
        if (at - partStart >= this.#partBytes) {
          await flush(partStart, at);
          partStart = at + 1;
        }
        elementStart = at + 1;
      }
      at += 1;
    }
    // Only whitespace between the brackets is an empty array or object. After a comma, it is a syntax error.
    if (partStart === start + 1 && this.#skipSpace(partStart) === end) return;
    await flush(partStart, end);
  }

  /** Parses the key of a member before its large value: `key : child`. */
  #keyBefore(child: number, from: number): string {
    let colon = child - 1;
    while (colon > from && isSpace(this.#bytes[colon] as number)) colon -= 1;
    if (this.#bytes[colon] !== COLON) throw unexpected(child);
    const [key] = Object.keys(this.#parse(from, colon, "{", ":0}") as JsonObject);
    return key as string;
  }

  #parse(start: number, end: number, before = "", after = ""): JsonValue {
    const text = decoder.decode(this.#bytes.subarray(start, end));
    try {
      return this.#parseText(before + text + after);
    } catch (cause) {
      if (!(cause instanceof SyntaxError)) throw cause;
      // The positions in the message refer to the part, so they are removed.
      const reason = reasonOf(cause).replace(/ (?:in JSON )?at position.*/s, "");
      throw new SyntaxError(`the JSON is malformed at or after byte ${start}: ${reason}`, { cause });
    }
  }

  #skipSpace(start: number): number {
    let at = start;
    while (at < this.#bytes.length && isSpace(this.#bytes[at] as number)) at += 1;
    return at;
  }
}

/** Returns the index of the closing quote of the string that starts at `start`. Throws if there is none. */
function endOfString(bytes: Uint8Array, start: number): number {
  for (let at = start + 1; at < bytes.length; at += 1) {
    const byte = bytes[at];
    if (byte === QUOTE) return at;
    if (byte === BACKSLASH) at += 1;
  }
  throw new SyntaxError("the JSON ends in a string");
}

/** Reports whether the bytes of a string are its characters: ASCII without escapes and control characters. */
function isPlainText(bytes: Uint8Array, start: number, end: number): boolean {
  for (let at = start; at < end; at += 1) {
    const byte = bytes[at] as number;
    if (byte < 0x20 || byte > 0x7e || byte === BACKSLASH) return false;
  }
  return true;
}

// ws = *( %x20 / %x09 / %x0A / %x0D )    (RFC 8259, section 2)
function isSpace(byte: number): boolean {
  return byte === 0x20 || byte === 0x09 || byte === 0x0a || byte === 0x0d;
}

const DOT = 0x2e;
const isDigit = (byte: number): boolean => byte >= 0x30 && byte <= 0x39;
const isExponent = (byte: number): boolean => byte === 0x65 || byte === 0x45;

function unexpected(at: number): SyntaxError {
  return new SyntaxError(`the JSON is malformed at byte ${at}`);
}
