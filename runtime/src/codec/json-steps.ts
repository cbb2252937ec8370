/**
 * Decodes large messages of Protobuf's JSON format within a budget of memory. Lists, maps and the messages in them are
 * decoded in steps; between steps the event loop can run other work.
 */
import {
  create,
  type DescField,
  type DescMessage,
  type JsonObject,
  type JsonValue,
  type Message,
} from "@bufbuild/protobuf";
import {
  type ListValue,
  ListValueSchema,
  type Struct,
  StructSchema,
  type Value,
  ValueSchema,
} from "@bufbuild/protobuf/wkt";
import { nextStep } from "../call/time-slice.ts";
import {
  checkDigits,
  estimateAny,
  estimateField,
  estimateJson,
  isObject,
  isPlain,
  jsonShape,
  VALUE_BYTES,
} from "./json-estimate.ts";
import { isLargeJson, membersInParts } from "./json-parts.ts";
import { Memory, STEP_BYTES, tooMuchMemory } from "./memory.ts";
import { emptyMessage, type MessageFields } from "./proto-estimate.ts";

/** Merges a JSON value into a message: the fields that the value contains are added to it. */
export type MergeJson = (type: DescMessage, message: Message, value: JsonValue) => void;

/**
 * Decodes a value in steps. Throws `resource_exhausted` before the memory of the message, by estimate, exceeds
 * `maxDecodedBytes`. `stepBytes` is the approximate memory that one step allocates.
 */
