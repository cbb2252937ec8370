/**
 * Memory that messages are written into one behind the other, in protobuf's binary format. Values that do not fit their
 * type are refused without a word on what is wrong with them.
 */
import { ScalarType } from "@bufbuild/protobuf";
import { FLOAT32_MAX, WireType } from "@bufbuild/protobuf/wire";

/** Thrown for what cannot be written. */
export const UNFIT: Error = new Error("not a value of its type");

/** Memory is taken in pieces of this size, or as large as a message. */
const SLAB_BYTES = 16 * 1024;
/** With less left than this, the next message starts in memory of its own. */
const SMALL_BYTES = 256;

export class ProtoOutput {
  #bytes = Buffer.alloc(0);
  #view = new DataView(this.#bytes.buffer);
  /** Where the message that is being written starts and, so far, ends. */
  #start = 0;
  #end = 0;

  /** Starts a message. What was written of the one before, if it was not taken, is given up. */
  begin(): void {
    this.#end = this.#start;
    this.#reserve(SMALL_BYTES);
  }

  /** The message that has been written. It will not be written to again. */
  take(): Uint8Array {
    const message = new Uint8Array(this.#bytes.buffer, this.#start, this.#end - this.#start);
    this.#start = this.#end;
    return message;
  }

  /** Makes room behind what has been written; in new memory, if need be, to which only this message moves. */
  #reserve(size: number): void {
    if (this.#end + size <= this.#bytes.length) return;
    const written = this.#end - this.#start;
    const bytes = Buffer.allocUnsafeSlow(Math.max(SLAB_BYTES, written + size, 2 * written));
    this.#bytes.copy(bytes, 0, this.#start, this.#end);
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer);
    this.#start = 0;
    this.#end = written;
  }

  /** An unsigned number of 32 bits. */
  varint(value: number): void {
    this.#reserve(5);
    let rest = value;
    while (rest > 0x7f) {
      this.#bytes[this.#end++] = (rest & 0x7f) | 0x80;
      rest >>>= 7;
    }
    this.#bytes[this.#end++] = rest;
  }

  /** A number of 64 bits, in two unsigned halves. */
  varint64(low: number, high: number): void {
    this.#reserve(10);
    let lower = low;
    let upper = high;
    while (upper > 0) {
      this.#bytes[this.#end++] = (lower & 0x7f) | 0x80;
      lower = ((lower >>> 7) | (upper << 25)) >>> 0;
      upper >>>= 7;
    }
    this.varint(lower);
  }

  fixed32(value: number): void {
    this.#reserve(4);
    this.#view.setUint32(this.#end, value, true);
    this.#end += 4;
  }

  fixed64(value: bigint): void {
    this.#reserve(8);
    this.#view.setBigUint64(this.#end, value, true);
    this.#end += 8;
  }

  float(value: number): void {
    this.#reserve(4);
    this.#view.setFloat32(this.#end, value, true);
    this.#end += 4;
  }

  double(value: number): void {
    this.#reserve(8);
    this.#view.setFloat64(this.#end, value, true);
    this.#end += 8;
  }

  raw(value: Uint8Array): void {
    this.#reserve(value.length);
    this.#bytes.set(value, this.#end);
    this.#end += value.length;
  }

  /** The text in UTF-8, behind its length. */
  string(value: string): void {
    const { length } = value;
    // A unit of UTF-16 takes up to three bytes.
    this.#reserve(MAX_LENGTH_BYTES + 3 * length);
    const start = this.open();
    if (length > SHORT_TEXT || !this.#writeAscii(value)) this.#end += this.#bytes.write(value, this.#end);
    this.close(start);
  }

  /** Short text is written sooner than handed over to be written. Says whether it was ASCII; if not, nothing is written. */
  #writeAscii(value: string): boolean {
    const bytes = this.#bytes;
    const end = this.#end;
    for (let i = 0; i < value.length; i++) {
      const character = value.charCodeAt(i);
      if (character > 0x7f) return false;
      bytes[end + i] = character;
    }
    this.#end = end + value.length;
    return true;
  }

  /** Leaves a byte for the length of what follows, and tells where it begins. */
  open(): number {
    this.#reserve(1);
    this.#end++;
    return this.#end - this.#start;
  }

