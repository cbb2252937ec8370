/**
 * Encodes large JSON in Protobuf's binary format in steps. `google.protobuf.Any` needs it: in JSON it has the members of a
 * message, and otherwise the bytes of that message. A message may be divided between any two fields, items and entries, so
 * each part is decoded and encoded separately.
 */
import {
  create,
  type DescField,
  type DescMessage,
  type JsonObject,
  type JsonValue,
  type Registry,
  toBinary,
} from "@bufbuild/protobuf";
import { BinaryReader, BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import {
  type Any,
  AnySchema,
  FieldMaskSchema,
  ListValueSchema,
  FeatureSet_FieldPresence as Presence,
  StructSchema,
  ValueSchema,
} from "@bufbuild/protobuf/wkt";
import { emptyOf, isCut, isStruct, type JsonDivision } from "./json-division.ts";
import { checkDigits, estimateJson, isObject, isPlain, jsonShape } from "./json-estimate.ts";
import { Memory } from "./memory.ts";

/** The member of an Any that names the type of its message. */
export const ANY_TYPE = "@type";

/** Adds bytes to a message. */
type Add = (bytes: Uint8Array) => void;

export class JsonBinary {
  readonly #division: JsonDivision;
  readonly #registry: Registry | undefined;

  constructor(division: JsonDivision, registry: Registry | undefined) {
    this.#division = division;
    this.#registry = registry;
  }

  /** Decodes an Any. Throws the error of protobuf-es for a type that is not in the registry. */
  async any(json: JsonObject): Promise<Any> {
    const url = json[ANY_TYPE] ?? "";
    const type = typeof url === "string" ? this.#registry?.getMessage(url.slice(url.lastIndexOf("/") + 1)) : undefined;
    if (type === undefined) {
      const any = create(AnySchema);
      // An object without members is an Any without a type.
      this.#division.mergeJson(AnySchema, any, Object.keys(json).length === 0 ? {} : { [ANY_TYPE]: url });
      return any;
    }
    const value = await this.#collect((add) => this.#contents(type, json, add));
    return create(AnySchema, { typeUrl: `type.googleapis.com/${type.typeName}`, value });
  }

  /** Encodes the message in an Any: the members beside its type, or the member `value` of types with special JSON. */
  async #contents(type: DescMessage, json: JsonObject, add: Add): Promise<void> {
    if (isPlain(type)) return this.#message(type, json, add);
    if (Object.hasOwn(json, "value")) return this.#message(type, json["value"] as JsonValue, add);
    if (type.typeName === StructSchema.typeName) return this.#struct(json, add, true);
    if (type.typeName !== ValueSchema.typeName) return this.#whole(type, {}, add);
    const struct = await this.#collect((inside) => this.#struct(json, inside, true));
    this.#add(add, delimitedField(ValueSchema.field.structValue, struct));
  }

  async #message(type: DescMessage, value: JsonValue, add: Add): Promise<void> {
    const division = this.#division;
    // Parts of a message with required fields (proto2) cannot be encoded separately.
    const isWhole = type.fields.some(({ presence }) => presence === Presence.LEGACY_REQUIRED);
    if (isWhole || !isCut(type) || !division.isLarge(type, value)) return this.#whole(type, value, add);
    const { typeName } = type;
    if (isStruct(type, value)) return this.#struct(value, add);
    if (typeName === ListValueSchema.typeName && Array.isArray(value)) {
      return division.items(
        value,
        (part) => this.#encode(type, part, add),
        (item) => this.#field(ListValueSchema.field.values, item, add),
      );
    }
    if (typeName === ValueSchema.typeName) {
      const { listValue, structValue } = ValueSchema.field;
      return this.#field(Array.isArray(value) ? listValue : structValue, value, add);
    }
    if (typeName === FieldMaskSchema.typeName && typeof value === "string") {
      return division.paths(value, (paths) =>
        this.#add(add, toBinary(FieldMaskSchema, create(FieldMaskSchema, { paths }))),
      );
    }
    if (typeName === AnySchema.typeName && isObject(value)) {
      return this.#add(add, toBinary(AnySchema, await this.any(value)));
    }
    if (!isPlain(type) || !isObject(value)) return this.#whole(type, value, add);
    for (const [key, member] of await division.known(type, value)) await this.#member(type, key, member, add);
  }

  async #member(type: DescMessage, key: string, value: JsonValue, add: Add): Promise<void> {
    const division = this.#division;
    const field = jsonShape(type).fields.get(key);
    const encodePart = (part: JsonValue): void => {
      if (field !== undefined) checkDigits(field, part);
      this.#encode(type, { [key]: part }, add);
    };
    if (field?.fieldKind === "map" && isObject(value)) {
      const { message, number } = field;
      const addEntry = async (name: string, one: JsonValue): Promise<void> => {
        // An entry with an empty value is encoded to find out how protobuf-es converts the key.
        const entry = await this.#collect(async (part) =>
          this.#encode(type, { [key]: { [name]: emptyOf(one) } }, part),
        );
        const large = await this.#collect((part) => this.#message(message as DescMessage, one, part));
        this.#add(add, mapEntry(number, keyOf(entry), large));
      };
      return division.entries(value, encodePart, isCut(message) ? addEntry : undefined, message);
    }
    if (field?.fieldKind === "list" && Array.isArray(value)) {
      const addItem = (item: JsonValue): Promise<void> => this.#field(field, item, add);
      return division.items(value, encodePart, isCut(field.message) ? addItem : undefined, field.message);
    }
    if (field?.fieldKind === "message" && isCut(field.message) && division.isLarge(field.message, value)) {
      return this.#field(field, value, add);
    }
    return division.step(0, () => encodePart(value));
  }

  /** Encodes the entries of a struct. With `inAny`, the type of the Any is left out. */
  #struct(json: JsonObject, add: Add, inAny = false): Promise<void> {
    return this.#division.entries(
      json,
      (part) => {
        if (inAny) delete part[ANY_TYPE];
        this.#encode(StructSchema, part, add);
      },
      async (name, one) => {
        const key = new BinaryWriter().tag(1, WireType.LengthDelimited).string(name).finish();
        const value = await this.#collect((part) => this.#message(ValueSchema, one, part));
        this.#add(add, mapEntry(StructSchema.field.fields.number, key, value));
      },
    );
  }

  /** Encodes a field, or an item of a repeated field, that is a large message. */
  async #field(field: DescField, value: JsonValue, add: Add): Promise<void> {
    const message = await this.#collect((part) => this.#message(field.message as DescMessage, value, part));
    this.#add(add, delimitedField(field, message));
  }

  #whole(type: DescMessage, value: JsonValue, add: Add): Promise<void> {
    return this.#division.step(estimateJson(type, value), () => this.#encode(type, value, add));
  }

  #encode(type: DescMessage, value: JsonValue, add: Add): void {
    const message = create(type);
    this.#division.mergeJson(type, message, value);
    this.#add(add, toBinary(type, message));
  }

  #add(add: Add, bytes: Uint8Array): void {
    this.#division.count(Memory.bytes + bytes.byteLength);
    add(bytes);
  }

  /** Returns all bytes that the function adds. */
  async #collect(encode: (add: Add) => Promise<void>): Promise<Uint8Array> {
    const writer = new BinaryWriter();
    await encode((bytes) => writer.raw(bytes));
    return writer.finish();
  }
}

//     field = tag length message / start-group message end-group
function delimitedField(field: DescField, message: Uint8Array): Uint8Array {
  const { number } = field;
  const writer = new BinaryWriter();
  if (!("delimitedEncoding" in field && field.delimitedEncoding)) {
    return writer.tag(number, WireType.LengthDelimited).bytes(message).finish();
  }
  return writer.tag(number, WireType.StartGroup).raw(message).tag(number, WireType.EndGroup).finish();
}

//     entry = tag length key-field value-field
function mapEntry(number: number, key: Uint8Array, value: Uint8Array): Uint8Array {
  const entry = new BinaryWriter().tag(number, WireType.LengthDelimited).fork().raw(key);
  return entry.tag(2, WireType.LengthDelimited).bytes(value).join().finish();
}

/** Returns the key of an encoded map field with one entry, as a field. */
function keyOf(field: Uint8Array): Uint8Array {
  const reader = new BinaryReader(field);
  reader.tag();
  const entry = reader.bytes();
  const key = new BinaryReader(entry);
  const [, wireType] = key.tag();
  key.skip(wireType);
  return entry.subarray(0, key.pos);
}
