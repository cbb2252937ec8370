/** Conversion of field values to numbers: accepts and rejects the same values as protobuf-es, and throws for rejected ones. */

/** Memory for one number of eight bytes. Views of it are faster than the methods of `DataView` for 64-bit integers. */
const memory = /*@__PURE__*/ new ArrayBuffer(8);
export const signed: BigInt64Array = /*@__PURE__*/ new BigInt64Array(memory);
export const unsigned: BigUint64Array = /*@__PURE__*/ new BigUint64Array(memory);
export const doubles: Float64Array = /*@__PURE__*/ new Float64Array(memory);
export const floats: Float32Array = /*@__PURE__*/ new Float32Array(memory);
/** The halves of the number. Their indexes, {@link LOW} and {@link HIGH}, depend on the byte order of the machine. */
export const words: Int32Array = /*@__PURE__*/ new Int32Array(memory);
export const HIGH: number = new Int32Array(Float64Array.of(1).buffer)[0] === 0 ? 1 : 0;
export const LOW: number = 1 - HIGH;

/** Converts a number or string to a signed 32-bit integer. */
export function toInt32(value: unknown): number {
  return ((value as number) | 0) === value ? (value as number) : toInteger(value, -0x80000000);
}

/** Converts a number or string to an unsigned 32-bit integer. */
export function toUint32(value: unknown): number {
  return (value as number) >>> 0 === value ? (value as number) : toInteger(value, 0);
}

/** Converts a number or string to a 32-bit integer that is at least `min`. */
function toInteger(value: unknown, min: number): number {
  const number = typeof value === "string" ? Number(value) : value;
  if (Number.isInteger(number) && (number as number) >= min && (number as number) <= min + 0xffffffff) {
    return number as number;
  }
  return invalid(min < 0 ? "int32" : "uint32", value);
}

/** Converts a number or string to a number in the range of a 32-bit float, infinities and NaN included. */
export function toFloat(value: unknown): number {
  const number = typeof value === "string" ? Number(value) : value;
  const isText = typeof value === "string" && value !== "NaN" && Number.isNaN(number);
  if (typeof number === "number" && !isText && Number.isFinite(Math.fround(number)) === Number.isFinite(number)) {
    return number;
  }
  return invalid("float", value);
}

/** Converts to a 64-bit integer in `view`, which is {@link signed} or {@link unsigned}, and thereby in {@link words}. */
export function toLong(value: bigint | string | number, view: BigInt64Array | BigUint64Array): void {
  const long = typeof value === "bigint" ? value : BigInt(value);
  view[0] = long;
  if (view[0] !== long) invalid(view === signed ? "int64" : "uint64", value);
}

/** Throws the error of a value that a field of the type cannot have. */
export function invalid(type: string, value: unknown): never {
  fail(`invalid ${type}: ${value}`);
}

/** The error of values that cannot be encoded, and of bytes that cannot be decoded. */
export function fail(message: string): never {
  throw new Error(message);
}
