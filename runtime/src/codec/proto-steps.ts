/**
 * Decodes large messages of Protobuf's binary format with a limit on memory and in steps, and yields to the event loop
 * between them. A message may be split between any two of its fields: by the definition of the format, decoding the
 * parts one after another into one message is the same as decoding the whole.
 */
import {
  create,
  type DescField,
  type DescMessage,
  fromBinary,
  type JsonObject,
  mergeFromBinary,
} from "@bufbuild/protobuf";
import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import { isWrapperDesc, type Struct, type Value } from "@bufbuild/protobuf/wkt";
import type { GeneratedCodec } from "../call/method.ts";
import { nextStep } from "../call/time-slice.ts";
import { valueToJson } from "./binary/struct.ts";
import { plainBytes } from "./codec.ts";
import { setMember } from "./json-parts.ts";
import { recordMemory, STEP_BYTES, tooMuchMemory } from "./memory.ts";
import { isVarint, type MessageFields, type MessageShape, ProtoEstimator, shapeOf } from "./proto-estimate.ts";

/**
 * Counts towards the size of a step for each field, because to decode a field takes time even if it takes no memory: it may
 * repeat another one, or be empty.
 */
const FIELD_BYTES = 4;

type MapField = DescField & { readonly fieldKind: "map"; readonly message: DescMessage };

interface StepOptions {
  /** Memory that one step takes, in bytes. */
  readonly stepBytes?: number;
  /** The decoder of the message's fields and of nested messages that are no larger than a step. */
  readonly generated?: GeneratedCodec | undefined;
}

/**
 * Decodes a message, at once if it is no larger than a step. Throws `resource_exhausted`, before it decodes anything,
 * for a message over the memory limit.
 */
export function decodeProtoInSteps(
  type: DescMessage,
  given: Uint8Array,
  maxDecodedBytes: number,
  { stepBytes = STEP_BYTES, generated }: StepOptions = {},
): object | Promise<object> {
  const bytes = plainBytes(given);
  const estimator = new ProtoEstimator(bytes, maxDecodedBytes);
  const estimate = estimator.fields(shapeOf(type, generated !== undefined), bytes.length);
  if (estimate > maxDecodedBytes) throw tooMuchMemory(estimate, maxDecodedBytes);
  if (estimate + FIELD_BYTES * estimator.count <= stepBytes) {
    return recordMemory(generated?.decode(bytes) ?? fromBinary(type, bytes), estimate);
  }
  const message = create(type) as MessageFields;
  return merge(message, type, bytes, stepBytes, generated).then(() => recordMemory(message, estimate));
}

async function merge(
  message: MessageFields,
  type: DescMessage,
  bytes: Uint8Array,
  stepBytes: number,
  generated?: GeneratedCodec,
): Promise<void> {
  const shape = shapeOf(type);
  const estimator = new ProtoEstimator(bytes, Number.POSITIVE_INFINITY);
  // The estimate of a field ends soon after it has exceeded a step. Otherwise, each level of nesting would read the rest of
  // the message again.
  const sampler = new ProtoEstimator(bytes, stepBytes, 0, FIELD_BYTES);
  let start = 0;
  let memory = 0;
  async function mergeUpTo(end: number): Promise<void> {
    if (end > start) await mergePart(bytes.subarray(start, end));
    start = end;
    memory = 0;
  }
  async function mergePart(part: Uint8Array): Promise<void> {
    const turn = nextStep();
    if (turn !== undefined) await turn;
    if (generated === undefined) mergeFromBinary(type, message, part);
    else generated.decode(part, message);
  }
  while (estimator.position < bytes.length) {
    const { position } = estimator;
    sampler.position = position;
    const own = sampler.fields(shape, bytes.length, "field");
    const large = own > stepBytes ? largeField(shape, bytes, position) : undefined;
    if (large !== undefined) {
      await mergeUpTo(position);
      await mergeField(message, type, { ...large, stepBytes });
      start = estimator.position = large.end;
      continue;
    }
    if (own <= stepBytes) estimator.position = sampler.position;
    else {
      estimator.fields(shape, bytes.length, "field");
      const parts = packedParts(shape, bytes, position, estimator.position, stepBytes);
      if (parts !== undefined) {
        await mergeUpTo(position);
        for (const part of parts) await mergePart(part);
        start = estimator.position;
        continue;
      }
    }
    memory += own;
    if (memory >= stepBytes) await mergeUpTo(estimator.position);
  }
  await mergeUpTo(bytes.length);
}

/** Returns the field that begins at the position if its value can be split, or `undefined`. */
function largeField(shape: MessageShape, bytes: Uint8Array, position: number): PlacedField | undefined {
  const reader = new ProtoEstimator(bytes, 0, position);
  const field = shape.fields.get(reader.uint32() >>> 3)?.field;
  if (field?.message === undefined || isWrapperDesc(field.message)) return undefined;
  if (field.fieldKind !== "map" && field.delimitedEncoding) return undefined;
  const contents = lengthDelimited(bytes, reader);
  return { field, contents, end: reader.position + contents.length };
}

/**
 * Splits a large packed field from `start` to `end` into fields of fewer values. Returns `undefined` for any other field.
 */
