/**
 * Encodes large messages in Protobuf's JSON format in steps: first their JSON value, then its text. Between steps the event
 * loop can run other work.
 */
import {
  create,
  type DescField,
  type DescMessage,
  fromJson,
  type JsonObject,
  type JsonValue,
  type Message,
  type Registry,
} from "@bufbuild/protobuf";
import {
  type Any,
  AnySchema,
  type BytesValue,
  BytesValueSchema,
  type FieldMask,
  FieldMaskSchema,
  type ListValue,
  ListValueSchema,
  type Struct,
  StructSchema,
  type Value,
  ValueSchema,
} from "@bufbuild/protobuf/wkt";
import { type Steps, waitFor } from "../call/steps.ts";
import { initOf, inParts, pick } from "./encode-parts.ts";
import {
  BASE64_BYTES_PER_UNIT,
  givenValue,
  isPlainJson,
  STEP_WEIGHT,
  Weigher,
  weighKey,
  weighPath,
} from "./encode-weight.ts";
import { ANY_TYPE } from "./json-binary.ts";
import { isPlain } from "./json-estimate.ts";
import { LargeObject, setMember } from "./json-parts.ts";
import { decodeProtoInSteps } from "./proto-steps.ts";

/** Converts a small message, or its init shape, to its JSON value at once. */
type ToJson = (type: DescMessage, message: object) => JsonValue;

/**
 * Returns the work of converting a large message, or its init shape, to its JSON value in steps. Returns `undefined` for a
 * small message, unless the weight of a step is given.
 */
export function jsonSteps(
  type: DescMessage,
  message: object,
  toJson: ToJson,
  registry: Registry | undefined,
  step?: number,
): Steps<JsonValue> | undefined {
  const weigher = new Weigher(BASE64_BYTES_PER_UNIT);
  if (step === undefined && !weigher.isLarge(type, message)) return undefined;
  return new JsonEncoder(toJson, registry, weigher, step ?? STEP_WEIGHT).message(type, message);
}

type ListField = DescField & { readonly fieldKind: "list" };
type MapField = DescField & { readonly fieldKind: "map" };

/** Characters of a path of a field mask that are converted in one step. */
const PATH_STEP_CHARACTERS = 4_096;

class JsonEncoder {
  readonly #toJson: ToJson;
  readonly #registry: Registry | undefined;
  readonly #weigher: Weigher;
  readonly #step: number;

  constructor(toJson: ToJson, registry: Registry | undefined, weigher: Weigher, step: number) {
    this.#weigher = weigher;
    this.#step = step;
    this.#toJson = toJson;
    this.#registry = registry;
  }

  *message(type: DescMessage, message: object): Steps<JsonValue> {
    if (this.#weigher.message(type, message, this.#step) < this.#step) return this.#toJson(type, message);
    const { fields } = type;
    switch (type.typeName) {
      case StructSchema.typeName:
        return yield* this.#map(type, fields[0] as MapField, (message as Struct).fields, (part) => part);
      case ListValueSchema.typeName:
        return yield* this.#list(type, fields[0] as ListField, (message as ListValue).values, (part) => part);
      case ValueSchema.typeName:
        return yield* this.#value(message as Value);
      case AnySchema.typeName:
        return yield* this.#any(message as Any);
      case FieldMaskSchema.typeName:
        return yield* this.#mask((message as FieldMask).paths);
    }
    if (isPlain(type)) return yield* this.#fields(type, message);
    yield;
    const { value } = message as Partial<BytesValue>;
    const text = type.typeName === BytesValueSchema.typeName && value !== undefined ? toBase64(value) : undefined;
    return text ?? this.#toJson(type, message);
  }

  /** Converts the fields of a message in the order of their numbers, and its extensions. */
  *#fields(type: DescMessage, message: object): Steps<JsonObject> {
    const json: JsonObject = {};
    const add = (init: object): void => addMembers(json, this.#toJson(type, init));
    const given = type.fields
      .toSorted((a, b) => a.number - b.number)
      .flatMap((field) => {
        const value = givenValue(field, message);
        return value === undefined ? [] : [{ field, value }];
      });
    const field = this.#field.bind(this, type);
    yield* inParts(given, {
      step: this.#step,
      weigh: ({ field, value }) => this.#weigher.field(field, value, this.#step),
      add: (part) => add(Object.assign({}, ...part.map((one) => initOf(one.field, one.value)))),
      *addLarge(one) {
        const value = yield* field(one.field, one.value);
        if (value === undefined) add(initOf(one.field, one.value));
        else setMember(json, one.field.jsonName, value);
      },
    });
    const { $unknown } = message as Message;
    if ($unknown !== undefined && this.#registry !== undefined) add(Object.assign(create(type), { $unknown }));
    return json;
  }

  /** Converts the value of a field; `undefined`: it cannot be divided. */
  *#field(type: DescMessage, field: DescField, value: unknown): Steps<JsonValue | undefined> {
    const takeOut = (part: JsonValue): JsonValue => (part as JsonObject)[field.jsonName] as JsonValue;
    if (field.fieldKind === "list") return yield* this.#list(type, field, value as unknown[], takeOut);
    if (field.fieldKind === "map") return yield* this.#map(type, field, value as object, takeOut);
    return yield* this.#one(field, value);
  }

  /** Converts one value of a field; `undefined`: it cannot be divided. */
  *#one(field: DescField, value: unknown): Steps<JsonValue | undefined> {
    const { message: type } = field;
    if (value instanceof Uint8Array && value.byteLength > 0) {
      yield;
      return toBase64(value);
    }
    if (type === undefined || typeof value !== "object" || value === null) {
      yield;
      return undefined;
    }
    return yield* isPlainJson(field, value) ? this.#struct(value as JsonObject) : this.message(type, value);
  }

