/** Unknown fields: those that the reader's schema does not have, as protobuf-es keeps them in `$unknown`. */

export interface UnknownField {
  /** The number of the field. */
  readonly no: number;
  /** The wire type, from 0 to 5. */
  readonly wireType: number;
  /** The encoded value, without its tag. */
  readonly data: Uint8Array;
}

/** Adds an unknown field to the list of a message and returns the list. The list is created for the first unknown field. */
export function addUnknown(fields: UnknownField[] | undefined, tag: number, data: Uint8Array): UnknownField[] {
  const list = fields ?? [];
  list.push({ no: tag >>> 3, wireType: tag & 7, data });
  return list;
}
