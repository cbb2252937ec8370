/**
 * Reader of protobuf's binary format for generated codecs: a cursor over received bytes. Accepts and refuses exactly what
 * protobuf-es does, which is the oracle of its property tests.
 *
 * A nested message is read from the same reader up to an offset, so that it needs no object of its own.
 */

/** A field that the reader's schema does not have, as protobuf-es keeps it in `$unknown`. */
export interface UnknownField {
  readonly no: number;
  readonly wireType: number;
  readonly data: Uint8Array;
}

/** Messages nested deeper than this are refused, as in protobuf-es and protobuf's own implementations. */
const RECURSION_LIMIT = 100;
/** Up to this length ASCII strings are built here; above it `TextDecoder` is faster. */
const SHORT_STRING = 32;

const END_GROUP = 4;
const text = new TextDecoder("utf-8", { ignoreBOM: true });
const strictText = new TextDecoder("utf-8", { ignoreBOM: true, fatal: true });

/** The default of bytes fields. Shared: it has no bytes that anyone could change. */
export const EMPTY_BYTES: Uint8Array = new Uint8Array(0);

export class MessageReader {
  readonly bytes: Uint8Array;
  /** Offset of the next byte to read. May pass `length` by a malformed length; the next read then fails. */
  pos = 0;
  readonly length: number;
  #depth = 0;
  #groupEnded = false;
  /** The lower and upper half of the last 64-bit varint. */
  #low = 0;
  #high = 0;
  #view: DataView | undefined;

  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
    this.length = bytes.length;
  }

  /**
   * Begins a message that ends at an offset or, where `end` is negative, at the end of the group with the field number
   * `-end`. Returns the offset up to which to read. Throws where messages are nested too deeply.
   */
  enter(typeName: string, end: number): number {
    if (++this.#depth > RECURSION_LIMIT) {
      throw new Error(
        `cannot decode message ${typeName} from binary: maximum recursion depth of ${RECURSION_LIMIT} reached`,
      );
    }
    return end < 0 ? this.length : end;
  }

  /** Ends what {@link enter} began. Throws where a group has not been ended by its tag. */
  leave(end: number): void {
    this.#depth--;
    if (end >= 0) return;
    if (!this.#groupEnded) throw new Error("invalid end group tag");
    this.#groupEnded = false;
  }

  /** The field number, shifted by three, and the wire type. A field's number alone decides how it is read. */
  tag(): number {
    const start = this.pos;
    const tag = this.uint32();
    const size = this.pos - start;
    if (size > 4 && (size > 5 || (this.bytes[this.pos - 1] as number) > 0x0f)) {
      throw new Error("illegal tag: varint overflows uint32");
    }
    if (tag < 8 || (tag & 7) > 5) throw new Error(`illegal tag: field no ${tag >>> 3} wire type ${tag & 7}`);
    return tag;
  }

  /** Reads a length, and returns the offset at which what follows ends. */
  end(): number {
    const length = this.uint32();
    return this.pos + length;
  }

  /** A varint of up to ten bytes, of which the lower 32 bits count. */
  uint32(): number {
    const { bytes } = this;
    let byte = bytes[this.pos++] as number;
    if (byte < 0x80) return byte;
    let value = byte & 0x7f;
    byte = bytes[this.pos++] as number;
    value |= (byte & 0x7f) << 7;
    if (byte < 0x80) return value;
    byte = bytes[this.pos++] as number;
    value |= (byte & 0x7f) << 14;
    if (byte < 0x80) return value;
    byte = bytes[this.pos++] as number;
    value |= (byte & 0x7f) << 21;
    if (byte < 0x80) return value;
    byte = bytes[this.pos++] as number;
    value |= (byte & 0x0f) << 28;
    for (let size = 5; byte >= 0x80 && size < 10; size++) byte = bytes[this.pos++] as number;
    if (byte >= 0x80) throw new Error("invalid varint");
    this.#checkBounds();
    return value >>> 0;
  }

  int32(): number {
    return this.uint32() | 0;
  }

  sint32(): number {
    const value = this.uint32();
    return (value >>> 1) ^ -(value & 1);
  }

  /** An enum's number, whether the enum has it or not. */
  enum<Value extends number>(): Value {
    return (this.uint32() | 0) as Value;
  }

  bool(): boolean {
    const byte = this.bytes[this.pos] as number;
    if (byte < 0x80) {
      this.pos++;
      return byte !== 0;
    }
    this.#varint64();
    return this.#low !== 0 || this.#high !== 0;
  }

  int64(): bigint {
    this.#varint64();
    return signed(this.#low, this.#high);
  }

  uint64(): bigint {
    this.#varint64();
    return unsigned(this.#low, this.#high);
  }

  sint64(): bigint {
    this.#varint64();
    const sign = -(this.#low & 1);
    const low = ((this.#low >>> 1) | ((this.#high & 1) << 31)) ^ sign;
    return signed(low, (this.#high >>> 1) ^ sign);
  }

  fixed32(): number {
    const value = this.#dataView().getUint32(this.pos, true);
    this.pos += 4;
    return value;
  }

  sfixed32(): number {
    const value = this.#dataView().getInt32(this.pos, true);
    this.pos += 4;
    return value;
  }

  fixed64(): bigint {
    const value = this.#dataView().getBigUint64(this.pos, true);
    this.pos += 8;
    return value;
  }

  sfixed64(): bigint {
    const value = this.#dataView().getBigInt64(this.pos, true);
    this.pos += 8;
    return value;
  }

  float(): number {
    const value = this.#dataView().getFloat32(this.pos, true);
    this.pos += 4;
    return value;
  }

  double(): number {
    const value = this.#dataView().getFloat64(this.pos, true);
    this.pos += 8;
    return value;
  }

  /** A view of the received bytes: nothing is copied. */
  data(): Uint8Array {
    const length = this.uint32();
    const start = this.pos;
    this.pos += length;
    this.#checkBounds();
    return this.#slice(start);
  }

  /** Text in UTF-8. Throws for anything else, as proto3 wants it. */
  string(): string {
    const length = this.uint32();
    const start = this.pos;
    this.pos += length;
    this.#checkBounds();
    return this.#ascii(start, length) ?? strictText.decode(this.bytes.subarray(start, this.pos));
  }

  /** Text in UTF-8, with U+FFFD for anything else, as proto2 wants it. */
  lenientString(): string {
    const length = this.uint32();
    const start = this.pos;
    this.pos += length;
    this.#checkBounds();
    return this.#ascii(start, length) ?? text.decode(this.bytes.subarray(start, this.pos));
  }

  /** Skips a field after its tag, and returns its bytes. */
  skip(tag: number): Uint8Array {
    const start = this.pos;
    this.#skip(tag, RECURSION_LIMIT - this.#depth);
    return this.#slice(start);
  }

  /** Adds a field to those that the schema does not have. */
  unknown(fields: UnknownField[] | undefined, tag: number): UnknownField[] {
    const field = { no: tag >>> 3, wireType: tag & 7, data: this.skip(tag) };
    if (fields === undefined) return [field];
    fields.push(field);
    return fields;
  }

  /** Adds a number that a closed enum does not have to the fields that the schema does not have. */
  unknownEnum(fields: UnknownField[] | undefined, tag: number, value: number): UnknownField[] {
    const field = { no: tag >>> 3, wireType: tag & 7, data: varint32(value) };
    if (fields === undefined) return [field];
    fields.push(field);
    return fields;
  }

  /** Whether the tag ends the group that was entered with `-no`. A tag that ends another group is an error. */
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
    this.#checkBounds();
  }

  #varint64(): void {
    const { bytes } = this;
    let low = 0;
    for (let shift = 0; shift < 28; shift += 7) {
      const byte = bytes[this.pos++] as number;
      low |= (byte & 0x7f) << shift;
      if (!(byte >= 0x80)) {
        this.#setVarint64(low, 0);
        return;
      }
    }
    const middle = bytes[this.pos++] as number;
    low |= (middle & 0x0f) << 28;
    let high = (middle & 0x70) >> 4;
    if (!(middle >= 0x80)) {
      this.#setVarint64(low, high);
      return;
    }
    for (let shift = 3; shift <= 31; shift += 7) {
      const byte = bytes[this.pos++] as number;
      high |= (byte & 0x7f) << shift;
      if (!(byte >= 0x80)) {
        this.#setVarint64(low, high);
        return;
      }
    }
    throw new Error("invalid varint");
  }

  #setVarint64(low: number, high: number): void {
    this.#checkBounds();
    this.#low = low;
    this.#high = high;
  }

  /** Built eight characters at a time, without a call into the engine's C++; `undefined` for what is long or not ASCII. */
  #ascii(start: number, length: number): string | undefined {
    if (length > SHORT_STRING) return undefined;
    const { bytes } = this;
    const { fromCharCode } = String;
    let result = "";
    let at = start;
    const end = start + length;
    for (; at + 8 <= end; at += 8) {
      const a = bytes[at] as number;
      const b = bytes[at + 1] as number;
      const c = bytes[at + 2] as number;
      const d = bytes[at + 3] as number;
      const e = bytes[at + 4] as number;
      const f = bytes[at + 5] as number;
      const g = bytes[at + 6] as number;
      const h = bytes[at + 7] as number;
      if ((a | b | c | d | e | f | g | h) > 0x7f) return undefined;
      result += fromCharCode(a, b, c, d, e, f, g, h);
    }
    for (; at < end; at++) {
      const byte = bytes[at] as number;
      if (byte > 0x7f) return undefined;
      result += fromCharCode(byte);
    }
    return result;
  }

  /** A view of the bytes that have been read since `start`. */
  #slice(start: number): Uint8Array {
    const { buffer, byteOffset } = this.bytes;
    return new Uint8Array(buffer, byteOffset + start, this.pos - start);
  }

  #dataView(): DataView {
    const { buffer, byteOffset, byteLength } = this.bytes;
    this.#view ??= new DataView(buffer, byteOffset, byteLength);
    return this.#view;
  }

  #checkBounds(): void {
    if (this.pos > this.length) throw new RangeError("premature EOF");
  }
}

function checkEndGroup(tag: number, no: number): void {
  if (tag >>> 3 !== no) throw new Error("invalid end group tag");
}

function signed(low: number, high: number): bigint {
  if (high === 0) return BigInt(low >>> 0);
  if (high === -1 && low < 0) return BigInt(low);
  return (BigInt(high | 0) << 32n) | BigInt(low >>> 0);
}

function unsigned(low: number, high: number): bigint {
  return high === 0 ? BigInt(low >>> 0) : (BigInt(high >>> 0) << 32n) | BigInt(low >>> 0);
}

/** A signed 32-bit number as a varint, which has ten bytes for a negative one. */
function varint32(value: number): Uint8Array {
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
