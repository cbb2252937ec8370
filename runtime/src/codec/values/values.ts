/**
 * Values of a message, by which the time and memory of decoding are bounded (`maxMessageValues`): a body of few bytes may have
 * many of them. They are counted before they are decoded, in units of 1/32: a message or the entry of a map is a value, a
 * scalar is a fraction of one, and a message of many fields is more, because its fields are initialized.
 */
import { type DescField, type DescMessage, ScalarType } from "@bufbuild/protobuf";
import { Code, Status } from "../../call/code.ts";
import { RpcError } from "../../call/error.ts";

/**
 * The default of `maxMessageValues`, found by measurement: a body of 4 MiB takes at most about 100 ms of CPU time, and no more
 * memory than 16 times its size and 16 MiB.
 */
export const DEFAULT_MAX_MESSAGE_VALUES = 65_536;

/** Units of a value and of parts of one. A unit stands for about 30 ns and 8 bytes of memory. */
export const Units = {
  /** A message or the entry of a map. */
  value: 32,
  /** A boolean, an enum, or a number of up to 53 bits. */
  number: 1,
  /** A 64-bit integer, which is a `bigint`. */
  long: 4,
  /** A text in a list. */
  text: 8,
  /** A `Uint8Array` over the received bytes. */
  bytes: 16,
  /** The property of a message for a field without a message. */
  field: 4,
  /** The array, object or case of a list, map or oneof, also if it is empty. */
  container: 8,
  /** The object for the value of a field in a oneof. */
  oneof: 8,
  /** An unknown field, which protobuf-es keeps. */
  unknown: 16,
} as const;

/** Counts the values of one received body, which may contain several messages. Throws `resource_exhausted` above the limit. */
export class ValueCount {
  readonly #max: number;
  readonly #bytes: number;
  #read = 0;
  /** The units of messages so far. */
  made = 0;

  /** `bytes`: the size of the body. */
  constructor(max: number, bytes: number) {
    this.#max = max;
    this.#bytes = bytes;
  }

  /** Reports whether the body may have more values than the limit. Otherwise they need not be counted. */
  mayExceed(valuesPerByte: number): boolean {
    return this.#bytes * valuesPerByte > this.#max;
  }

  /** Counts values of text, such as JSON, before it is parsed. */
  addRead(units: number): void {
    this.#read += units;
    if (this.#read > this.#max * Units.value) this.#refuse(this.#read);
  }

  /** Counts values of messages before they are created. */
  addMade(units: number): void {
    this.made += units;
    if (this.made > this.#max * Units.value) this.#refuse(this.made);
  }

  #refuse(units: number): never {
    const problem = `the message has at least ${Math.ceil(units / Units.value)} values, more than the limit of ${this.#max} values (option maxMessageValues of the receiver)`;
    throw new RpcError(Code.ResourceExhausted, problem, { status: Status.BadRequest });
  }
}

/** Returns the units of an empty message, of which protobuf-es initializes each list, map, oneof and field without a message. */
export function messageUnits(type: DescMessage): number {
  let units = Units.value;
  for (const member of type.members) {
    if (member.kind === "oneof" || member.fieldKind === "list" || member.fieldKind === "map") units += Units.container;
    else if (member.fieldKind !== "message") units += Units.field;
  }
  return units;
}

/** The 64-bit integers, which JSON may write as strings. */
export const LONG_TYPES: ReadonlySet<ScalarType | undefined> = new Set([
  ScalarType.INT64,
  ScalarType.UINT64,
  ScalarType.SINT64,
  ScalarType.FIXED64,
  ScalarType.SFIXED64,
]);

/** Returns the units of a field's value, of an item of its list, or of an entry of its map, without those of a message. */
export function fieldUnits(field: DescField): number {
  if (field.fieldKind === "map") return Units.value;
  const oneof = "oneof" in field && field.oneof !== undefined ? Units.oneof : 0;
  // protobuf-es searches the values of a closed enum, and keeps others as unknown fields.
  if (field.enum !== undefined && !field.enum.open) return oneof + Units.unknown + field.enum.values.length / 8;
  return oneof + (field.message === undefined ? scalarUnits(field.scalar, field.fieldKind === "list") : 0);
}

function scalarUnits(scalar: ScalarType | undefined, isListed: boolean): number {
  if (scalar === ScalarType.BYTES) return Units.bytes;
  if (scalar === ScalarType.STRING) return isListed ? Units.text : Units.text / 4;
  return LONG_TYPES.has(scalar) ? Units.long : Units.number;
}

/** Units for each integer up to the largest key of a map: engines reserve an array of one and a half times its size. */
const INDEX_UNITS = 1.5;
/** Largest distance of a key from the array for which engines extend it. Otherwise the map becomes a hash table. */
const MAX_KEY_GAP = 1_024;
const LARGEST_KEY = 9_999;

/**
 * Returns the largest integer in the array that engines reserve for the integer keys of a map, after a key was added to it:
 * the only key 1000 takes 12 KB. `largest` is the result for the keys before.
 */
export function largestKey(largest: number, key: number): number {
  return key > largest && key <= Math.min(1.5 * largest + MAX_KEY_GAP, LARGEST_KEY) ? key : largest;
}

/** Returns the units of the array by which a map grows from one largest integer to the next. */
export function indexUnits(largest: number, next: number): number {
  return INDEX_UNITS * (next - largest);
}

/** Most values for each byte of a message whose types have a few hundred fields at most. */
const MAX_DENSITY = 64;

/** Returns the count of a body's values, or `undefined` for a body that is too small to exceed the limit. */
export function countOf(bytes: Uint8Array, maxMessageValues: number): ValueCount | undefined {
  const { length } = bytes;
  return length * MAX_DENSITY <= maxMessageValues ? undefined : new ValueCount(maxMessageValues, length);
}
