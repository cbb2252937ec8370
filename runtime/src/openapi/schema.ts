/** JSON Schemas (draft 2020-12, the dialect of OpenAPI 3.1) of Protocol Buffers messages and enums in ProtoJSON. */
import { type DescEnum, type DescField, type DescMessage, type JsonObject, ScalarType } from "@bufbuild/protobuf";
import { FeatureSet_FieldPresence as Presence } from "@bufbuild/protobuf/wkt";
import { jsonNameOf } from "../codec/json-fields.ts";
import type { SharedSchemas } from "../protocol/payload.ts";
import type { Comments } from "./comments.ts";
import { joinSchemas } from "./rule-keywords.ts";
import { isOneofNeeded, type Rules, rulesOf } from "./rules.ts";
import { scalarSchema, wellKnown } from "./scalar.ts";

/** A schema, or another object of an OpenAPI document. */
export type JsonSchema = JsonObject;

/** Collects the schemas of the messages and enums that are referred to, with those to which they refer in turn. */
export class SchemaCollection implements SharedSchemas {
  /** The collected schemas by their names in `components`. */
  readonly schemas: Map<string, JsonSchema> = new Map();
  readonly comments: Comments;
  /** The names of the schemas of {@link refer}: of messages and enums by their full names. */
  readonly #names = new Map<string | object, string>();

  constructor(comments: Comments) {
    this.comments = comments;
  }

  /** Returns the schema of a message: a reference, or the schema itself for a well-known type. */
  message(type: DescMessage): JsonSchema {
    const known = wellKnown(type)?.schema;
    if (known !== undefined) return known;
    return this.refer(type.typeName, type.typeName, () => this.messageObject(type, type.fields));
  }

  refer(type: string | object, plainName: string, create: () => JsonSchema): JsonSchema {
    const known = this.#names.get(type);
    if (known !== undefined) return reference(known);
    let name = plainName;
    for (let count = 2; this.schemas.has(name); count++) name = `${plainName}_${count}`;
    this.#names.set(type, name);
    // The entry is made first, because the type may refer to itself.
    this.schemas.set(name, {});
    this.schemas.set(name, create());
    return reference(name);
  }

  /** Returns the schema of an object with some of the fields of a message. */
  messageObject(type: DescMessage, fields: readonly DescField[]): JsonSchema {
    const required = fields.filter(isRequired);
    const oneofs = type.oneofs
      .map((oneof) => ({ oneof, members: oneof.fields.filter((field) => fields.includes(field)) }))
      .filter(({ members }) => members.length > 1)
      .map(({ oneof, members }) => atMostOne(members, isOneofNeeded(oneof) && members.length === oneof.fields.length));
    return {
      type: "object",
      ...this.#text(type.typeName, type.deprecated),
      properties: Object.fromEntries(fields.map((field) => [field.jsonName, this.#property(field)])),
      ...(required.length > 0 ? { required: required.map(({ jsonName }) => jsonName) } : {}),
      ...(oneofs.length > 1 ? { allOf: oneofs } : oneofs[0]),
    };
  }

  /** Returns the schema of the value of a field, with its rules. */
  field(field: DescField): JsonSchema {
    return withRules(this.#value(field), rulesOf(field));
  }

  #value(field: DescField): JsonSchema {
    const { scalar, enum: type, message } = field;
    const single =
      message !== undefined
        ? this.message(message)
        : type === undefined
          ? scalarSchema(scalar ?? ScalarType.STRING)
          : this.#enum(type);
    if (field.fieldKind === "list") return { type: "array", items: single };
    if (field.fieldKind !== "map") return single;
    return { type: "object", ...keySchema(field.mapKey), additionalProperties: single };
  }

  #enum(type: DescEnum): JsonSchema {
    if (type.typeName === "google.protobuf.NullValue") return { type: "null" };
    return this.refer(type.typeName, type.typeName, () => ({
      type: "string",
      ...this.#text(type.typeName, type.deprecated, this.#valueList(type)),
      enum: type.values.map(jsonNameOf),
    }));
  }

  /** Lists the comments on the values of an enum, because JSON Schema has no place for them. */
  #valueList({ typeName, values }: DescEnum): string[] {
    const lines = values.flatMap(({ name, jsonName = name, deprecated }) => {
      const comment = this.comments.of(`${typeName}.${name}`).replaceAll(/\s+/g, " ");
      return comment || deprecated
        ? [`- \`${jsonName}\`: ${[deprecated ? "deprecated." : "", comment].join(" ").trim()}`]
        : [];
    });
    return lines.length > 0 ? [lines.join("\n")] : [];
  }

  /** The schema of a property: the schema of the value, with the comment on the field. */
  #property(field: DescField): JsonSchema {
    const { parent, name, deprecated, presence, fieldKind, oneof } = field;
    const isScalar = fieldKind === "scalar" || fieldKind === "enum";
    const isOptional = isScalar && presence === Presence.EXPLICIT && oneof === undefined;
    return {
      ...this.field(field),
      ...this.#text(`${parent.typeName}.${name}`, deprecated, oneofText(field)),
      ...(isOptional ? { "x-presence": "explicit" } : {}),
    };
  }

  #text(name: string, deprecated: boolean, more: readonly string[] = []): JsonSchema {
    const description = [this.comments.of(name), ...more].filter((text) => text !== "").join("\n\n");
    return { ...(description === "" ? {} : { description }), ...(deprecated ? { deprecated } : {}) };
  }
}

/** Returns a reference to a schema in `components`. */
export function reference(name: string): JsonSchema {
  return { $ref: `#/components/schemas/${name}` };
}

function oneofText({ oneof, jsonName }: DescField): string[] {
  const others = oneof?.fields.filter((field) => field.jsonName !== jsonName) ?? [];
  return others.length > 0 ? [`Excludes ${others.map((field) => `\`${field.jsonName}\``).join(", ")}.`] : [];
}

/** Reports whether a field must be in the JSON of a message. */
export function isRequired(field: DescField): boolean {
  return field.presence === Presence.LEGACY_REQUIRED || rulesOf(field)?.isNeeded === true;
}

/** Adds rules to the schema of a value, and of its elements and keys. */
function withRules(schema: JsonSchema, rules: Rules | undefined): JsonSchema {
  if (rules === undefined) return schema;
  const { keywords, elements, keys } = rules;
  const name = schema["type"] === "array" ? "items" : "additionalProperties";
  return {
    ...joinSchemas(schema, keywords),
    ...(elements === undefined ? {} : { [name]: withRules(schema[name] as JsonSchema, elements) }),
    ...(keys === undefined
      ? {}
      : { propertyNames: joinSchemas((schema["propertyNames"] ?? {}) as JsonSchema, keys.keywords) }),
  };
}

/** Returns the constraint that an object has at most one of the members. Its size is proportional to their number. */
function atMostOne(members: readonly DescField[], isNeeded: boolean): JsonSchema {
  const names = members.map(({ jsonName }) => jsonName);
  const none = { properties: Object.fromEntries(names.map((name) => [name, false])) };
  return { oneOf: [...names.map((name) => ({ required: [name] })), ...(isNeeded ? [] : [none])] };
}

/** Returns the constraint on the keys of a map, which are text in JSON. */
function keySchema(key: ScalarType): JsonSchema {
  if (key === ScalarType.STRING) return {};
  if (key === ScalarType.BOOL) return { propertyNames: { enum: ["true", "false"] } };
  return { propertyNames: { pattern: "^-?[0-9]+$" } };
}
