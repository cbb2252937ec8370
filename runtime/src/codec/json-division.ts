/**
 * Divides large JSON values into parts that are decoded in one step each, and counts their memory. Between steps the
 * event loop can run other work.
 */
import { create, type DescMessage, type JsonObject, type JsonValue, type Message } from "@bufbuild/protobuf";
import { AnySchema, FieldMaskSchema, ListValueSchema, StructSchema, ValueSchema } from "@bufbuild/protobuf/wkt";
import { nextStep } from "../call/time-slice.ts";
import { estimateAny, estimateJson, isObject, isPlain, jsonShape, VALUE_BYTES } from "./json-estimate.ts";
import { isLargeJson, membersInParts } from "./json-parts.ts";
import { type DecodeBudget, Memory } from "./memory.ts";

/** Merges a JSON value into a message: the fields that the value contains are added to it. */
export type MergeJson = (type: DescMessage, message: Message, value: JsonValue) => void;

/** Characters of a `google.protobuf.FieldMask` that are decoded in one step. */
const MASK_STEP_CHARACTERS = 16 * 1024;

export class JsonDivision {
  readonly mergeJson: MergeJson;
  readonly #budget: DecodeBudget;
  readonly #stepBytes: number;

  constructor(mergeJson: MergeJson, budget: DecodeBudget, stepBytes: number) {
    this.mergeJson = mergeJson;
    this.#budget = budget;
    this.#stepBytes = stepBytes;
  }

  count(memory: number): void {
    this.#budget.take(memory);
  }

  async step(memory: number, make: () => void): Promise<void> {
    this.count(memory);
    const turn = nextStep();
    if (turn !== undefined) await turn;
    make();
  }

  /** Reports whether a value is large enough to be decoded in steps of its own. */
  isLarge(type: DescMessage | undefined, value: JsonValue): boolean {
    if (typeof value === "string") return isMask(type) && value.length > MASK_STEP_CHARACTERS;
    if (typeof value !== "object" || value === null) return false;
    return (
      isLargeJson(value) || (type === undefined ? estimateAny(value) : estimateJson(type, value)) > this.#stepBytes
    );
  }

  /**
   * Returns the members of an object that are fields. Throws the error of protobuf-es if a field
   * or a oneof is set more than once, which decoding in steps would not detect.
   */
  async known(type: DescMessage, object: JsonObject): Promise<[string, JsonValue][]> {
    const { fields } = jsonShape(type);
    const known: [string, JsonValue][] = [];
    const seen = new Map<unknown, [string, JsonValue]>();
    for (const members of membersInParts(object)) {
      const turn = nextStep();
      if (turn !== undefined) await turn;
      for (const member of members) {
        const [key, value] = member;
        const field = fields.get(key);
        if (field === undefined) {
          // The key names an extension, which is looked up in the registry.
          if (key.startsWith("[")) known.push(member);
          continue;
        }
        const oneof = "oneof" in field && !(field.fieldKind === "scalar" && value === null) ? field.oneof : undefined;
        for (const group of [field, oneof]) {
          const other = group && seen.get(group);
          if (other !== undefined) this.mergeJson(type, create(type), Object.fromEntries([other, member].map(small)));
          if (group !== undefined) seen.set(group, member);
        }
        known.push(member);
      }
    }
    return known;
  }

  /**
   * Decodes the items of a list, in each step as many as `stepBytes` allows. `addLarge` decodes a large item in steps of its
   * own.
   */
  async items(
    items: readonly JsonValue[],
    mergePart: (part: JsonValue[]) => void,
    addLarge?: (item: JsonValue) => Promise<void>,
    type?: DescMessage,
  ): Promise<void> {
    let part: JsonValue[] = [];
    let memory = 0;
    const flush = async (): Promise<void> => {
      const done = part;
      if (done.length > 0) await this.step(memory, () => mergePart(done));
      part = [];
      memory = 0;
    };
    for (const item of items) {
      if (addLarge !== undefined && this.isLarge(type, item)) {
        await flush();
        this.count(Memory.item);
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
  async entries(
    object: JsonObject,
    mergePart: (part: JsonObject) => void,
    addLarge?: (key: string, value: JsonValue) => Promise<void>,
    type?: DescMessage,
  ): Promise<void> {
    let part: [string, JsonValue][] = [];
    let memory = 0;
    const flush = async (): Promise<void> => {
      const done = part;
      if (done.length > 0) await this.step(memory, () => mergePart(Object.fromEntries(done)));
      part = [];
      memory = 0;
    };
    for (const members of membersInParts(object)) {
      for (const member of members) {
        const [key, value] = member;
        if (addLarge !== undefined && this.isLarge(type, value)) {
          await flush();
          this.count(VALUE_BYTES);
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

  /** Decodes the text of a `google.protobuf.FieldMask`, and passes its paths to `add`. */
  async paths(text: string, add: (paths: string[]) => void): Promise<void> {
    let last = "";
    for (let start = 0; start < text.length; start += MASK_STEP_CHARACTERS) {
      await this.step(0, () => {
        const mask = create(FieldMaskSchema);
        this.mergeJson(FieldMaskSchema, mask, text.slice(start, start + MASK_STEP_CHARACTERS));
        const [first = "", ...paths] = mask.paths;
        // The first path of a part continues the last one of the part before.
        paths.unshift(last + first);
        last = paths.pop() as string;
        for (const path of paths) this.count(Memory.item + Memory.text(path.length));
        add(paths);
      });
    }
    this.count(Memory.item + Memory.text(last.length));
    add([last]);
  }
}

/** Well-known types whose large values are decoded in steps. */
const CUT = new Set(
  [AnySchema, FieldMaskSchema, ListValueSchema, StructSchema, ValueSchema].map(({ typeName }) => typeName as string),
);

/** Reports whether large values of the type are decoded in steps. */
export function isCut(type: DescMessage | undefined): type is DescMessage {
  return type !== undefined && (isPlain(type) || CUT.has(type.typeName));
}

function isMask(type: DescMessage | undefined): boolean {
  return type?.typeName === FieldMaskSchema.typeName;
}

/** Replaces the value of a member by one that is valid for every field and decoded at once. */
function small([key, value]: [string, JsonValue]): [string, JsonValue] {
  return [key, typeof value === "object" ? null : value];
}

/** Reports whether the value is an object that is decoded as a `google.protobuf.Struct`. */
export function isStruct(type: DescMessage, value: JsonValue): value is JsonObject {
  return type.typeName === StructSchema.typeName && isObject(value);
}

/** Returns an empty value in place of a large one, of the same kind. */
export function emptyOf(value: JsonValue): JsonValue {
  return Array.isArray(value) ? [] : typeof value === "string" ? "" : {};
}
