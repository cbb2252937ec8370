/**
 * Reads MessagePack in steps, to values like those of JSON, with bigints, bytes and dates. The library `@msgpack/msgpack`
 * reads a message in one step, allocates as many items as a list announces, and accepts text that is not UTF-8, unknown
 * extensions and invalid timestamps.
 */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { StepCounter, type Steps } from "../../call/steps.ts";
import { LargeObject, setMember } from "../../codec/json-parts.ts";
import { Memory } from "../../codec/memory.ts";
import { type Cost, FIRST_ITEM_BYTES, ITEM_BYTES, LIST_BYTES, leafBytes, memberBytes } from "../cost.ts";

/** Deepest nesting accepted, as in JSON. */
const MAX_MSGPACK_DEPTH = 100;

/** The extension type of timestamps. */
const TIMESTAMP = -1;

/** Most members of an object whose keys are listed in one step. */
const SMALL_MAP = 256;

/** Byte order marks are characters here, so they are kept. */
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Texts of at most this number of bytes are decoded without a `TextDecoder` if they are ASCII, which is faster. */
const SHORT_TEXT_BYTES = 64;

/** Reads the bytes of exactly one value. Throws for malformed data, and for data that exceeds the limits of `cost`. */
export function* readMsgpack(bytes: Uint8Array, cost: Cost): Steps<JsonValue> {
  const reader = new Reader(bytes, cost);
  const value = yield* reader.value(0);
  reader.end();
  return value;
}

class Reader {
  readonly #bytes: Uint8Array;
  readonly #view: DataView;
  readonly #cost: Cost;
  readonly #counter = new StepCounter();
  #offset = 0;

  constructor(bytes: Uint8Array, cost: Cost) {
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.#cost = cost;
  }

  end(): void {
    const rest = this.#bytes.byteLength - this.#offset;
    if (rest > 0) throw new Error(`the value ends at byte ${this.#offset}, but data follows`);
  }

  *value(depth: number): Steps<JsonValue> {
    const format = this.#format();
    return isContainer(format) ? yield* this.#container(format, depth) : this.#scalar(format);
  }

