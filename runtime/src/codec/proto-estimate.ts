/**
 * Estimates the memory of a decoded message from its bytes in Protobuf's binary format, without decoding it. The estimate is
 * necessary because two bytes may encode an object of many fields. Like protobuf-es, it reads a value by the type of its
 * field, even if the wire type is different.
 */
import { type DescField, type DescMessage, type Message, ScalarType } from "@bufbuild/protobuf";
import { FeatureSet_FieldPresence as Presence } from "@bufbuild/protobuf/wkt";
import type { GeneratedCodec } from "../call/method.ts";
import { IndexArray, Memory, objectBytes } from "./memory.ts";

/**
 * Maximum nesting of messages, as in protobuf-es and other Protobuf libraries by default. Deeper messages are rejected.
 */
const MAX_MESSAGE_DEPTH = 100;

/** Encodings of a field's value. */
const Read = { varint: 0, fixed32: 1, fixed64: 2, text: 3, bytes: 4, message: 5, group: 6, closedEnum: 7 } as const;

interface FieldShape {
  readonly field: DescField;
  readonly read: (typeof Read)[keyof typeof Read];
  /** Memory of one value without its contents, in bytes. */
  readonly each: number;
  /** Memory of the first of several items or entries, in addition to that of each. */
  readonly start: number;
  /** The type of the keys of a map, if they can be integers. */
  readonly keys: ScalarType | undefined;
  /** True if values may be packed: several values after one length. */
  readonly packable: boolean;
  /** The shape of a message or of a map entry. */
  readonly child: MessageShape | undefined;
  /** The declared values of a closed enum. */
  readonly known: ReadonlySet<number> | undefined;
}

/** A message as an object with its fields by name. */
export type MessageFields = Message & Record<string, unknown>;

/** The properties of a message type that determine its memory. */
export interface MessageShape {
  /** Memory of an empty message, in bytes. */
  readonly empty: number;
  readonly fields: ReadonlyMap<number, FieldShape>;
  /** The levels of nesting that it adds: 1 for a message, 0 for a map entry, which protobuf-es does not count. */
  readonly levels: 0 | 1;
  /** The fields with the lowest numbers, in an array, which is faster than the map. */
  readonly first: readonly (FieldShape | undefined)[];
}

const FIRST_NUMBERS = 32;
type Shapes = WeakMap<DescMessage, MessageShape>;
const shapesOfSchemas: Shapes = new WeakMap();
const shapesOfCodecs: Shapes = new WeakMap();

/** Returns the shape of messages that a generated codec or protobuf-es decodes. */
export function shapeOf(type: DescMessage, generated = false): MessageShape {
  const shapes = generated ? shapesOfCodecs : shapesOfSchemas;
  const known = shapes.get(type);
  if (known !== undefined) return known;
  const fields = new Map<number, FieldShape>();
  const shape = { empty: emptyMessage(type, generated), fields, levels: 1 as const, first: numbered(fields) };
  // The shape is stored before its fields are added, because a field may have the same message type.
  shapes.set(type, shape);
  for (const field of type.fields) fields.set(field.number, shapeOfField(field, generated));
  shape.first = numbered(fields);
  return shape;
}

/** Estimates the memory of a message from its bytes, in bytes, without a limit. */
export function estimateProto(type: DescMessage, bytes: Uint8Array, generated?: GeneratedCodec): number {
  const estimator = new ProtoEstimator(bytes, Number.POSITIVE_INFINITY);
  return estimator.fields(shapeOf(type, generated !== undefined), bytes.length);
}

/** Most memory for each byte of a map: the arrays that engines reserve for the keys 1040, 2600, 4940 and 8450. */
const MAP_EXPANSION = 8_192;

/** Sum of the smallest tag and the smallest value, in bytes. */
const SHORTEST_FIELD = 2;

/** The most memory that each byte of a message can take, in bytes, at any level of nesting. */
export interface Expansion {
  readonly most: number;
  /** The same without the arrays that engines reserve for maps. */
  readonly withoutMaps: number;
}

const expansions = new WeakMap<DescMessage, Expansion>();