export async function decodeJsonInSteps(
  type: DescMessage,
  value: JsonValue,
  maxDecodedBytes: number,
  mergeJson: MergeJson,
  stepBytes: number = STEP_BYTES,
): Promise<Message> {
  const message = create(type);
  await new JsonSteps(maxDecodedBytes, mergeJson, stepBytes).merge(type, message as MessageFields, value);
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

  async merge(type: DescMessage, message: MessageFields, value: JsonValue): Promise<void> {
    const { typeName } = type;
    if (typeName === StructSchema.typeName && isObject(value)) {
      const { fields } = message as unknown as Struct;
      return this.#entries(
        value,
        (part) => this.#mergeJson(type, message, part),
        async (key, one) => setEntry(fields, key, await this.#value(one)),
      );
    }
    if (typeName === ListValueSchema.typeName && Array.isArray(value)) {
      const { values } = message as unknown as ListValue;
      return this.#items(
        value,
        (part) => this.#mergeJson(type, message, part),
        async (item) => values.push(await this.#value(item)),
      );
    }
    if (typeName === ValueSchema.typeName && isLargeJson(value)) {
      Object.assign(message, await this.#value(value));
      return;
    }
    const members = isPlain(type) && isObject(value) ? await this.#known(type, value) : undefined;
    if (members === undefined) {
      return this.#step(estimateJson(type, value), () => this.#mergeJson(type, message, value));
    }
    this.#count(emptyMessage(type));
    for (const [key, member] of members) await this.#field(type, message, key, member);
  }

  /**
   * The members of an object that are fields. `undefined` if a field or a oneof is set more than once. That is an error,
   * which decoding in steps would not detect.
   */
  async #known(type: DescMessage, object: JsonObject): Promise<[string, JsonValue][] | undefined> {
    const { fields } = jsonShape(type);
    const known: [string, JsonValue][] = [];
    const seen = new Set<unknown>();
    for (const members of membersInParts(object)) {
      const turn = nextStep();
      if (turn !== undefined) await turn;
      for (const member of members) {
        const [key] = member;
        const field = fields.get(key);
        if (field === undefined) {
          // The key names an extension, which is looked up in the registry.
          if (key.startsWith("[")) known.push(member);
          continue;
        }
        const group = field.fieldKind !== "list" && field.fieldKind !== "map" && field.oneof ? field.oneof : field;
        if (seen.has(group)) return undefined;
        seen.add(group);
        known.push(member);
      }
    }
    return known;
  }

  async #field(type: DescMessage, message: MessageFields, key: string, value: JsonValue): Promise<void> {
    const field = jsonShape(type).fields.get(key);
    const mergePart = (part: JsonValue): void => {
      if (field !== undefined) checkDigits(field, part);
      this.#mergeJson(type, message, { [key]: part });
    };
    if (field?.fieldKind === "map" && isObject(value)) {
      const { message: inside, localName } = field;
      const set = async (name: string, one: JsonValue): Promise<void> => {
        // An entry with an empty value is merged to find out how protobuf-es converts the key.
        const entry = create(type) as MessageFields;
        this.#mergeJson(type, entry, { [key]: { [name]: Array.isArray(one) ? [] : {} } });
        const [known = name] = Object.keys(entry[localName] as object);
        setEntry(message[localName] as Record<string, unknown>, known, await this.#message(inside as DescMessage, one));
      };
      return this.#entries(value, mergePart, isCut(inside) ? set : undefined, inside);
    }
    if (field?.fieldKind === "list" && Array.isArray(value)) {
      const list = message[field.localName] as unknown[];
      const push = async (item: JsonValue): Promise<unknown> =>
        list.push(await this.#message(field.message as DescMessage, item));
      return this.#items(value, mergePart, isCut(field.message) ? push : undefined, field.message);
    }
    const inside = field?.fieldKind === "message" ? field.message : undefined;
    if (field === undefined || !isCut(inside) || !this.#isLarge(inside, value)) {
      return this.#step(field === undefined ? 0 : estimateField(field, value), () => mergePart(value));
    }
    const { localName, oneof } = field as DescField & { fieldKind: "message" };
    if (oneof !== undefined) {
      message[oneof.localName] = { case: localName, value: await this.#message(inside, value) };
      return;
    }
    if (inside.typeName === StructSchema.typeName) {
      message[localName] = await this.#message(inside, value);
      return;
    }
    message[localName] ??= create(inside);
    await this.merge(inside, message[localName] as MessageFields, value);
  }

  /** Reports whether a value is large enough to be decoded in steps of its own. */
  #isLarge(type: DescMessage | undefined, value: JsonValue): boolean {
    if (typeof value !== "object" || value === null) return false;
    return (
      isLargeJson(value) || (type === undefined ? estimateAny(value) : estimateJson(type, value)) > this.#stepBytes
    );
  }

  /**
   * The value of a field for a large JSON value. For `google.protobuf.Struct` it is the JSON itself, checked as if it
   * were converted.
   */
  async #message(type: DescMessage, value: JsonValue): Promise<unknown> {
    const message = create(type);
    await this.merge(type, message as MessageFields, value);
    return type.typeName === StructSchema.typeName ? value : message;
  }

  /** A `google.protobuf.Value` of a large list or object. */
  async #value(value: JsonValue): Promise<Value> {
    const made = create(ValueSchema);
    const isList = Array.isArray(value);
    const inside = create(isList ? ListValueSchema : StructSchema);
    await this.merge(isList ? ListValueSchema : StructSchema, inside as unknown as MessageFields, value);
    // Inside a `google.protobuf.Value` a struct is a message; as a field it is plain JSON.
    made.kind = { case: isList ? "listValue" : "structValue", value: inside } as Value["kind"];
    return made;
  }

  /**
   * Decodes the items of a list, in each step as many as `stepBytes` allows. `addLarge` decodes a large item in steps of its
   * own.
   */
  async #items(
    items: readonly JsonValue[],
    mergePart: (part: JsonValue[]) => void,
    addLarge?: (item: JsonValue) => Promise<unknown>,
    type?: DescMessage,
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
      if (addLarge !== undefined && this.#isLarge(type, item)) {
        await flush();
        this.#count(Memory.item);
        await addLarge(item);
        continue;
      }
      part.push(item);
      memory += Memory.item + (type === undefined ? VALUE_BYTES + estimateAny(item) : estimateJson(type, item));
      if (memory >= this.#stepBytes) await flush();
    }
    await flush();
  }

  /** Decodes the entries of a map in the same way. */
  async #entries(
    object: JsonObject,
    mergePart: (part: JsonObject) => void,
    addLarge?: (key: string, value: JsonValue) => Promise<void>,
    type?: DescMessage,
  ): Promise<void> {
    let part: [string, JsonValue][] = [];
    let memory = 0;
    const flush = async (): Promise<void> => {
      const done = part;
      if (done.length > 0) await this.#step(memory, () => mergePart(Object.fromEntries(done)));
      part = [];
      memory = 0;
    };
    for (const members of membersInParts(object)) {
      for (const member of members) {
        const [key, value] = member;
        if (addLarge !== undefined && this.#isLarge(type, value)) {
          await flush();
          this.#count(VALUE_BYTES);
          await addLarge(key, value);
          continue;
        }
        part.push(member);
        memory += VALUE_BYTES + (type === undefined ? estimateAny(value) : estimateJson(type, value));
        if (memory >= this.#stepBytes) await flush();
      }
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

/** Well-known types whose large values are decoded in steps. */
const CUT = new Set([ListValueSchema.typeName, StructSchema.typeName, ValueSchema.typeName] as string[]);

function isCut(type: DescMessage | undefined): type is DescMessage {
  return type !== undefined && (isPlain(type) || CUT.has(type.typeName));
}

function setEntry(map: Record<string, unknown>, key: string, value: unknown): void {
  Object.defineProperty(map, key, { value, writable: true, enumerable: true, configurable: true });
}
