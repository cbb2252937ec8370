/**
 * A slab: memory into which messages are written one after another. They are returned as views of it, because allocating an
 * array for each would cost more than encoding a small message. Bytes that have been returned are never written again.
 */

const SIZE = 16 * 1024;
/**
 * Large messages that use less than this fraction of their reserved memory are copied out of it: three times the length
 * of text is reserved, and a response that is not read should hold no more memory than its size.
 */
const LEAST_FILLED = 3 / 4;

/** Writes messages into a slab. Functions write the fields, so that a bundle has those only that its messages need. */
export class MessageWriter {
  /** The memory that is written to. */
  declare bytes: Uint8Array;
  /** A view of the same memory, for numbers of fixed size. */
  declare view: DataView;
  /** The offset at which the message begins. */
  declare start: number;
  /** The offset of the next byte to write. */
  declare pos: number;

  /** Allocates a slab. */
  constructor() {
    allocate(this, SIZE);
  }
}

/** Ends the message. Returns its bytes, including the headroom. */
export function finishMessage(writer: MessageWriter): Uint8Array {
  const {
    view: { buffer, byteLength },
    start,
    pos,
  } = writer;
  // The getter of a `DataView` is fast. `subarray` of the bytes would take twice as long.
  const result = new Uint8Array(buffer, start, pos - start);
  writer.start = pos;
  if (byteLength <= SIZE) return result;
  // Small messages must not keep the memory of a large one.
  allocate(writer, SIZE);
  return pos - start < byteLength * LEAST_FILLED ? result.slice() : result;
}

/** Reserves `size` more bytes. Throws if it is no number: all later messages would be written to the offset NaN. */
export function reserve(writer: MessageWriter, size: number): void {
  if (!(writer.pos + size <= writer.bytes.length)) grow(writer, size);
}

/** Moves the message to a larger slab. It is a separate function, so that {@link reserve} is small enough to be inlined. */
function grow(writer: MessageWriter, size: number): void {
  const { bytes, start, pos } = writer;
  const length = pos - start;
  allocate(writer, Math.max(SIZE, 2 * length, length + size));
  writer.bytes.set(bytes.subarray(start, pos));
  writer.pos = length;
}

/** On Node, memory that is not set to zero first, which costs a large message as much as copying it. */
function allocate(writer: MessageWriter, size: number): void {
  // The constructor takes a buffer or a length, but has no type for either.
  writer.bytes = new Uint8Array((globalThis.Buffer?.allocUnsafeSlow(size).buffer ?? size) as ArrayBuffer);
  writer.view = new DataView(writer.bytes.buffer);
  writer.start = 0;
  writer.pos = 0;
}
