/**
 * Validates MessagePack before it is decoded. The MessagePack library allocates as many items as a list announces, so a list
 * may announce no more than the data can contain: an item takes at least one byte. The library also accepts text that is not
 * UTF-8, unknown extensions and invalid timestamps.
 */
import type { Cost } from "../cost.ts";

/** Deepest nesting accepted, as in JSON. */
const MAX_MSGPACK_DEPTH = 100;

/** The extension type of timestamps. */
const TIMESTAMP = -1;

/** The number of bytes after each format of fixed size, from 0xca on: floats, integers, extensions. */
const FIXED = [4, 8, 1, 2, 4, 8, 1, 2, 4, 8, 2, 3, 5, 9, 17];

const decoder = new TextDecoder("utf-8", { fatal: true });

/**
 * Validates data. Throws if it announces more items than it contains, is nested too deeply, exceeds the limits or contains
 * unknown values.
 */
export function checkShape(bytes: Uint8Array, cost: Cost): void {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  /** The number of remaining items in each open list and map. */
  const open = [1];
  let announced = 1;
  for (let offset = 0; announced > 0; ) {
    while (open.at(-1) === 0) open.pop();
    open.push((open.pop() as number) - 1);
    announced -= 1;
    const { items, size } = readHead(view, offset);
    cost.addValues(1);
    if (offset + size <= bytes.byteLength) checkContent(view, offset, size);
    offset += size;
    announced += items;
    if (announced > bytes.byteLength - offset) throw new Error("the data announces more values than it contains");
    if (items > 0) open.push(items);
    if (open.length > MAX_MSGPACK_DEPTH)
      throw new Error(`the data is nested more than ${MAX_MSGPACK_DEPTH} levels deep`);
  }
}

/** Validates the contents of text and extensions. The library detects truncated data. */
function checkContent(view: DataView, offset: number, size: number): void {
  const format = view.getUint8(offset);
  const end = offset + size;
  if ((format >= 0xa0 && format < 0xc0) || (format >= 0xd9 && format < 0xdc)) {
    const start = offset + (format < 0xc0 ? 1 : 1 + 2 ** (format - 0xd9));
    checkText(new Uint8Array(view.buffer, view.byteOffset + start, end - start));
  } else if (format >= 0xc7 && format < 0xca) checkTime(view, offset + 1 + 2 ** (format - 0xc7), end);
  else if (format >= 0xd4 && format < 0xd9) checkTime(view, offset + 1, end);
}

/** Validates text as UTF-8. A lone surrogate is not valid UTF-8, but is accepted because it may be a `char`. */
function checkText(text: Uint8Array): void {
  const half = text.byteLength === 3 && text[0] === 0xed;
  if (!half && text.some((byte) => byte >= 0x80)) decoder.decode(text);
}

/** Validates the timestamp extension: seconds in four bytes, or nanoseconds and seconds in eight or twelve. */
function checkTime(view: DataView, start: number, end: number): void {
  const type = view.getInt8(start);
  if (type !== TIMESTAMP) throw new Error(`the extension ${type} is not supported`);
  const size = end - start - 1;
  const nanoseconds = size === 12 ? view.getUint32(start + 1) : size === 8 ? view.getUint32(start + 1) >>> 2 : 0;
  if (![4, 8, 12].includes(size) || nanoseconds > 999_999_999) throw new Error("a timestamp is invalid");
}

/** Reads the number of items of a value, and the number of bytes before them. */
function readHead(view: DataView, offset: number): { readonly items: number; readonly size: number } {
  const format = view.getUint8(offset);
  if (format < 0x80 || format >= 0xe0) return { items: 0, size: 1 };
  if (format < 0x90) return { items: 2 * (format & 0x0f), size: 1 };
  if (format < 0xa0) return { items: format & 0x0f, size: 1 };
  if (format < 0xc0) return { items: 0, size: 1 + (format & 0x1f) };
  if (format < 0xc4) return { items: 0, size: 1 };
  if (format < 0xc7) return { items: 0, size: sized(view, offset, format - 0xc4) };
  if (format < 0xca) return { items: 0, size: 1 + sized(view, offset, format - 0xc7) };
  if (format < 0xd9) return { items: 0, size: 1 + (FIXED[format - 0xca] as number) };
  if (format < 0xdc) return { items: 0, size: sized(view, offset, format - 0xd9) };
  const wide = format % 2 === 1;
  const length = wide ? view.getUint32(offset + 1) : view.getUint16(offset + 1);
  return { items: format < 0xde ? length : 2 * length, size: wide ? 5 : 3 };
}

/** Returns the size of a value that consists of a format byte, a length of 1, 2 or 4 bytes, and data of this length. */
function sized(view: DataView, offset: number, width: number): number {
  if (width === 0) return 2 + view.getUint8(offset + 1);
  return width === 1 ? 3 + view.getUint16(offset + 1) : 5 + view.getUint32(offset + 1);
}
