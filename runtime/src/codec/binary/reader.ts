/**
 * Reader of protobuf's binary format for generated codecs. It accepts and rejects the same input as protobuf-es, which is the
 * oracle of its property tests.
 *
 * A nested message is read from the same reader up to an offset, so that it needs no object of its own.
 */
import { RECURSION_LIMIT } from "./limits.ts";
import { fail } from "./numbers.ts";
import { advance, bytesSince, delimited, type MessageReader, readVarint32 } from "./scalar-reader.ts";
import { encodeInto, type UnknownField, writeInt32 } from "./writer.ts";

/** The default of bytes fields. It is shared, because it has no bytes that could be changed. */
export const EMPTY_BYTES: Uint8Array = new Uint8Array(0);

/**
 * Begins a message that ends at the offset `end` or, if `end` is negative, at the end of the group with the field number
 * `-end`. Returns the offset up to which to read. Throws if messages are nested too deeply.
 */
export function enterMessage(reader: MessageReader, typeName: string, end: number): number {
  if (++reader.depth > RECURSION_LIMIT) tooDeep(typeName);
  return end < 0 ? reader.length : end;
}

/** Ends the message that {@link enterMessage} began. Throws if a group has no matching end tag. */
export function leaveMessage(reader: MessageReader, end: number): void {
  reader.depth--;
  if (end >= 0) return;
  checkGroup(reader.groupEnded);
  reader.groupEnded = false;
}

/** Reads a tag: the field number, shifted by three, and the wire type. Generated code decides by the field number only. */
export function readTag(reader: MessageReader): number {
  const start = reader.pos;
  const tag = readVarint32(reader);
  // A tag has at most 32 bits: four of its fifth byte.
  const isTooLong = reader.pos - start > 4 && (reader.bytes[start + 4] as number) > 0x0f;
  if (tag < 8 || (tag & 7) > 5 || isTooLong) fail(`illegal tag ${tag}`);
  return tag;
}

/** Skips a field after its tag. Returns the bytes of its value. */
export function skipField(reader: MessageReader, tag: number): Uint8Array {
  const start = reader.pos;
  skip(reader, tag, reader.depth);
  return bytesSince(reader, start);
}

/** Skips a field that the schema does not have, and adds it to the unknown fields. */
export function readUnknown(reader: MessageReader, fields: UnknownField[] | undefined, tag: number): UnknownField[] {
  return addUnknown(fields, tag, skipField(reader, tag));
}

/** Adds a number that a closed enum does not have to the unknown fields. */
export function unknownEnum(fields: UnknownField[] | undefined, tag: number, value: number): UnknownField[] {
  return addUnknown(fields, tag, encodeInto((writer) => writeInt32(writer, 0, value), undefined, 0).slice());
}

/** Adds an unknown field to the list of a message and returns the list. The list is created for the first unknown field. */
function addUnknown(fields: UnknownField[] = [], tag: number, data: Uint8Array): UnknownField[] {
  fields.push({ no: tag >>> 3, wireType: tag & 7, data });
  return fields;
}

/** Reports whether the tag ends the group with the field number `no`. Throws for the end tag of another group. */
export function endsGroup(reader: MessageReader, tag: number, no: number): boolean {
  // The wire type 4 is the end of a group.
  if ((tag & 7) !== 4) return false;
  checkGroup(tag >>> 3 === no);
  reader.groupEnded = true;
  return true;
}

function skip(reader: MessageReader, tag: number, depth: number): void {
  switch (tag & 7) {
    case 0:
      while ((reader.bytes[advance(reader, 1)] as number) > 0x7f);
      break;
    case 1:
      advance(reader, 8);
      break;
    case 2:
      delimited(reader);
      break;
    case 3:
      if (depth >= RECURSION_LIMIT) tooDeep("group");
      for (let inner = readTag(reader); !endsGroup(reader, inner, tag >>> 3); inner = readTag(reader)) {
        skip(reader, inner, depth + 1);
      }
      reader.groupEnded = false;
      break;
    case 5:
      advance(reader, 4);
      break;
    default:
      checkGroup(false);
  }
}

function tooDeep(name: string): never {
  fail(`${name}: nested deeper than ${RECURSION_LIMIT} levels`);
}

function checkGroup(isRight: boolean): void {
  if (!isRight) fail("mismatched end of a group");
}
