/**
 * Decodes large messages of Protobuf's JSON format within a budget of memory. Lists, maps and the messages in them are
 * decoded in steps; between steps the event loop can run other work.
 */
import {
  create,
  type DescField,
  type DescMessage,
  type JsonValue,
  type Message,
  type Registry,
} from "@bufbuild/protobuf";
import {
  type Any,
  AnySchema,
  type FieldMask,
  FieldMaskSchema,
  type ListValue,
  ListValueSchema,
  type Struct,
  StructSchema,
  type Value,
  ValueSchema,
} from "@bufbuild/protobuf/wkt";
import { JsonBinary } from "./json-binary.ts";
import { emptyOf, isCut, isStruct, JsonDivision, type MergeJson } from "./json-division.ts";
import { checkDigits, estimateField, estimateJson, isObject, isPlain, jsonShape } from "./json-estimate.ts";
import { isLargeJson, setMember } from "./json-parts.ts";
import { type DecodeBudget, STEP_BYTES } from "./memory.ts";
import { emptyMessage, type MessageFields } from "./proto-estimate.ts";

export interface JsonStepOptions {
  readonly mergeJson: MergeJson;
  /** The types of `google.protobuf.Any`. */
  readonly registry?: Registry | undefined;
  /** Approximate memory that one step allocates, in bytes. */
  readonly stepBytes?: number | undefined;
}

/** Decodes a value in steps. Throws `resource_exhausted` before the estimated memory of the message exceeds the budget. */
export async function decodeJsonInSteps(
  type: DescMessage,
  value: JsonValue,
  budget: DecodeBudget,
  { mergeJson, registry, stepBytes = STEP_BYTES }: JsonStepOptions,
): Promise<Message> {
  const message = create(type);
  const steps = new JsonSteps(new JsonDivision(mergeJson, budget, stepBytes), registry);
  await steps.merge(type, message as MessageFields, value);
  return message;
}

class JsonSteps {
  readonly #division: JsonDivision;
  readonly #registry: Registry | undefined;

  constructor(division: JsonDivision, registry: Registry | undefined) {
    this.#division = division;
    this.#registry = registry;
  }

  async merge(type: DescMessage, message: MessageFields, value: JsonValue): Promise<void> {
    const division = this.#division;
    const mergePart = (part: JsonValue): void => division.mergeJson(type, message, part);
    if (isStruct(type, value)) {
      const { fields } = message as unknown as Struct;
      return division.entries(value, mergePart, async (key, one) => setMember(fields, key, await this.#value(one)));
    }
    const { typeName } = type;
    if (typeName === ListValueSchema.typeName && Array.isArray(value)) {
      const { values } = message as unknown as ListValue;
      return division.items(value, mergePart, async (item) => {
        values.push(await this.#value(item));
      });
    }
    if (typeName === ValueSchema.typeName && isLargeJson(value)) {
      Object.assign(message, await this.#value(value));
      return;
    }
    if (typeName === AnySchema.typeName && isObject(value) && division.isLarge(type, value)) {
      const { typeUrl, value: bytes } = await new JsonBinary(division, this.#registry).any(value);
      Object.assign(message as unknown as Any, { typeUrl, value: bytes });
      return;
    }
    if (typeName === FieldMaskSchema.typeName && typeof value === "string" && division.isLarge(type, value)) {
      const mask = message as unknown as FieldMask;
      mask.paths = [];
      return division.paths(value, (paths) => {
        for (const path of paths) mask.paths.push(path);
      });
    }
    if (!isPlain(type) || !isObject(value)) {
      return division.step(estimateJson(type, value), () => mergePart(value));
    }
    division.count(emptyMessage(type));
    for (const [key, member] of await division.known(type, value)) await this.#field(type, message, key, member);
  }

  async #field(type: DescMessage, message: MessageFields, key: string, value: JsonValue): Promise<void> {
    const division = this.#division;
    const field = jsonShape(type).fields.get(key);
    const mergePart = (part: JsonValue): void => {
      if (field !== undefined) checkDigits(field, part);
      division.mergeJson(type, message, { [key]: part });
    };
    if (field?.fieldKind === "map" && isObject(value)) {
      const { message: inside, localName } = field;
      const set = async (name: string, one: JsonValue): Promise<void> => {
        // An entry with an empty value is merged to find out how protobuf-es converts the key.
        const entry = create(type) as MessageFields;
        division.mergeJson(type, entry, { [key]: { [name]: emptyOf(one) } });
        const [known = name] = Object.keys(entry[localName] as object);
        setMember(message[localName] as object, known, await this.#message(inside as DescMessage, one));
      };
      return division.entries(value, mergePart, isCut(inside) ? set : undefined, inside);
    }
    if (field?.fieldKind === "list" && Array.isArray(value)) {
      const list = message[field.localName] as unknown[];
      const push = async (item: JsonValue): Promise<void> => {
        list.push(await this.#message(field.message as DescMessage, item));
      };
      return division.items(value, mergePart, isCut(field.message) ? push : undefined, field.message);
    }
    const inside = field?.fieldKind === "message" ? field.message : undefined;
    if (field === undefined || !isCut(inside) || !division.isLarge(inside, value)) {
      return division.step(field === undefined ? 0 : estimateField(field, value), () => mergePart(value));
    }
    const { localName, oneof } = field as DescField & { fieldKind: "message" };
    const made = await this.#message(inside, value);
    if (oneof === undefined) message[localName] = made;
    else message[oneof.localName] = { case: localName, value: made };
  }

  /**
   * The value of a field for a large JSON value. For `google.protobuf.Struct` it is the JSON object itself, as protobuf-es
   * represents it.
   */
  async #message(type: DescMessage, value: JsonValue): Promise<unknown> {
    if (isStruct(type, value)) return value;
    const message = create(type);
    await this.merge(type, message as MessageFields, value);
    return message;
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
}
