/**
 * Looks over MessagePack before it is decoded. The library sets memory aside for as many items as a list announces, so data
 * may only announce what it can contain: every item takes a byte at least. Nor does the library mind text that is no UTF-8,
 * extensions that nobody knows, and times that are none.
 */
import type { Cost } from "../cost.ts";

/** Deeper data is refused, as it is in JSON. */
const MAX_DEPTH = 100;

/** The type of the extension for times. */
const TIMESTAMP = -1;

/** Bytes behind those formats whose size is fixed, from 0xca on: floats, integers, extensions. */
const FIXED = [4, 8, 1, 2, 4, 8, 1, 2, 4, 8, 2, 3, 5, 9, 17];

const decoder = new TextDecoder("utf-8", { fatal: true });

/** Throws for data that announces more than it has, is too deep or costs too much, and for values that nobody knows. */
export function checkShape(bytes: Uint8Array, cost: Cost): void {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  /** How many items are still to come, in each of the lists and maps that are open. */
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
    if (announced > bytes.byteLength - offset) throw new Error("the data announces more than it has");
    if (items > 0) open.push(items);
    if (open.length > MAX_DEPTH) throw new Error(`the data is nested more than ${MAX_DEPTH} levels deep`);
  }
}

/** The contents of text and of extensions. What is cut off, the library notices. */
function checkContent(view: DataView, offset: number, size: number): void {
  const format = view.getUint8(offset);
  const end = offset + size;
  if ((format >= 0xa0 && format < 0xc0) || (format >= 0xd9 && format < 0xdc)) {
    const start = offset + (format < 0xc0 ? 1 : 1 + 2 ** (format - 0xd9));
    checkText(new Uint8Array(view.buffer, view.byteOffset + start, end - start));
  } else if (format >= 0xc7 && format < 0xca) checkTime(view, offset + 1 + 2 ** (format - 0xc7), end);
  else if (format >= 0xd4 && format < 0xd9) checkTime(view, offset + 1, end);
}

/** Half of a pair of surrogates is no UTF-8, but as a `char` it may be alone. */
function checkText(text: Uint8Array): void {
  const half = text.byteLength === 3 && text[0] === 0xed;
  if (!half && text.some((byte) => byte >= 0x80)) decoder.decode(text);
}

/** The one extension that there is: seconds, or nanoseconds and seconds in eight or twelve bytes. */
function checkTime(view: DataView, start: number, end: number): void {
  const type = view.getInt8(start);
  if (type !== TIMESTAMP) throw new Error(`the extension ${type} is none that is known`);
  const size = end - start - 1;
  const nanoseconds = size === 12 ? view.getUint32(start + 1) : size === 8 ? view.getUint32(start + 1) >>> 2 : 0;
  if (![4, 8, 12].includes(size) || nanoseconds > 999_999_999) throw new Error("a timestamp is none");
}

/** How many bytes a value takes before the items in it, and how many of these there are. */
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

/** A format, a length of 1, 2 or 4 bytes, and as many bytes. */
function sized(view: DataView, offset: number, width: number): number {
  if (width === 0) return 2 + view.getUint8(offset + 1);
  return width === 1 ? 3 + view.getUint16(offset + 1) : 5 + view.getUint32(offset + 1);
}
