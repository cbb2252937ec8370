/**
 * The values of a message in Protobuf's binary format, counted in one scan of its tags, without decoding it. Like protobuf-es
 * and generated codecs, the scan reads a value by the type of its field, even if the wire type is different.
 */
import { type DescField, type DescMessage, ScalarType } from "@bufbuild/protobuf";
import { RECURSION_LIMIT } from "../binary/limits.ts";
import { fieldUnits, indexUnits, largestKey, messageUnits, Units, type ValueCount } from "./values.ts";

/** Encodings of a field's value. */
const Read = { varint: 0, zigzag: 1, fixed32: 2, fixed64: 3, delimited: 4, message: 5, group: 6 } as const;
type Read = (typeof Read)[keyof typeof Read];

interface FieldShape {
  readonly number: number;
  readonly read: Read;
  /** Units of one value, with those of an empty message. */
  readonly units: number;
  /** True if values may be packed: several values after one length. */
  readonly isPackable: boolean;
  /** The message, or the entry of a map. */
  readonly child: MessageShape | undefined;
  /** True if each value is a new message. The values of other fields are merged into one. */
  readonly isRepeated: boolean;
  /** True if protobuf-es represents the message as JSON, all of which it converts again for each value that it merges. */
  readonly isJson: boolean;
}

interface MessageShape {
  readonly units: number;
  /** True for the entry of a map, whose field 1 is the key. */
  readonly isEntry: boolean;
  readonly fields: Map<number, FieldShape>;
}

const shapes = new WeakMap<DescMessage, MessageShape>();

function shapeOf(type: DescMessage): MessageShape {
  const known = shapes.get(type);
  if (known !== undefined) return known;
  const fields = new Map<number, FieldShape>();
  const shape: MessageShape = { units: messageUnits(type), isEntry: false, fields };
  // The shape is stored before its fields are made, because a field may have the same message type.
  shapes.set(type, shape);
  for (const field of type.fields) fields.set(field.number, fieldShape(field));
  return shape;
}

function fieldShape(field: DescField): FieldShape {
  const { number, fieldKind, message } = field;
  const units = fieldUnits(field);
  if (fieldKind === "map") return shapeWith(number, Read.message, units, entryShape(field), true);
  const isRepeated = fieldKind === "list";
  if (message === undefined) return shapeWith(number, readOf(field.scalar), units, undefined, isRepeated);
  const read = field.delimitedEncoding ? Read.group : Read.message;
  const isStruct = message.typeName === "google.protobuf.Struct" && field.parent.typeName !== "google.protobuf.Value";
  return shapeWith(number, read, units, shapeOf(message), isRepeated, isStruct && !isRepeated);
}

function shapeWith(
  number: number,
  read: Read,
  units: number,
  child?: MessageShape,
  isRepeated = false,
  isJson = false,
): FieldShape {
  const isPackable = isRepeated && child === undefined && read !== Read.delimited;
  return { number, read, units: units + (child?.units ?? 0), isPackable, child, isRepeated, isJson };
}

/** Returns the shape of a map entry, which is a message on the wire. A value that is missing is created, too. */
function entryShape(field: DescField & { readonly fieldKind: "map" }): MessageShape {
  const child = field.message && shapeOf(field.message);
  const key = shapeWith(1, readOf(field.mapKey), Units.number);
  const value =
    child === undefined ? shapeWith(2, readOf(field.scalar), Units.number) : shapeWith(2, Read.message, 0, child);
  return { units: child?.units ?? 0, isEntry: true, fields: new Map([key, value].map((one) => [one.number, one])) };
}

/** An enum has no scalar type. */
function readOf(scalar: ScalarType | undefined): Read {
  switch (scalar) {
    case ScalarType.STRING:
    case ScalarType.BYTES:
      return Read.delimited;
    case ScalarType.DOUBLE:
    case ScalarType.FIXED64:
    case ScalarType.SFIXED64:
      return Read.fixed64;
    case ScalarType.FLOAT:
    case ScalarType.FIXED32:
    case ScalarType.SFIXED32:
      return Read.fixed32;
    case ScalarType.SINT32:
    case ScalarType.SINT64:
      return Read.zigzag;
    default:
      return Read.varint;
  }
}

/** Size of the smallest field, in bytes: its tag, and its value or length. */
const LEAST_FIELD_BYTES = 2;
/** Most values for each byte of a map with integer keys, by the array that engines reserve. */
const INDEX_DENSITY = 10;

const densities = new WeakMap<DescMessage, number>();

/** Returns the most values that each byte of a message can have, at any level of nesting. */
export function densityOf(type: DescMessage): number {
  const known = densities.get(type);
  if (known !== undefined) return known;
  const all = new Set([shapeOf(type)]);
  let units: number = Units.value;
  let hasMaps = false;
  // A set also iterates over the elements that are added meanwhile.
  for (const { fields, isEntry } of all) {
    hasMaps ||= isEntry;
    for (const field of fields.values()) {
      units = Math.max(units, field.units);
      if (field.child !== undefined) all.add(field.child);
    }
  }
  const density = Math.max(units / Units.value / LEAST_FIELD_BYTES, hasMaps ? INDEX_DENSITY : 0);
  densities.set(type, density);
  return density;
}

/**
 * Counts the values of a message from its bytes. Throws `resource_exhausted` above the limit, and nothing else: the decoder
 * reports malformed bytes. Bytes that are too few to exceed the limit are not scanned.
 */
