/**
 * The scalar types of protobuf, and how their values are written. What is no value of its type is refused without a word
 * on what is wrong with it.
 */
import { ScalarType } from "@bufbuild/protobuf";
import { FLOAT32_MAX, WireType } from "@bufbuild/protobuf/wire";
import type { ProtoOutput } from "./writer.ts";

/** Thrown for what cannot be written. */
export const UNFIT: Error = new Error("not a value of its type");

/** How the values of a scalar type are written. */
export interface Scalar {
  readonly wireType: WireType;
  /** Throws {@link UNFIT} for what is not a value of the type. */
  readonly write: (output: ProtoOutput, value: unknown) => void;
}

const { Varint, Bit32, Bit64, LengthDelimited } = WireType;

export const scalars: Readonly<Record<ScalarType, Scalar>> = {
  [ScalarType.DOUBLE]: {
    wireType: Bit64,
    write(output, value) {
      if (typeof value !== "number") throw UNFIT;
      output.double(value);
    },
  },
  [ScalarType.FLOAT]: {
    wireType: Bit32,
    write(output, value) {
      if (typeof value !== "number" || (Math.abs(value) > FLOAT32_MAX && Number.isFinite(value))) throw UNFIT;
      output.float(value);
    },
  },
  [ScalarType.INT64]: { wireType: Varint, write: (output, value) => writeInt64(output, int64(value)) },
  [ScalarType.UINT64]: { wireType: Varint, write: (output, value) => writeInt64(output, uint64(value)) },
  [ScalarType.INT32]: {
    wireType: Varint,
    write(output, value) {
      const number = int32(value);
      if (number >= 0) output.varint(number);
      else output.varint64(number >>> 0, 0xffffffff);
    },
  },
  [ScalarType.FIXED64]: { wireType: Bit64, write: (output, value) => output.fixed64(uint64(value)) },
  [ScalarType.FIXED32]: { wireType: Bit32, write: (output, value) => output.fixed32(uint32(value)) },
  [ScalarType.BOOL]: {
    wireType: Varint,
    write(output, value) {
      if (typeof value !== "boolean") throw UNFIT;
      output.varint(value ? 1 : 0);
    },
  },
  [ScalarType.STRING]: {
    wireType: LengthDelimited,
    write(output, value) {
      if (typeof value !== "string") throw UNFIT;
      output.string(value);
    },
  },
  [ScalarType.BYTES]: {
    wireType: LengthDelimited,
    write(output, value) {
      if (!(value instanceof Uint8Array)) throw UNFIT;
      output.varint(value.length);
      output.raw(value);
    },
  },
  [ScalarType.UINT32]: { wireType: Varint, write: (output, value) => output.varint(uint32(value)) },
  [ScalarType.SFIXED32]: { wireType: Bit32, write: (output, value) => output.fixed32(int32(value)) },
  [ScalarType.SFIXED64]: { wireType: Bit64, write: (output, value) => output.fixed64(int64(value)) },
  [ScalarType.SINT32]: {
    wireType: Varint,
    write(output, value) {
      const number = int32(value);
      output.varint(((number << 1) ^ (number >> 31)) >>> 0);
    },
  },
  [ScalarType.SINT64]: {
    wireType: Varint,
    write(output, value) {
      const number = int64(value);
      writeInt64(output, (number << 1n) ^ (number >> 63n));
    },
  },
};

function int32(value: unknown): number {
  if (typeof value !== "number" || (value | 0) !== value) throw UNFIT;
  return value;
}

function uint32(value: unknown): number {
  if (typeof value !== "number" || value >>> 0 !== value) throw UNFIT;
  return value;
}

function int64(value: unknown): bigint {
  if (typeof value !== "bigint" || BigInt.asIntN(64, value) !== value) throw UNFIT;
  return value;
}

function uint64(value: unknown): bigint {
  if (typeof value !== "bigint" || BigInt.asUintN(64, value) !== value) throw UNFIT;
  return value;
}

const halves = new DataView(new ArrayBuffer(8));

function writeInt64(output: ProtoOutput, value: bigint): void {
  halves.setBigUint64(0, value);
  output.varint64(halves.getUint32(4), halves.getUint32(0));
}
