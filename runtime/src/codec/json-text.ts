/**
 * Parses large JSON text in steps, and yields to the event loop between them. `JSON.parse` takes a second for 4 MiB of
 * hostile text: small objects with different keys, or one object with many keys. A scan finds the arrays and objects
 * that are larger than a part. Then `JSON.parse` reads the text between their commas, part by part, and so validates
 * the syntax.
 */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { reasonOf } from "../call/error.ts";
import { nextStep } from "../call/time-slice.ts";
import { largeArray, largeObject, setMember } from "./json-parts.ts";
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
import { Memory, tooMuchMemory } from "./memory.ts";

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
 * Parses JSON text. Rejects with `resource_exhausted`, before any value is created, if the values would take more
 * memory than the limit, and with an `Error` for text that is not UTF-8, not JSON or nested too deeply.
 * `parse` parses each part, which is valid JSON text if the whole text is. It throws a `SyntaxError` for any other text.
 */
export async function parseJsonInSteps(
  bytes: Uint8Array,
  maxDecodedBytes: number,
  partBytes: number = PARSE_PART_BYTES,
  parse: (text: string) => JsonValue = JSON.parse,
): Promise<JsonValue> {
  const start = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? 3 : 0;
  const scan = new Scan(bytes, start, partBytes);
  while (!scan.run(SCAN_BYTES)) {
    if (scan.memory > maxDecodedBytes) break;
    const turn = nextStep();
    if (turn !== undefined) await turn;
  }
  if (scan.memory > maxDecodedBytes) throw tooMuchMemory(scan.memory, maxDecodedBytes);
  return new Parts(bytes, scan.ends, partBytes, parse).whole(start);
}

/** The scan of a text: estimates the memory of its values, and finds the ends of its large arrays and objects. */
class Scan {
  /** Memory of the values so far, in bytes. */
  memory = 0;
  /** The index of the last byte of each array and object larger than a part, by the index of its first byte. */
  readonly ends: Map<number, number> = new Map();
  readonly #bytes: Uint8Array;
  readonly #partBytes: number;
  readonly #open: number[] = [];
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
        const start = at;
        at = endOfString(bytes, at);
        memory += Memory.text(at - start - 1);
      } else if (byte === COMMA || byte === COLON) memory += Memory.slot;
      else if (byte === OPEN_ARRAY || byte === OPEN_OBJECT) {
        memory += Memory.slot + (byte === OPEN_OBJECT ? Memory.map : Memory.list);
        this.#open.push(at);
        if (this.#open.length > MAX_JSON_DEPTH)
          throw new Error(`the JSON is nested more than ${MAX_JSON_DEPTH} levels deep`);
      } else if (byte === CLOSE_ARRAY || byte === CLOSE_OBJECT) this.#close(at, byte);
    }
    this.#at = at;
    this.memory = memory;
    if (at < bytes.length) return false;
    if (this.#open.length > 0) throw new SyntaxError("the JSON ends too early");
    return true;
  }

  #close(at: number, byte: number): void {
    const start = this.#open.pop();
    if (start === undefined || this.#bytes[start] !== (byte === CLOSE_ARRAY ? OPEN_ARRAY : OPEN_OBJECT))
      throw unexpected(at);
    if (at - start > this.#partBytes) this.ends.set(start, at);
  }
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
    return this.#container(first, last);
  }

  #container(start: number, end: number): Promise<JsonValue> {
    return this.#bytes[start] === OPEN_ARRAY ? this.#array(start, end) : this.#object(start, end);
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
        items.push(await this.#container(child, this.#ends.get(child) as number));
      },
    );
    return items;
  }

  async #object(start: number, end: number): Promise<JsonObject> {
    const { object, parts } = largeObject();
    await this.#each(
      start,
      end,
      (part) => {
        const members = this.#parse(part.start, part.end, "{", "}") as JsonObject;
        const keys = Object.keys(members);
        parts.push(members);
        for (const key of keys) setMember(object, key, members[key] as JsonValue);
        return keys.length;
      },
      async (child, from) => {
        const key = this.#keyBefore(child, from);
        const value = await this.#container(child, this.#ends.get(child) as number);
        const part: JsonObject = {};
        setMember(part, key, value);
        parts.push(part);
        setMember(object, key, value);
      },
    );
    return object;
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
      if (byte === QUOTE) at = endOfString(bytes, at);
      else if (byte === OPEN_ARRAY || byte === OPEN_OBJECT) {
        const last = this.#ends.get(at);
        if (last === undefined) depth += 1;
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
      const reason = reasonOf(cause).replace(/ (?:in JSON )?at position.*$/, "");
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

// ws = *( %x20 / %x09 / %x0A / %x0D )    (RFC 8259, section 2)
function isSpace(byte: number): boolean {
  return byte === 0x20 || byte === 0x09 || byte === 0x0a || byte === 0x0d;
}

function unexpected(at: number): SyntaxError {
  return new SyntaxError(`the JSON is malformed at byte ${at}`);
}
