/**
 * Reader of protobuf's binary format for generated codecs: a cursor over received bytes. It accepts and rejects the same
 * input as protobuf-es, which is the oracle of its property tests.
 *
 * A nested message is read from the same reader up to an offset, so that it needs no object of its own.
 */
import { ScalarReader } from "./scalar-reader.ts";
import { addUnknown, type UnknownField } from "./unknown.ts";
import { encodeInto } from "./writer.ts";

/** Messages that are nested deeper than this are rejected, as in protobuf-es and protobuf's own implementations. */
const RECURSION_LIMIT = 100;
const END_GROUP = 4;

/** The default of bytes fields. It is shared, because it has no bytes that could be changed. */
export const EMPTY_BYTES: Uint8Array = new Uint8Array(0);

export class MessageReader extends ScalarReader {
  #depth = 0;
  #groupEnded = false;

  /**
   * Begins a message that ends at the offset `end` or, if `end` is negative, at the end of the group with the field number
   * `-end`. Returns the offset up to which to read. Throws if messages are nested too deeply.
   */
  enter(typeName: string, end: number): number {
    if (++this.#depth > RECURSION_LIMIT) throw tooDeep(typeName);
    return end < 0 ? this.length : end;
  }

  /** Ends the message that {@link enter} began. Throws if a group has no matching end tag. */
  leave(end: number): void {
    this.#depth--;
    if (end < 0) {
      checkGroup(this.#groupEnded);
      this.#groupEnded = false;
    }
  }

  /** Reads a tag: the field number, shifted by three, and the wire type. Generated code decides by the field number only. */
  tag(): number {
    const start = this.pos;
    const byte = this.bytes[start] as number;
    if (byte > 7 && byte < 0x80 && (byte & 7) < 6) {
      this.pos = start + 1;
      return byte;
    }
    const tag = this.uint32();
    const size = this.pos - start;
    // A tag has at most 32 bits: four of its fifth byte.
    const isTooLong = size > 4 && (size > 5 || (this.bytes[start + 4] as number) > 0x0f);
    if (isTooLong || tag < 8 || (tag & 7) > 5) throw new Error(`illegal tag ${tag}`);
    return tag;
  }

  /** Skips a field after its tag. Returns the bytes of its value. */
  skip(tag: number): Uint8Array {
    const start = this.pos;
    this.#skip(tag, this.#depth);
    return this.slice(start);
  }

  /** Skips a field that the schema does not have, and adds it to the unknown fields. */
  unknown(fields: UnknownField[] | undefined, tag: number): UnknownField[] {
    return addUnknown(fields, tag, this.skip(tag));
  }

  /** Adds a number that a closed enum does not have to the unknown fields. */
  unknownEnum(fields: UnknownField[] | undefined, tag: number, value: number): UnknownField[] {
    return addUnknown(fields, tag, encodeInto((writer) => writer.int32(0, value), undefined, 0).slice());
  }

  /** Reports whether the tag ends the group with the field number `no`. Throws for the end tag of another group. */
  endsGroup(tag: number, no: number): boolean {
    if ((tag & 7) !== END_GROUP) return false;
    checkGroup(tag >>> 3 === no);
    this.#groupEnded = true;
    return true;
  }

  #skip(tag: number, depth: number): void {
    switch (tag & 7) {
      case 0:
        while ((this.bytes[this.advance(1)] as number) > 0x7f);
        break;
      case 1:
        this.advance(8);
        break;
      case 2:
        this.advance(this.uint32());
        break;
      case 3:
        if (depth >= RECURSION_LIMIT) throw tooDeep("group");
        for (let inner = this.tag(); !this.endsGroup(inner, tag >>> 3); inner = this.tag())
          this.#skip(inner, depth + 1);
        this.#groupEnded = false;
        break;
      case 5:
        this.advance(4);
        break;
      default:
        throw new Error("unexpected end of a group");
    }
  }
}

function tooDeep(name: string): Error {
  return new Error(`${name}: messages are nested in more than ${RECURSION_LIMIT} levels`);
}

function checkGroup(isEnded: boolean): void {
  if (!isEnded) throw new Error("a group has no end tag");
}