function packedParts(
  shape: MessageShape,
  bytes: Uint8Array,
  start: number,
  end: number,
  stepBytes: number,
): Iterable<Uint8Array> | undefined {
  const reader = new ProtoEstimator(bytes, 0, start);
  const tag = reader.uint32();
  const field = shape.fields.get(tag >>> 3);
  if (field?.packable !== true || (tag & 7) !== WireType.LengthDelimited) return undefined;
  const contents = lengthDelimited(bytes, reader);
  // Each value has at least one byte. The size is a multiple of four and eight, the sizes of fixed values.
  const partBytes = Math.max(8, Math.ceil(stepBytes / field.each / 8) * 8);
  return splitPacked(tag, contents, bytes.subarray(reader.position, end), { partBytes, varints: isVarint(field) });
}

/**
 * `whole` is the contents and, in a malformed message, the rest of the last value. Each varint ends with a byte below
 * 128, and fixed values end at a multiple of their size.
 */
function* splitPacked(
  tag: number,
  contents: Uint8Array,
  whole: Uint8Array,
  { partBytes, varints }: { readonly partBytes: number; readonly varints: boolean },
): Generator<Uint8Array, void> {
  for (let at = 0; at < contents.length; ) {
    let next = Math.min(at + partBytes, contents.length);
    while (varints && next < contents.length && (contents[next - 1] as number) >= 0x80) next += 1;
    const head = new BinaryWriter().uint32(tag).uint32(next - at);
    yield head.raw(next < contents.length ? contents.subarray(at, next) : whole.subarray(at)).finish();
    at = next;
  }
}

/** Returns the bytes after the length at the reader's position. */
function lengthDelimited(bytes: Uint8Array, reader: ProtoEstimator): Uint8Array {
  const length = reader.uint32();
  const end = reader.position + length;
  if (end > bytes.length) throw new Error("a field is longer than the message that it is in");
  return bytes.subarray(reader.position, end);
}

interface LargeField {
  readonly field: DescField;
  readonly contents: Uint8Array;
}

interface PlacedField extends LargeField {
  /** Offset of the next field. */
  readonly end: number;
}

interface Part extends LargeField {
  readonly stepBytes: number;
}

async function mergeField(message: MessageFields, type: DescMessage, part: Part): Promise<void> {
  const { field } = part;
  const { localName } = field;
  if (field.fieldKind === "map") return mergeEntry(message, type, field as MapField, part);
  if (field.fieldKind === "list") {
    (message[localName] as unknown[]).push(await mergeValue(part, undefined));
    return;
  }
  const oneof = "oneof" in field ? field.oneof?.localName : undefined;
  if (oneof === undefined) {
    message[localName] = await mergeValue(part, message[localName]);
    return;
  }
  const known = message[oneof] as { readonly case: string | undefined; readonly value?: unknown };
  const value = await mergeValue(part, known.case === localName ? known.value : undefined);
  message[oneof] = { case: localName, value };
}

/** Merges the contents into the known value or a new one, and returns it. */
async function mergeValue({ field, contents, stepBytes }: Part, known: unknown): Promise<unknown> {
  const type = field.message as DescMessage;
  // protobuf-es represents a field of type Struct as plain JSON, except in google.protobuf.Value.
  const isJson = type.typeName === "google.protobuf.Struct" && field.parent.typeName !== "google.protobuf.Value";
  const message = (isJson ? undefined : known) ?? create(type);
  await merge(message as MessageFields, type, contents, stepBytes);
  return isJson ? mergeJson((known ?? {}) as JsonObject, message as Struct) : message;
}

async function mergeJson(object: JsonObject, { fields }: Struct): Promise<JsonObject> {
  for (const key of Object.keys(fields)) {
    const turn = nextStep();
    if (turn !== undefined) await turn;
    setMember(object, key, valueToJson(fields[key] as Value));
  }
  return object;
}

/** Merges a map entry whose value is large. The entry may have its key and the parts of its value in any order. */
async function mergeEntry(message: MessageFields, type: DescMessage, field: MapField, part: Part): Promise<void> {
  const { contents: entry } = part;
  const shape = shapeOf(type).fields.get(field.number)?.child as MessageShape;
  const estimator = new ProtoEstimator(entry, Number.POSITIVE_INFINITY);
  // The entry without its value is decoded into a separate message, because only the decoder converts the key to its
  // property name.
  const writer = new BinaryWriter().tag(field.number, WireType.LengthDelimited).fork();
  let value: unknown;
  while (estimator.position < entry.length) {
    const { position } = estimator;
    estimator.fields(shape, entry.length, "field");
    const reader = new ProtoEstimator(entry, 0, position);
    if (reader.uint32() >>> 3 === 2) {
      value = await mergeValue({ ...part, contents: lengthDelimited(entry, reader) }, value);
    } else writer.raw(entry.subarray(position, estimator.position));
  }
  const alone = fromBinary(type, writer.join().finish()) as MessageFields;
  const [[key, none] = [""]] = Object.entries(alone[field.localName] as object);
  setMember(message[field.localName] as object, key, value ?? none);
}