export function expansionOf(type: DescMessage): Expansion {
  const known = expansions.get(type);
  if (known !== undefined) return known;
  const shapes = new Set([shapeOf(type)]);
  let withoutMaps = Memory.unknown / SHORTEST_FIELD;
  let hasMaps = false;
  // A set also iterates over the elements that are added meanwhile.
  for (const { fields } of shapes) {
    for (const { each, start, child, field } of fields.values()) {
      withoutMaps = Math.max(withoutMaps, Math.ceil((each + start + (child?.empty ?? 0)) / SHORTEST_FIELD));
      hasMaps ||= field.fieldKind === "map";
      if (child !== undefined) shapes.add(child);
    }
  }
  const expansion = { most: hasMaps ? Math.max(MAP_EXPANSION, withoutMaps) : withoutMaps, withoutMaps };
  expansions.set(type, expansion);
  return expansion;
}

/** Reports whether the values of a field are varints, or enums, which are varints too. */
export function isVarint({ read }: FieldShape): boolean {
  return read === Read.varint || read === Read.closedEnum;
}

function numbered(fields: ReadonlyMap<number, FieldShape>): (FieldShape | undefined)[] {
  return Array.from({ length: FIRST_NUMBERS }, (_, number) => fields.get(number));
}

/**
 * Returns the memory of an empty message, in bytes. It has a property for its type name, each oneof, and each field
 * that is not a message.
 */
export function emptyMessage(type: DescMessage, generated = false): number {
  let properties = 1;
  let bytes = 0;
  for (const member of type.members) {
    if (member.kind !== "oneof" && member.fieldKind === "message") continue;
    properties += 1;
    if (member.kind === "oneof") bytes += Memory.oneof;
    else if (member.fieldKind === "list") bytes += Memory.list;
    else if (member.fieldKind === "map") bytes += Memory.map;
  }
  return bytes + objectBytes(properties, !generated);
}

function shapeOfField(field: DescField, generated: boolean): FieldShape {
  const listed = field.fieldKind === "list";
  const inOneof = "oneof" in field && field.oneof !== undefined ? Memory.oneof : 0;
  const each = (listed ? Memory.item : 0) + inOneof + (field.presence === Presence.EXPLICIT ? Memory.slot : 0);
  if (field.fieldKind === "map") {
    const start = field.mapKey === ScalarType.STRING ? 0 : Memory.firstIndexEntry;
    const keys = field.mapKey === ScalarType.BOOL ? undefined : field.mapKey;
    return messageField(field, Read.message, { each: 0, start, keys }, entryShape(field, generated));
  }
  if (field.message !== undefined) {
    const start = listed ? Memory.firstItem : 0;
    return messageField(
      field,
      field.delimitedEncoding ? Read.group : Read.message,
      { each, start },
      shapeOf(field.message, generated),
    );
  }
  if (field.enum !== undefined && !field.enum.open && !listed) {
    const known = new Set(field.enum.values.map(({ number }) => number));
    return { field, read: Read.closedEnum, each, start: 0, keys: undefined, packable: false, child: undefined, known };
  }
  return scalarField(field, field.scalar ?? ScalarType.INT32, each, listed);
}

/**
 * Returns the shape of a map entry, which is a message on the wire: the key has the number 1, the value the number 2.
 */
function entryShape(field: DescField & { readonly fieldKind: "map" }, generated: boolean): MessageShape {
  const key = scalarField(field, field.mapKey, 0, false);
  const { message } = field;
  // An entry without a value gets an empty message, so the entry includes its memory and a value does not add it again.
  const missing = message === undefined ? 0 : emptyMessage(message, generated);
  const value =
    message === undefined
      ? scalarField(field, field.scalar ?? ScalarType.INT32, 0, false)
      : messageField(field, Read.message, { each: -missing }, shapeOf(message, generated));
  const fields = new Map([key, value].map((one, index) => [index + 1, one]));
  return { empty: Memory.entry + missing, fields, levels: 0, first: numbered(fields) };
}

// All literals of field shapes list their members in the same order, so that they share one hidden class of the engine.
function messageField(
  field: DescField,
  read: FieldShape["read"],
  { each, start = 0, keys }: { readonly each: number; readonly start?: number; readonly keys?: ScalarType | undefined },
  child: MessageShape,
): FieldShape {
  return { field, read, each, start, keys, packable: false, child, known: undefined };
}

function scalarField(field: DescField, scalar: ScalarType, each: number, listed: boolean): FieldShape {
  const read = SCALAR_READS[scalar] ?? Read.varint;
  const own = scalarMemory(scalar, listed);
  const packable = listed && read !== Read.text && read !== Read.bytes;
  return {
    field,
    read,
    each: each + own,
    start: listed ? Memory.firstItem : 0,
    keys: undefined,
    packable,
    child: undefined,
    known: undefined,
  };
}