export function countProtoValues(type: DescMessage, bytes: Uint8Array, count: ValueCount): void {
  if (!count.mayExceed(densityOf(type))) return;
  const shape = shapeOf(type);
  count.addMade(shape.units);
  new ProtoScan(bytes, count).fields(shape, bytes.length);
}

class ProtoScan {
  readonly #bytes: Uint8Array;
  readonly #count: ValueCount;
  #position = 0;
  #depth = 0;
  /** Units of the fields that are represented as JSON, in the current message and those that are merged with it. */
  #json: Map<FieldShape, number> | undefined;

  constructor(bytes: Uint8Array, count: ValueCount) {
    this.#bytes = bytes;
    this.#count = count;
  }

  /** Scans fields up to `end`, or that of the group `group`. Returns the key of a map entry if it is an integer, else 0. */
  fields(shape: MessageShape, end: number, group?: number): number {
    if (!shape.isEntry) this.#depth += 1;
    // The decoder reads no further.
    if (this.#depth > RECURSION_LIMIT) this.#position = this.#bytes.length;
    let key = 0;
    let last: FieldShape | undefined;
    let largest = 0;
    while (this.#position < end) {
      const tag = this.#varint32();
      const wireType = tag & 7;
      if (group !== undefined && wireType === 4) break;
      const field = shape.fields.get(tag >>> 3);
      // The entries of a map usually follow one another.
      if (field !== last) largest = 0;
      last = field;
      if (field === undefined) this.#unknown(wireType);
      else if (field.child === undefined) {
        if (shape.isEntry && field.number === 1) key = this.#key(field.read);
        else this.#scalar(field, wireType);
      } else {
        const next = largestKey(largest, this.#child(field, field.child));
        this.#count.addMade(indexUnits(largest, next));
        largest = next;
      }
    }
    if (!shape.isEntry) this.#depth -= 1;
    return key;
  }

  /** Scans a message, or the entry of a map. Returns what {@link fields} returns. */
  #child(field: FieldShape, child: MessageShape): number {
    this.#count.addMade(field.units);
    const json = this.#json;
    if (field.isRepeated) this.#json = undefined;
    if (field.isJson) this.#count.addMade(json?.get(field) ?? 0);
    const before = this.#count.made;
    const isGroup = field.read === Read.group;
    const end = isGroup ? this.#bytes.length : this.#varint32() + this.#position;
    const key = this.fields(child, Math.min(end, this.#bytes.length), isGroup ? field.number : undefined);
    if (field.isRepeated) this.#json = json;
    if (field.isJson) {
      this.#json ??= new Map();
      this.#json.set(field, (this.#json.get(field) ?? 0) + this.#count.made - before);
    }
    return key;
  }

  /** Scans a value, or packed ones. The last one is read to its end, even if that is beyond their length. */
  #scalar({ read, units, isPackable }: FieldShape, wireType: number): void {
    const isPacked = isPackable && wireType === 2;
    const end = isPacked ? Math.min(this.#varint32() + this.#position, this.#bytes.length) : this.#position + 1;
    while (this.#position < end) {
      this.#count.addMade(units);
      this.#skipValue(read);
    }
  }

  #skipValue(read: Read): void {
    if (read === Read.fixed32) this.#position += 4;
    else if (read === Read.fixed64) this.#position += 8;
    else if (read === Read.delimited) this.#position = this.#varint32() + this.#position;
    else this.#skipVarint();
  }

  #skipVarint(): void {
    while ((this.#bytes[this.#position++] as number) >= 0x80);
  }

  /** Reads the key of a map entry. Returns it if it is an integer that is not negative, else 0. */
  #key(read: Read): number {
    const bytes = this.#bytes;
    const start = this.#position;
    let key = 0;
    if (read === Read.delimited) {
      const length = this.#varint32();
      const digits = this.#position;
      this.#position += length;
      if (length > 4) return 0;
      for (let at = digits; at < digits + length; at += 1) {
        const digit = (bytes[at] as number) - 0x30;
        if (!(digit >= 0 && digit <= 9)) return 0;
        key = 10 * key + digit;
      }
      return key;
    }
    this.#skipValue(read);
    const base = read === Read.varint || read === Read.zigzag ? 0x80 : 0x100;
    for (let at = Math.min(this.#position, bytes.length) - 1; at >= start; at -= 1) {
      key = key * base + ((bytes[at] as number) % base);
    }
    if (read !== Read.zigzag) return key;
    return key % 2 === 0 ? key / 2 : 0;
  }

  /** Scans an unknown field, such as a group with fields inside. */
  #unknown(first: number): void {
    this.#count.addMade(Units.unknown);
    let open = 0;
    for (let wireType = first; ; wireType = this.#varint32() & 7) {
      if (wireType === 3) open += 1;
      else if (wireType === 4) open -= 1;
      else this.#skipValue(UNKNOWN_READS[wireType] ?? Read.varint);
      if (open <= 0 || this.#position >= this.#bytes.length) return;
      this.#count.addMade(Units.number);
    }
  }

  /** Reads a varint. Returns its low 32 bits. */
  #varint32(): number {
    const bytes = this.#bytes;
    let value = 0;
    for (let shift = 0; shift < 70; shift += 7) {
      const byte = bytes[this.#position++] as number;
      if (shift < 35) value |= (byte & 0x7f) << shift;
      if (!(byte >= 0x80)) break;
    }
    return value >>> 0;
  }
}

/** Encodings of values by wire type. */
const UNKNOWN_READS: readonly (Read | undefined)[] = [
  Read.varint,
  Read.fixed64,
  Read.delimited,
  undefined,
  undefined,
  Read.fixed32,
];
