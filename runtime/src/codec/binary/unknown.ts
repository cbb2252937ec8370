/** Unknown fields: those that the reader's schema does not have, as protobuf-es keeps them in `$unknown`. */

export interface UnknownField {
  readonly no: number;
  readonly wireType: number;
  readonly data: Uint8Array;
}

/** Adds an unknown field to the list of a message and returns the list. The list is created for the first unknown field. */
export function addUnknown(fields: UnknownField[] | undefined, tag: number, data: Uint8Array): UnknownField[] {
  const field = { no: tag >>> 3, wireType: tag & 7, data };
  if (fields === undefined) return [field];
  fields.push(field);
  return fields;
}

/** Encodes a signed 32-bit number as a varint, of ten bytes if it is negative. */
export function varint32(value: number): Uint8Array {
  const bytes: number[] = [];
  let rest = value;
  if (value < 0) {
    for (; bytes.length < 9; rest >>= 7) bytes.push((rest & 0x7f) | 0x80);
    bytes.push(1);
  } else {
    for (; rest > 0x7f; rest >>>= 7) bytes.push((rest & 0x7f) | 0x80);
    bytes.push(rest);
  }
  return Uint8Array.from(bytes);
}