  #format(): number {
    this.#cost.addValues(1);
    return this.#uint(1);
  }

  *#container(format: number, depth: number): Steps<JsonValue> {
    if (depth >= MAX_MSGPACK_DEPTH) throw new Error(`the data is nested more than ${MAX_MSGPACK_DEPTH} levels deep`);
    if (format < 0x90) return yield* this.#map(format & 0x0f, depth + 1);
    if (format < 0xa0) return yield* this.#array(format & 0x0f, depth + 1);
    const length = this.#uint(format % 2 === 0 ? 2 : 4);
    return format < 0xde ? yield* this.#array(length, depth + 1) : yield* this.#map(length, depth + 1);
  }

  *#array(length: number, depth: number): Steps<JsonValue[]> {
    this.#announce(length);
    const items: JsonValue[] = [];
    this.#open(length > 0 ? LIST_BYTES + FIRST_ITEM_BYTES : LIST_BYTES);
    for (let i = 0; i < length; i += 1) {
      if (this.#counter.add()) yield undefined;
      this.#cost.addMemory(ITEM_BYTES);
      const format = this.#format();
      items.push(isContainer(format) ? yield* this.#container(format, depth) : this.#scalar(format));
    }
    return items;
  }

  *#map(length: number, depth: number): Steps<JsonObject> {
    this.#announce(2 * length);
    const object: JsonObject = {};
    this.#open(Memory.object);
    let largest = 0;
    const large = length <= SMALL_MAP ? undefined : new LargeObject();
    for (let i = 0; i < length; i += 1) {
      if (this.#counter.add(2)) yield undefined;
      this.#cost.addMemory(memberBytes(i));
      const key = this.#scalar(this.#format());
      if (typeof key !== "string" && typeof key !== "number")
        throw new Error("a key of a map is neither text nor a number");
      const format = this.#format();
      const value = isContainer(format) ? yield* this.#container(format, depth) : this.#scalar(format);
      const name = String(key);
      largest = this.#cost.addName(name, largest);
      if (large === undefined) setMember(object, name, value);
      else large.set(name, value);
    }
    return large?.object ?? object;
  }

  #open(bytes: number): void {
    this.#cost.addContainer();
    this.#cost.addMemory(bytes);
  }

  /** Throws for more items than there are bytes: an item takes at least one. */
  #announce(items: number): void {
    if (items > this.#bytes.byteLength - this.#offset)
      throw new Error("the data announces more values than it contains");
  }

  //     nil 0xc0, false 0xc2, true 0xc3; fixint 0x00-0x7f, 0xe0-0xff; fixstr 0xa0-0xbf; str 0xd9-0xdb; bin 0xc4-0xc6;
  //     ext 0xc7-0xc9; fixext 0xd4-0xd8; float 0xca-0xcb; uint 0xcc-0xcf; int 0xd0-0xd3
  #scalar(format: number): JsonValue {
    if (format < 0x80) return format;
    if (format >= 0xe0) return format - 0x100;
    const value = this.#long(format);
    this.#cost.addMemory(leafBytes(value));
    return value;
  }

  /** Reads a scalar of more than one byte. */
  #long(format: number): JsonValue {
    if (format >= 0xa0 && format < 0xc0) return this.#text(format & 0x1f);
    if (format >= 0xd9 && format < 0xdc) return this.#text(this.#uint(2 ** (format - 0xd9)));
    if (format === 0xc0) return null;
    if (format === 0xc2 || format === 0xc3) return format === 0xc3;
    return this.#extended(format) as JsonValue;
  }

  #extended(format: number): number | bigint | Uint8Array | Date {
    if (format >= 0xc4 && format < 0xc7) return this.#take(this.#uint(2 ** (format - 0xc4)));
    if (format >= 0xc7 && format < 0xca) return this.#time(this.#uint(2 ** (format - 0xc7)));
    if (format >= 0xd4 && format < 0xd9) return this.#time(2 ** (format - 0xd4));
    if (format === 0xca) return this.#view.getFloat32(this.#skip(4));
    if (format === 0xcb) return this.#view.getFloat64(this.#skip(8));
    if (format === 0xcf) return this.#view.getBigUint64(this.#skip(8));
    if (format === 0xd3) return this.#view.getBigInt64(this.#skip(8));
    if (format >= 0xcc && format < 0xcf) return this.#uint(2 ** (format - 0xcc));
    if (format === 0xd0) return this.#view.getInt8(this.#skip(1));
    if (format === 0xd1) return this.#view.getInt16(this.#skip(2));
    if (format === 0xd2) return this.#view.getInt32(this.#skip(4));
    throw new Error(`byte ${this.#offset - 1} is 0x${format.toString(16)}, which is no format`);
  }

  /** Reads text. A lone surrogate is not valid UTF-8, but is accepted because it may be a `char`. */
  #text(length: number): string {
    const bytes = this.#take(length);
    const [first, second = 0, third = 0] = bytes;
    if (length === 3 && first === 0xed && second >= 0xa0) {
      return String.fromCharCode(0xd000 | ((second & 0x3f) << 6) | (third & 0x3f));
    }
    if (length <= SHORT_TEXT_BYTES && bytes.every((byte) => byte < 0x80)) return String.fromCharCode(...bytes);
    return decoder.decode(bytes);
  }

  /** Reads the timestamp extension: seconds in four bytes, or nanoseconds and seconds in eight or twelve. */
  #time(size: number): Date {
    const view = this.#view;
    const type = view.getInt8(this.#skip(1));
    if (type !== TIMESTAMP) throw new Error(`the extension ${type} is not supported`);
    if (![4, 8, 12].includes(size)) throw new Error("a timestamp is invalid");
    const at = this.#skip(size);
    if (size === 4) return new Date(view.getUint32(at) * 1_000);
    const first = view.getUint32(at);
    const nanoseconds = size === 8 ? first >>> 2 : first;
    const seconds = size === 8 ? (first & 3) * 2 ** 32 + view.getUint32(at + 4) : Number(view.getBigInt64(at + 4));
    if (nanoseconds > 999_999_999) throw new Error("a timestamp is invalid");
    return new Date(seconds * 1_000 + nanoseconds / 1_000_000);
  }

  #uint(size: number): number {
    const at = this.#skip(size);
    return size === 1 ? this.#view.getUint8(at) : size === 2 ? this.#view.getUint16(at) : this.#view.getUint32(at);
  }

  /** Returns a view of the next bytes, without a copy. */
  #take(length: number): Uint8Array {
    const start = this.#skip(length);
    return this.#bytes.subarray(start, start + length);
  }

  #skip(length: number): number {
    const start = this.#offset;
    if (length > this.#bytes.byteLength - start) throw new Error("the data ends in the middle of a value");
    this.#offset = start + length;
    return start;
  }
}

const isContainer = (format: number): boolean => (format >= 0x80 && format < 0xa0) || (format >= 0xdc && format < 0xe0);
