/**
 * Protobuf's binary format, in the same bytes as `protoCodec` but into memory that serves many messages: most of what
 * protobuf-es spends on a small one is the memory that it takes for each. What is not plain is left to protobuf-es: types
 * with maps, groups, required fields, or fields that have a form of their own in JavaScript; and values that their field
 * cannot have, for it to say what is wrong with them.
 */
import { type DescField, type DescMessage, type Message, ScalarType } from "@bufbuild/protobuf";
import { WireType } from "@bufbuild/protobuf/wire";
import { isWrapperDesc, FeatureSet_FieldPresence as Presence } from "@bufbuild/protobuf/wkt";
import type { GeneratedCodec } from "../../call/method.ts";
import { type Codec, protoCodec, toMessage } from "../../codec/codec.ts";
import { boundedProtoCodec } from "../../codec/large-message.ts";
import { scalars, UNFIT } from "./scalars.ts";
import { ProtoOutput } from "./writer.ts";

type Writer<T> = (output: ProtoOutput, value: T) => void;
/** A message as what it is: an object with fields by their names. */
type Fields = Message & Readonly<Record<string, unknown>>;

const writers = new WeakMap<DescMessage, Writer<Fields>>();
/** What nobody is writing into. A message with a getter may have another one encoded in between. */
let spare: ProtoOutput | undefined;

/** `protoCodec`, made for Node. */
export const nodeProtoCodec: Codec = {
  ...boundedProtoCodec,
  encode: (type, message, generated) => encodeWithHeadroom(0, type, message, generated),
  encodeWithHeadroom,
};

function encodeWithHeadroom(room: number, type: DescMessage, given: object, generated?: GeneratedCodec): Uint8Array {
  const message = ((given as Fields | null)?.$typeName === type.typeName ? given : toMessage(type, given)) as Fields;
  if (generated !== undefined) return generated.encode(message, room);
  const write = writers.get(type) ?? typeWriter(type);
  const output = spare ?? new ProtoOutput();
  spare = undefined;
  try {
    output.begin(room);
    write(output, message);
  } catch {
    output.begin(room);
    output.raw(protoCodec.encode(type, message));
  } finally {
    spare = output;
  }
  return output.take();
}

function typeWriter(type: DescMessage): Writer<Fields> {
  if (isPlain(type, new Set())) return messageWriter(type);
  const write: Writer<Fields> = (output, message) => output.raw(protoCodec.encode(type, message));
  writers.set(type, write);
  return write;
}

function isPlain(type: DescMessage, seen: Set<DescMessage>): boolean {
  if (seen.has(type)) return true;
  seen.add(type);
  return type.fields.every((field) => {
    if (field.fieldKind === "map" || field.presence === Presence.LEGACY_REQUIRED) return false;
    if ("longAsString" in field && field.longAsString) return false;
    if (field.message === undefined) return true;
    const special = isWrapperDesc(field.message) || field.message.typeName === "google.protobuf.Struct";
    return !special && !field.delimitedEncoding && isPlain(field.message, seen);
  });
}

function messageWriter(type: DescMessage): Writer<Fields> {
  const known = writers.get(type);
  if (known !== undefined) return known;
  const fieldWriters: Writer<Fields>[] = [];
  const write: Writer<Fields> = (output, message) => {
    if (message.$typeName !== type.typeName) throw UNFIT;
    for (const writeField of fieldWriters) writeField(output, message);
    if (message.$unknown !== undefined) writeUnknown(output, message.$unknown);
  };
  // Before its fields are looked at, one of which may be of the same type.
  writers.set(type, write);
  for (const field of type.fields.toSorted((a, b) => a.number - b.number)) fieldWriters.push(fieldWriter(field));
  return write;
}

/** The fields that came with a message and that its type does not know, as they came. */
function writeUnknown(output: ProtoOutput, fields: NonNullable<Message["$unknown"]>): void {
  for (const { no, wireType, data } of fields) {
    output.varint(tagOf(no, wireType));
    output.raw(data);
  }
}

function fieldWriter(field: DescField): Writer<Fields> {
  const { localName } = field;
  if (field.fieldKind === "list") {
    const writeAll = listWriter(field);
    return (output, message) => writeAll(output, message[localName] as readonly unknown[]);
  }
  const write = taggedWriter(field);
  const oneof = "oneof" in field ? field.oneof?.localName : undefined;
  if (oneof !== undefined) {
    return (output, message) => {
      const group = message[oneof] as { case: string | undefined; value?: unknown };
      if (group.case === localName) write(output, group.value);
    };
  }
  if (field.presence !== Presence.IMPLICIT) {
    return (output, message) => {
      // The default values of proto2 are properties of the prototype.
      if (message[localName] !== undefined && Object.hasOwn(message, localName)) write(output, message[localName]);
    };
  }
  const { scalar } = field;
  if (scalar === ScalarType.BYTES) {
    return (output, message) => {
      const value = message[localName];
      if (!(value instanceof Uint8Array) || value.length > 0) write(output, value);
    };
  }
  if (scalar === ScalarType.DOUBLE || scalar === ScalarType.FLOAT) {
    return (output, message) => {
      const value = message[localName];
      // -0 is a value.
      if (!Object.is(value, 0)) write(output, value);
    };
  }
  const zero = zeroOf(field);
  return (output, message) => {
    const value = message[localName];
    if (value !== zero) write(output, value);
  };
}

function listWriter(field: DescField & { fieldKind: "list" }): Writer<readonly unknown[]> {
  if (!field.packed) {
    const write = taggedWriter(field);
    return (output, values) => {
      for (const value of values) write(output, value);
    };
  }
  const tag = tagOf(field.number, WireType.LengthDelimited);
  const { write } = scalars[field.scalar ?? ScalarType.INT32];
  return (output, values) => {
    if (values.length === 0) return;
    output.varint(tag);
    const start = output.open();
    for (const value of values) write(output, value);
    output.close(start);
  };
}

/** Writes one value behind its tag. */
function taggedWriter({ number, message: type, scalar }: DescField): Writer<unknown> {
  if (type !== undefined) {
    const tag = tagOf(number, WireType.LengthDelimited);
    const writeMessage = messageWriter(type);
    return (output, value) => {
      output.varint(tag);
      const start = output.open();
      writeMessage(output, value as Fields);
      output.close(start);
    };
  }
  // What is neither is an enum.
  const { wireType, write } = scalars[scalar ?? ScalarType.INT32];
  const tag = tagOf(number, wireType);
  return (output, value) => {
    output.varint(tag);
    write(output, value);
  };
}

/** The value that stands for no value. */
function zeroOf(field: DescField): unknown {
  switch (field.scalar) {
    case ScalarType.STRING:
      return "";
    case ScalarType.BOOL:
      return false;
    case ScalarType.INT64:
    case ScalarType.UINT64:
    case ScalarType.SINT64:
    case ScalarType.FIXED64:
    case ScalarType.SFIXED64:
      return 0n;
    case undefined:
      return field.enum?.values[0]?.number;
    default:
      return 0;
  }
}

function tagOf(number: number, wireType: WireType): number {
  return ((number << 3) | wireType) >>> 0;
}
