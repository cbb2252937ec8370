/**
 * Encodes large messages in Protobuf's binary format in steps. Between steps the event loop can run other work. Lists, maps
 * and nested messages are divided: each part is encoded as a message of its own, and the parts are put together to the bytes
 * that encoding at once returns.
 */
import {
  create,
  type DescField,
  type DescMessage,
  fromJson,
  type JsonObject,
  type JsonValue,
} from "@bufbuild/protobuf";
import { BinaryReader, BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import { isWrapperDesc, ListValueSchema, StructSchema, ValueSchema } from "@bufbuild/protobuf/wkt";
import { concat } from "../call/bytes.ts";
import type { Steps } from "../call/steps.ts";
import { encodeMessageInTurn, initOf, inParts, pick } from "./encode-parts.ts";
import { COPIED_BYTES_PER_UNIT, givenValue, isPlainJson, STEP_WEIGHT, Weigher, weighKey } from "./encode-weight.ts";

/** Encodes a small message, or its init shape, at once. */
type Encode = (type: DescMessage, message: object) => Uint8Array;

/**
 * Encodes a large message, or its init shape, in steps. Returns `undefined` for a small one, unless the weight of a step is
 * given. Rejects with the errors of `encode`.
 */
export function encodeProtoInSteps(
  type: DescMessage,
  message: object,
  encode: Encode,
  step?: number,
): Promise<Uint8Array> | undefined {
  const weigher = new Weigher(COPIED_BYTES_PER_UNIT);
  if (step === undefined && !weigher.isLarge(type, message)) return undefined;
  const writer = new ProtoWriter(encode, weigher, step ?? STEP_WEIGHT);
  return encodeMessageInTurn(writer.whole(type, message), () => encode(type, message));
}

/** The tag of the value in an entry of a map, and the length of an empty message after it. */
const EMPTY_VALUE_BYTES = 2;

/** Field numbers of well-known types that represent JSON. */
const STRUCT_VALUE = ValueSchema.field.structValue.number;
const LIST_VALUE = ValueSchema.field.listValue.number;
const MAP_VALUE = 2;

class ProtoWriter {
  readonly #encode: Encode;
  readonly #weigher: Weigher;
  readonly #step: number;
  readonly #chunks: Uint8Array[] = [];
  #length = 0;

  constructor(encode: Encode, weigher: Weigher, step: number) {
    this.#encode = encode;
    this.#weigher = weigher;
    this.#step = step;
  }

  /** Encodes a message. */
  *whole(type: DescMessage, message: object): Steps<Uint8Array> {
    yield* this.message(type, message);
    return concat(this.#chunks, this.#length);
  }

  /** Writes the fields of a message in the order of their numbers, and its unknown fields. */
  *message(type: DescMessage, message: object): Steps<void> {
    const fields = type.fields.toSorted((a, b) => a.number - b.number);
    const given = fields.flatMap((field) => {
      const value = givenValue(field, message);
      return value === undefined ? [] : [{ field, value }];
    });
    yield* inParts(given, {
      step: this.#step,
      weigh: ({ field, value }) => this.#weigher.field(field, value, this.#step),
      add: (part) => this.#add(type, Object.assign({}, ...part.map(({ field, value }) => initOf(field, value)))),
      addLarge: ({ field, value }) => this.#field(type, field, value),
    });
    const { $unknown: unknown } = message as { $unknown?: { no: number; wireType: number; data: Uint8Array }[] };
    if (unknown === undefined) return;
    yield* inParts(unknown, {
      step: this.#step,
      weigh: () => 0,
      add: (part) => this.#add(type, Object.assign(create(type), { $unknown: part })),
      addLarge: function* () {},
    });
  }

  *#field(type: DescMessage, field: DescField, value: unknown): Steps<void> {
    const weigh = (one: unknown): number => this.#weigher.value(field, one, this.#step);
    const add = (part: unknown): void => this.#add(type, initOf(field, part));
    if (field.fieldKind === "map") {
      const map = value as Readonly<Record<string, unknown>>;
      const addKeys = (keys: readonly string[]): void => add(pick(map, keys));
      yield* inParts(this.#weigher.keys(map), {
        step: this.#step,
        weigh: (key) => weighKey(key) + weigh(map[key]),
        add: addKeys,
        addLarge: (key) => this.#entry(field, key, map[key], () => addKeys([key])),
      });
    } else if (field.fieldKind === "list") {
      const list = field.packed ? this.#empty() : this;
      const addItems = (items: readonly unknown[]): void => {
        const bytes = this.#encode(type, initOf(field, items));
        list.#push(field.packed ? contentOf(bytes) : bytes);
      };
      yield* inParts(value as readonly unknown[], {
        step: this.#step,
        weigh,
        add: addItems,
        addLarge: (item) => this.#value(field, item, () => addItems([item])),
      });
      if (list !== this) this.#delimited(field.number, list);
    } else yield* this.#value(field, value, () => add(value));
  }

  /** Writes one value of a field. `addAtOnce` writes a value that cannot be divided. */
  *#value(field: DescField, value: unknown, addAtOnce: () => void): Steps<void> {
    const { message: type, number } = field;
    if (type === undefined || isWrapperDesc(type) || typeof value !== "object" || value === null) {
      addAtOnce();
      yield;
      return;
    }
    const content = this.#empty();
    yield* isPlainJson(field, value) ? content.#struct(value as JsonObject) : content.message(type, value);
    if (field.fieldKind === "map" || !field.delimitedEncoding) return this.#delimited(number, content);
    this.#tag(number, WireType.StartGroup);
    this.#append(content);
    this.#tag(number, WireType.EndGroup);
  }

  /** Writes an entry of a map whose value is large. */
  *#entry(
    field: DescField & { readonly fieldKind: "map" },
    key: string,
    value: unknown,
    addAtOnce: () => void,
  ): Steps<void> {
    if (field.message === undefined || isWrapperDesc(field.message)) {
      addAtOnce();
      yield;
      return;
    }
    const entry = this.#empty();
    const empty = contentOf(this.#encode(field.parent, { [field.localName]: { [key]: {} } }));
    entry.#push(empty.subarray(0, -EMPTY_VALUE_BYTES));
    const content = this.#empty();
    yield* isPlainJson(field, value)
      ? content.#struct(value as JsonObject)
      : content.message(field.message, value as object);
    entry.#delimited(MAP_VALUE, content);
    this.#delimited(field.number, entry);
  }

  /** Writes the content of a `google.protobuf.Struct` that is given as JSON. */
  *#struct(object: JsonObject): Steps<void> {
    yield* inParts(this.#weigher.keys(object), {
      step: this.#step,
      weigh: (key) => weighKey(key) + this.#weigher.json(object[key], this.#step),
      add: (keys) => this.#add(StructSchema, fromJson(StructSchema, pick(object, keys) as JsonObject)),
      addLarge: (key) => this.#member(key, object[key] as JsonValue),
    });
  }

  *#member(key: string, value: JsonValue): Steps<void> {
    const entry = this.#empty();
    const empty = contentOf(this.#encode(StructSchema, { fields: { [key]: {} } }));
    entry.#push(empty.subarray(0, -EMPTY_VALUE_BYTES));
    const content = this.#empty();
    yield* content.#json(value);
    entry.#delimited(MAP_VALUE, content);
    this.#delimited(StructSchema.field.fields.number, entry);
  }

  /** Writes the content of a `google.protobuf.Value` that is given as JSON. */
  *#json(value: JsonValue): Steps<void> {
    if (typeof value !== "object" || value === null) {
      this.#add(ValueSchema, fromJson(ValueSchema, value));
      yield;
      return;
    }
    const content = this.#empty();
    if (!Array.isArray(value)) {
      yield* content.#struct(value);
      return this.#delimited(STRUCT_VALUE, content);
    }
    yield* inParts(value, {
      step: this.#step,
      weigh: (item) => this.#weigher.json(item, this.#step),
      add: (part) => content.#add(ListValueSchema, fromJson(ListValueSchema, part)),
      addLarge: (item) => content.#item(item),
    });
    this.#delimited(LIST_VALUE, content);
  }

  *#item(item: JsonValue): Steps<void> {
    const content = this.#empty();
    yield* content.#json(item);
    this.#delimited(ListValueSchema.field.values.number, content);
  }

  #empty(): ProtoWriter {
    return new ProtoWriter(this.#encode, this.#weigher, this.#step);
  }

  #add(type: DescMessage, init: object): void {
    this.#push(this.#encode(type, init));
  }

  #push(bytes: Uint8Array): void {
    this.#chunks.push(bytes);
    this.#length += bytes.byteLength;
  }

  #append(content: ProtoWriter): void {
    for (const chunk of content.#chunks) this.#chunks.push(chunk);
    this.#length += content.#length;
  }

  #delimited(number: number, content: ProtoWriter): void {
    this.#push(new BinaryWriter().tag(number, WireType.LengthDelimited).uint32(content.#length).finish());
    this.#append(content);
  }

  #tag(number: number, wireType: WireType): void {
    this.#push(new BinaryWriter().tag(number, wireType).finish());
  }
}

/** Returns the content of bytes that are one length-delimited field. */
function contentOf(bytes: Uint8Array): Uint8Array {
  const reader = new BinaryReader(bytes);
  reader.tag();
  reader.uint32();
  return bytes.subarray(reader.pos);
}
