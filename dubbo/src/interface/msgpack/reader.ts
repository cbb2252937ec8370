/**
 * Reads MessagePack to values like those of JSON, with bigints, bytes and dates. The library `@msgpack/msgpack` does not
 * count values, allocates as many items as a list announces, and accepts text that is not UTF-8, unknown extensions and
 * invalid timestamps.
 */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { setEntry } from "triple-es/internal";
import { ByteCursor } from "../bytes.ts";
import { type Cost, LEAF, OBJECT } from "../cost.ts";
import { createRecord } from "../type.ts";

/** Deepest nesting accepted, as in JSON. */
const MAX_MSGPACK_DEPTH = 100;

/** The extension type of timestamps. */
const TIMESTAMP = -1;

/** Byte order marks are characters here, so they are kept. */
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Reads the bytes of exactly one value. Throws for malformed data, and for data that exceeds the limits of `cost`. */
export function readMsgpack(bytes: Uint8Array, cost: Cost): JsonValue {
  const cursor = new ByteCursor(bytes);
  const value = new Reader(cursor, cost).value(0);
  if (cursor.left > 0) throw new Error(`the value ends at byte ${cursor.offset}, but data follows`);
  return value;
}

class Reader {
  readonly #bytes: ByteCursor;
  readonly #cost: Cost;

  constructor(bytes: ByteCursor, cost: Cost) {
    this.#bytes = bytes;
    this.#cost = cost;
  }

  /** Reads a value inside of `depth` lists and maps. */
  value(depth: number): JsonValue {
    const format = this.#uint(1);
    if (!isContainer(format)) return this.#scalar(format);
    this.#cost.add(OBJECT);
    if (depth >= MAX_MSGPACK_DEPTH) throw new Error(`the data is nested more than ${MAX_MSGPACK_DEPTH} levels deep`);
    if (format < 0x90) return this.#map(format & 0x0f, depth + 1);
    if (format < 0xa0) return this.#array(format & 0x0f, depth + 1);
    const length = this.#uint(format % 2 === 0 ? 2 : 4);
    return format < 0xde ? this.#array(length, depth + 1) : this.#map(length, depth + 1);
  }

  #array(length: number, depth: number): JsonValue[] {
    this.#announce(length);
    const items: JsonValue[] = [];
    for (let i = 0; i < length; i += 1) items.push(this.value(depth));
    return items;
  }

  #map(length: number, depth: number): JsonObject {
    this.#announce(2 * length);
    const object = createRecord() as JsonObject;
    for (let i = 0; i < length; i += 1) {
      this.#cost.add(1);
      const format = this.#uint(1);
      const key = isContainer(format) ? undefined : this.#scalar(format);
      if (typeof key !== "string" && typeof key !== "number" && typeof key !== "bigint")
        throw new Error("a key of a map is neither text nor a number");
      setEntry(object, String(key), this.value(depth));
    }
    return object;
  }

  /** Throws for more items than there are bytes: an item takes at least one. */
  #announce(items: number): void {
    if (items > this.#bytes.left) throw new Error("the data announces more values than it contains");
  }

  //     nil 0xc0, false 0xc2, true 0xc3; fixint 0x00-0x7f, 0xe0-0xff; fixstr 0xa0-0xbf; str 0xd9-0xdb; bin 0xc4-0xc6;
  //     ext 0xc7-0xc9; fixext 0xd4-0xd8; float 0xca-0xcb; uint 0xcc-0xcf; int 0xd0-0xd3
  #scalar(format: number): JsonValue {
    this.#cost.add(isObject(format) ? OBJECT : LEAF);
    if (format < 0x80) return format;
    if (format >= 0xe0) return format - 0x100;
    if (format >= 0xa0 && format < 0xc0) return this.#text(format & 0x1f);
    if (format >= 0xd9 && format < 0xdc) return this.#text(this.#uint(2 ** (format - 0xd9)));
    if (format === 0xc0) return null;
    if (format === 0xc2 || format === 0xc3) return format === 0xc3;
    return this.#extended(format) as JsonValue;
  }

  #extended(format: number): number | bigint | Uint8Array | Date {
    if (format >= 0xc4 && format < 0xc7) return this.#bytes.take(this.#uint(2 ** (format - 0xc4)));
    if (format >= 0xc7 && format < 0xca) return this.#time(this.#uint(2 ** (format - 0xc7)));
    if (format >= 0xd4 && format < 0xd9) return this.#time(2 ** (format - 0xd4));
    if (format === 0xca) return this.#bytes.view.getFloat32(this.#bytes.skip(4));
    if (format === 0xcb) return this.#bytes.float64();
    if (format === 0xcf) return this.#bytes.view.getBigUint64(this.#bytes.skip(8));
    if (format === 0xd3) return this.#bytes.int64();
    if (format >= 0xcc && format < 0xcf) return this.#uint(2 ** (format - 0xcc));
    if (format === 0xd0) return this.#bytes.int8();
    if (format === 0xd1) return this.#bytes.int16();
    if (format === 0xd2) return this.#bytes.int32();
    throw new Error(`byte ${this.#bytes.offset - 1} is 0x${format.toString(16)}, which is no format`);
  }

  /** Reads text. A lone surrogate is not valid UTF-8, but is accepted because it may be a `char`. */
  #text(length: number): string {
    const short = this.#bytes.shortText(length);
    if (short !== undefined) return short;
    const bytes = this.#bytes.take(length);
    const [first, second = 0, third = 0] = bytes;
    if (length === 3 && first === 0xed && second >= 0xa0) {
      return String.fromCharCode(0xd000 | ((second & 0x3f) << 6) | (third & 0x3f));
    }
    return decoder.decode(bytes);
  }

  /** Reads the timestamp extension: seconds in four bytes, or nanoseconds and seconds in eight or twelve. */
  #time(size: number): Date {
    const { view } = this.#bytes;
    const type = this.#bytes.int8();
    if (type !== TIMESTAMP) throw new Error(`the extension ${type} is not supported`);
    if (![4, 8, 12].includes(size)) throw new Error("a timestamp is invalid");
    const at = this.#bytes.skip(size);
    if (size === 4) return new Date(view.getUint32(at) * 1_000);
    const first = view.getUint32(at);
    const nanoseconds = size === 8 ? first >>> 2 : first;
    const seconds = size === 8 ? (first & 3) * 2 ** 32 + view.getUint32(at + 4) : Number(view.getBigInt64(at + 4));
    if (nanoseconds > 999_999_999) throw new Error("a timestamp is invalid");
    return new Date(seconds * 1_000 + nanoseconds / 1_000_000);
  }

  #uint(size: number): number {
    if (size === 1) return this.#bytes.uint8();
    return size === 2 ? this.#bytes.uint16() : this.#bytes.view.getUint32(this.#bytes.skip(4));
  }
}

/** Reports whether the format is that of bytes or a timestamp. */
const isObject = (format: number): boolean => (format >= 0xc4 && format < 0xca) || (format >= 0xd4 && format < 0xd9);
const isContainer = (format: number): boolean => (format >= 0x80 && format < 0xa0) || (format >= 0xdc && format < 0xe0);
