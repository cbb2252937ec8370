/** Conversion of field values to numbers: accepts and rejects the same values as protobuf-es, and throws for rejected ones. */

const MAX_INT64 = 0x7fffffffffffffffn;
const MIN_INT64 = -0x8000000000000000n;
const MAX_UINT64 = 0xffffffffffffffffn;

/** Converts a number or string to a signed 32-bit integer. */
export function toInt32(value: unknown): number {
  return ((value as number) | 0) === value ? (value as number) : toInteger(value, -0x80000000, 0x7fffffff, "int32");
}

/** Converts a number or string to an unsigned 32-bit integer. */
export function toUint32(value: unknown): number {
  return (value as number) >>> 0 === value ? (value as number) : toInteger(value, 0, 0xffffffff, "uint32");
}

function toInteger(value: unknown, min: number, max: number, type: string): number {
  if (typeof value !== "number" && typeof value !== "string") throw new Error(`invalid ${type}: ${typeof value}`);
  const number = Number(value);
  if (!Number.isInteger(number) || number < min || number > max) throw new Error(`invalid ${type}: ${value}`);
  return number;
}

/** Converts a number or string to a number in the range of a 32-bit float, infinities and NaN included. */
export function toFloat(value: unknown): number {
  if (typeof value !== "number" && typeof value !== "string") throw new Error(`invalid float32: ${typeof value}`);
  const number = Number(value);
  const isNoNumber = Number.isNaN(number) && typeof value === "string" && value !== "NaN";
  if (isNoNumber || (Number.isFinite(number) && !Number.isFinite(Math.fround(number)))) {
    throw new Error(`invalid float32: ${value}`);
  }
  return number;
}

export function toInt64(value: bigint | string | number): bigint {
  const big = typeof value === "bigint" ? value : BigInt(value);
  if (big > MAX_INT64 || big < MIN_INT64) throw new Error(`invalid int64: ${value}`);
  return big;
}

export function toUint64(value: bigint | string | number): bigint {
  const big = typeof value === "bigint" ? value : BigInt(value);
  if (big > MAX_UINT64 || big < 0n) throw new Error(`invalid uint64: ${value}`);
  return big;
}
