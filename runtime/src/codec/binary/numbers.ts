/** Conversion of field values to numbers: accepts and rejects the same values as protobuf-es, and throws for rejected ones. */

/** A buffer for numbers of several bytes, in little-endian order. */
export const scratch: DataView = new DataView(new ArrayBuffer(8));

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
  throw invalid(min < 0 ? "int32" : "uint32", value);
}

/** Converts a number or string to a number in the range of a 32-bit float, infinities and NaN included. */
export function toFloat(value: unknown): number {
  const number = typeof value === "string" ? Number(value) : value;
  const isText = typeof value === "string" && value !== "NaN" && Number.isNaN(number);
  if (typeof number === "number" && !isText && Number.isFinite(Math.fround(number)) === Number.isFinite(number)) {
    return number;
  }
  throw invalid("float", value);
}

/** Converts to a 64-bit integer, in a buffer that the next call overwrites. */
export function toLong(value: bigint | string | number, isSigned: boolean): DataView {
  const long = typeof value === "bigint" ? value : BigInt(value);
  scratch.setBigInt64(0, long, true);
  if ((isSigned ? scratch.getBigInt64(0, true) : scratch.getBigUint64(0, true)) === long) return scratch;
  throw invalid(isSigned ? "int64" : "uint64", value);
}

function invalid(type: string, value: unknown): Error {
  return new Error(`invalid ${type}: ${String(value)}`);
}