  /** Puts in the length of what has followed since; what is longer than a byte can say moves on. */
  close(start: number): void {
    const from = this.#start + start;
    const length = this.#end - from;
    if (length < 0x80) {
      this.#bytes[from - 1] = length;
      return;
    }
    const more = length < 0x4000 ? 1 : length < 0x200000 ? 2 : length < 0x10000000 ? 3 : 4;
    this.#reserve(more);
    const base = this.#start + start;
    this.#bytes.copyWithin(base + more, base, this.#end);
    const end = this.#end + more;
    this.#end = base - 1;
    this.varint(length);
    this.#end = end;
  }
}

const MAX_LENGTH_BYTES = 5;
const SHORT_TEXT = 32;

/** How the values of a scalar type are written. */
export interface Scalar {
  readonly wireType: WireType;
  /** Throws {@link UNFIT} for what is not a value of the type. */
  readonly write: (output: ProtoOutput, value: unknown) => void;
}

function scalar<T>(
  wireType: WireType,
  fits: (value: unknown) => value is T,
  write: (output: ProtoOutput, value: T) => void,
): Scalar {
  return {
    wireType,
    write: (output, value) => {
      if (!fits(value)) throw UNFIT;
      write(output, value);
    },
  };
}

const isInt32 = (value: unknown): value is number => typeof value === "number" && (value | 0) === value;
const isUint32 = (value: unknown): value is number => typeof value === "number" && value >>> 0 === value;
const isInt64 = (value: unknown): value is bigint => typeof value === "bigint" && BigInt.asIntN(64, value) === value;
const isUint64 = (value: unknown): value is bigint => typeof value === "bigint" && BigInt.asUintN(64, value) === value;
const isDouble = (value: unknown): value is number => typeof value === "number";
const isFloat = (value: unknown): value is number =>
  typeof value === "number" && (Math.abs(value) <= FLOAT32_MAX || !Number.isFinite(value));

function writeInt32(output: ProtoOutput, value: number): void {
  if (value >= 0) output.varint(value);
  else output.varint64(value >>> 0, 0xffffffff);
}

const halves = new DataView(new ArrayBuffer(8));

function writeInt64(output: ProtoOutput, value: bigint): void {
  halves.setBigUint64(0, value);
  output.varint64(halves.getUint32(4), halves.getUint32(0));
}

const { Varint, Bit32, Bit64, LengthDelimited } = WireType;

export const scalars: Readonly<Record<ScalarType, Scalar>> = {
  [ScalarType.DOUBLE]: scalar(Bit64, isDouble, (output, value) => output.double(value)),
  [ScalarType.FLOAT]: scalar(Bit32, isFloat, (output, value) => output.float(value)),
  [ScalarType.INT64]: scalar(Varint, isInt64, writeInt64),
  [ScalarType.UINT64]: scalar(Varint, isUint64, writeInt64),
  [ScalarType.INT32]: scalar(Varint, isInt32, writeInt32),
  [ScalarType.FIXED64]: scalar(Bit64, isUint64, (output, value) => output.fixed64(value)),
  [ScalarType.FIXED32]: scalar(Bit32, isUint32, (output, value) => output.fixed32(value)),
  [ScalarType.BOOL]: scalar(
    Varint,
    (value) => typeof value === "boolean",
    (output, value) => output.varint(Number(value)),
  ),
  [ScalarType.STRING]: scalar(
    LengthDelimited,
    (value) => typeof value === "string",
    (output, value) => output.string(value),
  ),
  [ScalarType.BYTES]: scalar(
    LengthDelimited,
    (value) => value instanceof Uint8Array,
    (output, value) => {
      output.varint(value.length);
      output.raw(value);
    },
  ),
  [ScalarType.UINT32]: scalar(Varint, isUint32, (output, value) => output.varint(value)),
  [ScalarType.SFIXED32]: scalar(Bit32, isInt32, (output, value) => output.fixed32(value >>> 0)),
  [ScalarType.SFIXED64]: scalar(Bit64, isInt64, (output, value) => output.fixed64(value)),
  [ScalarType.SINT32]: scalar(Varint, isInt32, (output, value) => output.varint(((value << 1) ^ (value >> 31)) >>> 0)),
  [ScalarType.SINT64]: scalar(Varint, isInt64, (output, value) => writeInt64(output, (value << 1n) ^ (value >> 63n))),
};