const SCALAR_READS: Readonly<Partial<Record<ScalarType, FieldShape["read"]>>> = {
  [ScalarType.STRING]: Read.text,
  [ScalarType.BYTES]: Read.bytes,
  [ScalarType.DOUBLE]: Read.fixed64,
  [ScalarType.FIXED64]: Read.fixed64,
  [ScalarType.SFIXED64]: Read.fixed64,
  [ScalarType.FLOAT]: Read.fixed32,
  [ScalarType.FIXED32]: Read.fixed32,
  [ScalarType.SFIXED32]: Read.fixed32,
};

/** Returns the memory of a value in bytes, without its slot in a list or a message. */
function scalarMemory(scalar: ScalarType, listed: boolean): number {
  switch (scalar) {
    case ScalarType.BYTES:
      return Memory.bytes;
    case ScalarType.DOUBLE:
    case ScalarType.FLOAT:
      return listed ? 0 : Memory.number;
    case ScalarType.INT64:
    case ScalarType.UINT64:
    case ScalarType.SINT64:
    case ScalarType.FIXED64:
    case ScalarType.SFIXED64:
      return Memory.bigint;
    default:
      return 0;
  }
}

/** Reads fields one after another. For malformed bytes it returns an arbitrary estimate; decoding reports the error. */
export class ProtoEstimator {
  /** Offset of the next field. */
  position: number;
  /** Number of fields that have been read, at all levels. */
  count = 0;
  readonly #bytes: Uint8Array;
  readonly #limit: number;
  /** The outermost message is the first level. */
  #depth = 1;

  readonly #fieldBytes: number;

  /** Reading stops when the estimate exceeds `limit` bytes. `fieldBytes` are added to it for each field. */
  constructor(bytes: Uint8Array, limit: number, position = 0, fieldBytes = 0) {
    this.#bytes = bytes;
    this.#limit = limit;
    this.position = position;
    this.#fieldBytes = fieldBytes;
  }

  /**
   * Estimates the memory, in bytes, of the fields from the current position: up to `end`, only the first field, or up to the
   * end of the current group. Throws for messages that are nested too deeply. It is one long function for speed, because it
   * runs for every field.
   */
  fields(shape: MessageShape, end: number, until: "end" | "field" | "group" = "end"): number {
    const bytes = this.#bytes;
    const { first } = shape;
    let memory = 0;
    let last = -1;
    let array: IndexArray | undefined;
    let { position } = this;
    while (position < end && memory <= this.#limit) {
      let tag = bytes[position++] as number;
      if (tag >= 0x80) {
        this.position = position - 1;
        tag = this.uint32();
        position = this.position;
      }
      const wireType = tag & 7;
      if (until === "group" && wireType === 4) break;
      const number = tag >>> 3;
      const field = number < FIRST_NUMBERS ? first[number] : shape.fields.get(number);
      // The items of a list and the entries of a map usually follow one another.
      if (number !== last) {
        memory += field === undefined ? 0 : field.start;
        array = undefined;
      }
      last = number;
      this.count += 1;
      memory += this.#fieldBytes;
      if (field === undefined) {
        this.position = position;
        this.#skip(wireType);
        position = this.position;
        memory += Memory.unknown;
      } else if (field.read === Read.varint && !(field.packable && wireType === 2)) {
        while ((bytes[position++] as number) >= 0x80);
        memory += field.each;
      } else if (field.read === Read.text || field.read === Read.message) {
        let length = bytes[position++] as number;
        if (length >= 0x80) {
          this.position = position - 1;
          length = this.uint32();
          position = this.position;
        }
        memory += field.each;
        if (field.read === Read.text) {
          position += length;
          memory += Memory.text(length);
        } else {
          const child = field.child as MessageShape;
          memory += child.empty;
          if (length > 0) {
            if (field.keys !== undefined) {
              array ??= new IndexArray();
              memory += array.add(this.#keyOf(position, position + length, field.keys));
            }
            this.position = position;
            memory += this.#child(child, position + length, "end");
            position = this.position;
          } else this.#checkDepth(this.#depth + child.levels);
        }
      } else {
        this.position = position;
        memory += this.#other(field, wireType);
        position = this.position;
      }
      if (until === "field") break;
    }
    this.position = position;
    return memory;
  }

  /**
   * Returns the key of a map entry if it is an integer up to 9999, else 0. Returns `undefined` for an entry in which
   * the key is not the only field before the value, as all libraries write it.
   */
  #keyOf(start: number, end: number, type: ScalarType): number | undefined {
    const bytes = this.#bytes;
    const wireType = (bytes[start] as number) & 7;
    if ((bytes[start] as number) >>> 3 !== 1) return undefined;
    let key = 0;
    let at = start + 1;
    if (wireType === 2) {
      const length = bytes[at++] as number;
      // A longer key is larger than 9,999.
      if (length > 4) return length < 0x80 ? this.#alone(at + length, end, 0) : 0;
      for (const last = at + length; at < last; at += 1) {
        const digit = (bytes[at] as number) - 0x30;
        key = digit >= 0 && digit <= 9 ? 10 * key + digit : Number.NaN;
      }
    } else if (wireType === 0) {
      for (let unit = 1; ; unit *= 0x80) {
        const byte = bytes[at++] as number;
        key += (byte & 0x7f) * unit;
        if (!(byte >= 0x80)) break;
      }
      if (type === ScalarType.SINT32 || type === ScalarType.SINT64) key = key % 2 === 0 ? key / 2 : 0;
    } else {
      const size = wireType === 1 ? 8 : 4;
      for (let i = size - 1; i >= 0; i -= 1) key = key * 0x100 + (bytes[at + i] as number);
      at += size;
    }
    return this.#alone(at, end, key >= 0 ? key : 0);
  }

