/**
 * Reader of protobuf's binary format for generated codecs: a cursor over received bytes. It accepts and rejects the same
 * input as protobuf-es, which is the oracle of its property tests.
 *
 * A nested message is read from the same reader up to an offset, so that it needs no object of its own.
 */
import { ScalarReader } from "./scalar-reader.ts";
import { addUnknown, type UnknownField, varint32 } from "./unknown.ts";

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
    if (++this.#depth > RECURSION_LIMIT) {
      throw new Error(
        `cannot decode message ${typeName} from binary: maximum recursion depth of ${RECURSION_LIMIT} reached`,
      );
    }
    return end < 0 ? this.length : end;
  }

  /** Ends the message that {@link enter} began. Throws if a group has no matching end tag. */
  leave(end: number): void {
    this.#depth--;
    if (end >= 0) return;
    if (!this.#groupEnded) throw new Error("invalid end group tag");
    this.#groupEnded = false;
  }

  /** Reads a tag: the field number, shifted by three, and the wire type. Generated code decides by the field number only. */
  tag(): number {
    const tag = this.bytes[this.pos] as number;
    if (tag < 0x80 && tag > 7 && (tag & 7) < 6) {
      this.pos++;
      return tag;
    }
    return this.#longTag();
  }

  /** Skips a field after its tag. Returns the bytes of its value. */
  skip(tag: number): Uint8Array {
    const start = this.pos;
    this.#skip(tag, RECURSION_LIMIT - this.#depth);
    return this.slice(start);
  }

  /** Skips a field that the schema does not have, and adds it to the unknown fields. */
  unknown(fields: UnknownField[] | undefined, tag: number): UnknownField[] {
    return addUnknown(fields, tag, this.skip(tag));
  }

  /** Adds a number that a closed enum does not have to the unknown fields. */
  unknownEnum(fields: UnknownField[] | undefined, tag: number, value: number): UnknownField[] {
    return addUnknown(fields, tag, varint32(value));
  }

  /** Reports whether the tag ends the group with the field number `no`. Throws for the end tag of another group. */
  endsGroup(tag: number, no: number): boolean {
    if ((tag & 7) !== END_GROUP) return false;
    checkEndGroup(tag, no);
    this.#groupEnded = true;
    return true;
  }

  #skip(tag: number, depth: number): void {
    switch (tag & 7) {
      case 0:
        while ((this.bytes[this.pos++] as number) >= 0x80);
        break;
      case 1:
        this.pos += 8;
        break;
      case 2: {
        const length = this.uint32();
        this.pos += length;
        break;
      }
      case 3: {
        if (depth <= 0) throw new Error("maximum recursion depth reached");
        let inner = this.tag();
        for (; (inner & 7) !== END_GROUP; inner = this.tag()) this.#skip(inner, depth - 1);
        checkEndGroup(inner, tag >>> 3);
        break;
      }
      case 5:
        this.pos += 4;
        break;
      default:
        throw new Error(`cant skip wire type ${tag & 7}`);
    }
    this.checkBounds();
  }

  #longTag(): number {
    const start = this.pos;
    const tag = this.uint32();
    const size = this.pos - start;
    if (size > 4 && (size > 5 || (this.bytes[this.pos - 1] as number) > 0x0f)) {
      throw new Error("illegal tag: varint overflows uint32");
    }
    if (tag < 8 || (tag & 7) > 5) throw new Error(`illegal tag: field no ${tag >>> 3} wire type ${tag & 7}`);
    return tag;
  }
}

function checkEndGroup(tag: number, no: number): void {
  if (tag >>> 3 !== no) throw new Error("invalid end group tag");
}
