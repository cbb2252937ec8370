/**
 * Decodes large messages of Protobuf's JSON format within a budget of memory. Lists, maps and the messages in them are
 * decoded in steps that leave the event loop its turns; `JSON.parse` is one step.
 */
import {
  create,
  type DescField,
  type DescMessage,
  type JsonObject,
  type JsonValue,
  type Message,
} from "@bufbuild/protobuf";
import { isWrapperDesc, ListValueSchema, StructSchema } from "@bufbuild/protobuf/wkt";
import { nextStep } from "../call/time-slice.ts";
import { parseJson } from "./codec.ts";
import { Memory, STEP_BYTES, tooMuchMemory } from "./memory.ts";
import { emptyMessage } from "./proto-estimate.ts";

/** JSON that is nested deeper than this is rejected, as in small messages. */
const MAX_DEPTH = 100;

/** The value of JSON text. Throws, before it makes anything, resource_exhausted for more memory than the limit. */
export function parseLargeJson(bytes: Uint8Array, maxDecodedBytes: number): JsonValue {
  const estimate = estimateJsonText(bytes);
  if (estimate > maxDecodedBytes) throw tooMuchMemory(estimate, maxDecodedBytes);
  return parseJson(bytes);
}

/** Memory of the values of JSON text. Invalid text has some estimate; the parser says what is wrong with it. */
export function estimateJsonText(bytes: Uint8Array): number {
  let memory = 0;
  let depth = 0;
  for (let i = 0; i < bytes.length; i += 1) {
    const byte = bytes[i] as number;
    if (byte === QUOTE) {
      const start = i;
      for (i += 1; i < bytes.length && bytes[i] !== QUOTE; i += 1) if (bytes[i] === BACKSLASH) i += 1;
      memory += Memory.text(i - start - 1);
    } else if (byte === COMMA || byte === COLON) memory += Memory.slot;
    else if (byte === OPEN_ARRAY || byte === OPEN_OBJECT) {
      memory += Memory.slot + (byte === OPEN_OBJECT ? Memory.map : Memory.list);
      depth += 1;
      if (depth > MAX_DEPTH) throw new Error(`the JSON is nested more than ${MAX_DEPTH} levels deep`);
    } else if (byte === CLOSE_ARRAY || byte === CLOSE_OBJECT) depth -= 1;
  }
  return memory;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/** A message's type, as far as its JSON and its memory depend on it. */
interface JsonShape {
  /** Memory of an empty message. */
  readonly empty: number;
  /** Whether JSON has an object with the message's fields. The well-known messages have forms of their own. */
  readonly plain: boolean;
  /** Fields by the names that JSON has for them: that of the proto file, and lowerCamel. */
  readonly fields: ReadonlyMap<string, DescField>;
}

const shapes = new WeakMap<DescMessage, JsonShape>();

function jsonShape(type: DescMessage): JsonShape {
  const known = shapes.get(type);
  if (known !== undefined) return known;
  const shape = {
    empty: emptyMessage(type),
    plain: !SPECIAL.has(type.typeName) && !isWrapperDesc(type),
    fields: new Map(type.fields.flatMap((field) => [field.name, field.jsonName].map((name) => [name, field] as const))),
  };
  shapes.set(type, shape);
  return shape;
}

/** Memory of a value of JSON as a message of that type, or as the JSON that the type stands for. */
export function estimateJson(type: DescMessage, value: JsonValue): number {
  const { empty, plain, fields } = jsonShape(type);
  if (!plain || !isObject(value)) return empty + estimateAny(value);
  let memory = empty;
  // Inherited members would be those of Object.prototype, which has none that are enumerable.
  for (const key in value) {
    const field = fields.get(key);
    if (field !== undefined) memory += estimateField(field, value[key] as JsonValue);
  }
  return memory;
}

function estimateField({ fieldKind, message }: DescField, value: JsonValue): number {
  let memory = 0;
  if (fieldKind === "list" && Array.isArray(value)) {
    for (const item of value) memory += Memory.slot + estimateValue(message, item);
  } else if (fieldKind === "map" && isObject(value)) {
    for (const key in value) memory += Memory.entry + Memory.slot + estimateValue(message, value[key] as JsonValue);
  } else memory = Memory.slot + estimateValue(message, value);
  return memory;
}

function estimateValue(type: DescMessage | undefined, value: JsonValue): number {
  return type === undefined ? estimateAny(value) : estimateJson(type, value);
}

/** A value of google.protobuf.Value, with the oneof it has, and its entry of a map. */
const VALUE_BYTES = 2 * Memory.object + Memory.slot + Memory.entry;

function estimateAny(value: JsonValue): number {
  if (typeof value === "string") return Memory.text(value.length);
  if (typeof value !== "object" || value === null) return Memory.number;
  let memory: number = VALUE_BYTES;
  if (Array.isArray(value)) for (const item of value) memory += VALUE_BYTES + estimateAny(item);
  else for (const key in value) memory += VALUE_BYTES + estimateAny(value[key] as JsonValue);
  return memory;
}

function isPlain(type: DescMessage): boolean {
  return jsonShape(type).plain;
}

const SPECIAL = new Set(
  ["Any", "Duration", "FieldMask", "ListValue", "Struct", "Timestamp", "Value"].map(
    (name) => `google.protobuf.${name}`,
  ),
);

function isObject(value: JsonValue): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Reads a value of JSON into a message, to which it adds what is there. */
export type MergeJson = (type: DescMessage, message: Message, value: JsonValue) => void;

type Fields = Message & Record<string, unknown>;

/**
 * Decodes a value in steps. A step throws resource_exhausted before it makes more than the limit. `stepBytes`: memory that is
 * taken in a step.
 */
export async function decodeJsonInSteps(
  type: DescMessage,
  value: JsonValue,
  maxDecodedBytes: number,
  mergeJson: MergeJson,
  stepBytes: number = STEP_BYTES,
): Promise<Message> {
  const message = create(type);
  await new JsonSteps(maxDecodedBytes, mergeJson, stepBytes).merge(type, message as Fields, value);
  return message;
}

class JsonSteps {
  readonly #limit: number;
  readonly #mergeJson: MergeJson;
  readonly #stepBytes: number;
  #memory = 0;

  constructor(limit: number, mergeJson: MergeJson, stepBytes: number) {
    this.#limit = limit;
    this.#mergeJson = mergeJson;
    this.#stepBytes = stepBytes;
  }

  async merge(type: DescMessage, message: Fields, value: JsonValue): Promise<void> {
    const { typeName } = type;
    if (typeName === StructSchema.typeName && isObject(value)) {
      return this.#entries(value, (part) => this.#mergeJson(type, message, part));
    }
    if (typeName === ListValueSchema.typeName && Array.isArray(value)) {
      return this.#items(value, (part) => this.#mergeJson(type, message, part));
    }
    if (!isPlain(type) || !isObject(value) || repeats(type, value)) {
      return this.#step(estimateJson(type, value), () => this.#mergeJson(type, message, value));
    }
    this.#count(emptyMessage(type));
    for (const key of Object.keys(value)) await this.#field(type, message, key, value[key] as JsonValue);
  }

  async #field(type: DescMessage, message: Fields, key: string, value: JsonValue): Promise<void> {
    const field = jsonShape(type).fields.get(key);
    const mergePart = (part: JsonValue): void => this.#mergeJson(type, message, { [key]: part });
    if (field?.fieldKind === "map" && isObject(value)) return this.#entries(value, mergePart, field.message);
    if (field?.fieldKind === "list" && Array.isArray(value)) {
      const list = message[field.localName] as unknown[];
      return this.#items(value, mergePart, field.message, (item) => list.push(item));
    }
    // Of one that is not a list, only a message outside of a oneof is cut.
    const inside = field?.fieldKind === "message" && field.oneof === undefined ? field.message : undefined;
    const estimate = field === undefined ? 0 : estimateField(field, value);
    if (
      field === undefined ||
      inside === undefined ||
      !isPlain(inside) ||
      !isObject(value) ||
      estimate <= this.#stepBytes
    ) {
      return this.#step(estimate, () => mergePart(value));
    }
    const { localName } = field;
    message[localName] ??= create(inside);
    await this.merge(inside, message[localName] as Fields, value);
  }

  /** Items of a list, as many in a step as it may make. `push` takes one that is large, which is made in steps as well. */
  async #items(
    items: readonly JsonValue[],
    mergePart: (part: JsonValue[]) => void,
    type?: DescMessage,
    push?: (message: Message) => void,
  ): Promise<void> {
    let part: JsonValue[] = [];
    let memory = 0;
    const flush = async (): Promise<void> => {
      const done = part;
      if (done.length > 0) await this.#step(memory, () => mergePart(done));
      part = [];
      memory = 0;
    };
    for (const item of items) {
      const own = Memory.slot + (type === undefined ? VALUE_BYTES + estimateAny(item) : estimateJson(type, item));
      if (own > this.#stepBytes && type !== undefined && push !== undefined && isPlain(type) && isObject(item)) {
        await flush();
        const message = create(type);
        await this.merge(type, message as Fields, item);
        push(message);
        continue;
      }
      part.push(item);
      memory += own;
      if (memory >= this.#stepBytes) await flush();
    }
    await flush();
  }

  async #entries(object: JsonObject, mergePart: (part: JsonObject) => void, type?: DescMessage): Promise<void> {
    let part: [string, JsonValue][] = [];
    let memory = 0;
    const flush = async (): Promise<void> => {
      const done = part;
      if (done.length > 0) await this.#step(memory, () => mergePart(Object.fromEntries(done)));
      part = [];
      memory = 0;
    };
    for (const key of Object.keys(object)) {
      const value = object[key] as JsonValue;
      part.push([key, value]);
      memory += VALUE_BYTES + (type === undefined ? estimateAny(value) : estimateJson(type, value));
      if (memory >= this.#stepBytes) await flush();
    }
    await flush();
  }

  #count(memory: number): void {
    this.#memory += memory;
    if (this.#memory > this.#limit) throw tooMuchMemory(this.#memory, this.#limit);
  }

  async #step(memory: number, make: () => void): Promise<void> {
    this.#count(memory);
    const turn = nextStep();
    if (turn !== undefined) await turn;
    make();
  }
}

/** Whether an object names a field, or fields of a oneof, more than once. That is an error, which steps would not notice. */
function repeats(type: DescMessage, object: JsonObject): boolean {
  const { fields } = jsonShape(type);
  const seen = new Set<unknown>();
  return Object.keys(object).some((key) => {
    const field = fields.get(key);
    if (field === undefined) return false;
    const group = field.fieldKind !== "list" && field.fieldKind !== "map" && field.oneof ? field.oneof : field;
    const repeated = seen.has(group);
    seen.add(group);
    return repeated;
  });
}