  /** Returns the key if the value of the entry, or nothing, is at the position. */
  #alone(at: number, end: number, key: number): number | undefined {
    return at >= end || (this.#bytes[at] as number) >>> 3 === 2 ? key : undefined;
  }

  #child(shape: MessageShape, end: number, until: "end" | "group"): number {
    this.#depth += shape.levels;
    this.#checkDepth(this.#depth);
    const memory = this.fields(shape, end, until);
    this.#depth -= shape.levels;
    return memory;
  }

  #checkDepth(depth: number): void {
    if (depth > MAX_MESSAGE_DEPTH) throw new Error(`the message is nested more than ${MAX_MESSAGE_DEPTH} levels deep`);
  }

  #other(field: FieldShape, wireType: number): number {
    const { read, each } = field;
    if (field.packable && wireType === 2) return this.#packed(read, each);
    if (read === Read.closedEnum) return field.known?.has(this.uint32() | 0) ? each : each + 2 * Memory.unknown;
    if (read === Read.group) {
      const child = field.child as MessageShape;
      return each + child.empty + this.#child(child, this.#bytes.length, "group");
    }
    if (read === Read.bytes) this.#skipBytes();
    else this.position += read === Read.fixed32 ? 4 : 8;
    return each;
  }

  /**
   * Estimates the memory of packed values. The last value is read to its end, even if it ends beyond the length of the packed
   * values.
   */
  #packed(read: FieldShape["read"], each: number): number {
    const length = this.uint32();
    const size = read === Read.fixed32 ? 4 : read === Read.fixed64 ? 8 : undefined;
    if (size !== undefined) {
      const count = Math.ceil(length / size);
      this.position += count * size;
      return count * each;
    }
    const bytes = this.#bytes;
    let { position } = this;
    const end = Math.min(position + length, bytes.length);
    let count = 0;
    // Each value ends with a byte below 128.
    for (; position < end; position += 1) if ((bytes[position] as number) < 0x80) count += 1;
    if (length > 0 && (bytes[end - 1] as number) >= 0x80) {
      while ((bytes[position++] as number) >= 0x80);
      count += 1;
    }
    this.position = position;
    return count * each;
  }

  /** Reads a varint and returns its low 32 bits. */
  uint32(): number {
    const bytes = this.#bytes;
    let value = 0;
    for (let shift = 0; shift < 70; shift += 7) {
      const byte = bytes[this.position++] as number;
      if (shift < 35) value |= (byte & 0x7f) << shift;
      if (!(byte >= 0x80)) break;
    }
    return value >>> 0;
  }

  /** Skips the value of an unknown field by its wire type. */
  #skip(wireType: number): void {
    // The number of open groups. They may be nested to any depth, because they take no memory.
    let open = 0;
    for (let type = wireType; ; type = this.uint32() & 7) {
      // Like protobuf-es, of any length.
      if (type === 0) while ((this.#bytes[this.position++] as number) >= 0x80);
      else if (type === 1) this.position += 8;
      else if (type === 2) this.#skipBytes();
      else if (type === 3) open += 1;
      else if (type === 4) open -= 1;
      else if (type === 5) this.position += 4;
      if (open <= 0 || this.position >= this.#bytes.length) return;
    }
  }

  #skipBytes(): void {
    const length = this.uint32();
    this.position += length;
  }
}