  /** Converts a list. `takeOut` takes the list out of the JSON value of the message that has it. */
  *#list(
    type: DescMessage,
    field: ListField,
    items: readonly unknown[],
    takeOut: (part: JsonValue) => JsonValue,
  ): Steps<JsonValue[]> {
    const list: JsonValue[] = [];
    const add = (part: readonly unknown[]): void => {
      for (const one of takeOut(this.#toJson(type, { [field.localName]: part })) as JsonValue[]) list.push(one);
    };
    const one = this.#one.bind(this, field);
    yield* inParts(items, {
      step: this.#step,
      weigh: (item) => this.#weigher.value(field, item, this.#step),
      add,
      *addLarge(item) {
        const value = yield* one(item);
        if (value === undefined) add([item]);
        else list.push(value);
      },
    });
    return list;
  }

  /** Converts a map as {@link #list} converts a list. */
  *#map(type: DescMessage, field: MapField, map: object, takeOut: (part: JsonValue) => JsonValue): Steps<JsonObject> {
    const members = map as Readonly<Record<string, unknown>>;
    const large = new LargeObject();
    const add = (keys: readonly string[]): void => {
      const part = takeOut(this.#toJson(type, { [field.localName]: pick(map, keys) })) as JsonObject;
      for (const [key, value] of Object.entries(part)) large.set(key, value);
    };
    const one = this.#one.bind(this, field);
    yield* inParts(this.#weigher.keys(map), {
      step: this.#step,
      weigh: (key) => weighKey(key) + this.#weigher.value(field, members[key], this.#step),
      add,
      *addLarge(key) {
        const value = yield* one(members[key]);
        if (value === undefined) add([key]);
        else large.set(key, value);
      },
    });
    return large.object;
  }

  /** Converts a `google.protobuf.Struct` that is given as JSON, which checks it. */
  *#struct(object: JsonObject): Steps<JsonObject> {
    const large = new LargeObject();
    const add = (keys: readonly string[]): void => {
      const part = this.#toJson(StructSchema, fromJson(StructSchema, pick(object, keys) as JsonObject));
      for (const [key, value] of Object.entries(part as JsonObject)) large.set(key, value);
    };
    const json = this.#json.bind(this);
    yield* inParts(this.#weigher.keys(object), {
      step: this.#step,
      weigh: (key) => weighKey(key) + this.#weigher.json(object[key], this.#step),
      add,
      *addLarge(key) {
        large.set(key, yield* json(object[key] as JsonValue));
      },
    });
    return large.object;
  }

  /** Converts a `google.protobuf.Value` that is given as JSON. */
  *#json(value: JsonValue): Steps<JsonValue> {
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return yield* this.#struct(value);
    if (!Array.isArray(value)) {
      yield;
      return this.#toJson(ValueSchema, fromJson(ValueSchema, value));
    }
    const list: JsonValue[] = [];
    const json = this.#json.bind(this);
    yield* inParts(value, {
      step: this.#step,
      weigh: (item) => this.#weigher.json(item, this.#step),
      add: (part) => {
        const items = this.#toJson(ListValueSchema, fromJson(ListValueSchema, part)) as JsonValue[];
        for (const item of items) list.push(item);
      },
      *addLarge(item) {
        list.push(yield* json(item));
      },
    });
    return list;
  }

  *#value(message: Value): Steps<JsonValue> {
    const { kind } = message;
    if (kind.case === "structValue") return yield* this.message(StructSchema, kind.value);
    if (kind.case === "listValue") return yield* this.message(ListValueSchema, kind.value);
    yield;
    return this.#toJson(ValueSchema, message);
  }

  *#any(message: Any): Steps<JsonValue> {
    const { typeUrl, value } = message;
    const type = this.#registry?.getMessage(typeUrl.slice(typeUrl.lastIndexOf("/") + 1));
    if (type === undefined) return this.#toJson(AnySchema, message);
    const decoding = Promise.resolve(decodeProtoInSteps(type, value, Number.POSITIVE_INFINITY));
    const content = yield* this.message(type, yield* waitFor(decoding));
    if (!isPlain(type)) return { value: content, [ANY_TYPE]: typeUrl };
    (content as JsonObject)[ANY_TYPE] = typeUrl;
    return content;
  }

  /** Converts the paths of a field mask. A path is divided where no underscore affects the next character. */
  *#mask(paths: readonly string[]): Steps<string> {
    const converted: string[] = [];
    const convert = (part: readonly string[]): string => this.#toJson(FieldMaskSchema, { paths: part }) as string;
    yield* inParts(paths, {
      step: this.#step,
      weigh: weighPath,
      add: (part) => converted.push(convert(part)),
      *addLarge(path) {
        let text = "";
        for (let start = 0; start < path.length; ) {
          let end = start + PATH_STEP_CHARACTERS;
          while (end < path.length && path[end - 1] === "_") end += 1;
          text += convert([path.slice(start, end)]);
          start = end;
          yield;
        }
        converted.push(text);
      },
    });
    return converted.join(",");
  }
}

function addMembers(object: JsonObject, part: JsonValue): void {
  for (const [key, value] of Object.entries(part as JsonObject)) setMember(object, key, value);
}

/** Encodes bytes in base64 with padding. Returns `undefined` without `Buffer`, which is many times faster than protobuf-es. */
function toBase64(bytes: Uint8Array): string | undefined {
  if (typeof Buffer !== "function") return undefined;
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("base64");
}
