/** The serialization for interfaces whose classes are protobuf messages. Its name on the wire is `protobuf`. */
import { create, type DescMessage, fromBinary, isMessage, type Message, toBinary } from "@bufbuild/protobuf";
import {
  BoolValueSchema,
  BytesValueSchema,
  DoubleValueSchema,
  FloatValueSchema,
  Int32ValueSchema,
  Int64ValueSchema,
  StringValueSchema,
  TimestampSchema,
  timestampDate,
  timestampFromDate,
} from "@bufbuild/protobuf/wkt";
import { countProtoValues, Units, ValueCount } from "triple-es/internal";
import { Cost } from "./cost.ts";
import type { Serialization } from "./serialization.ts";
import type { JavaPrimitive, JavaType } from "./signature.ts";
import { isBytes, nameOf, scalarOf, show, toDate, toScalar } from "./type.ts";

/** Wrapper messages of Protocol Buffers for scalars. */
const WRAPPER_OF_PRIMITIVE: Readonly<Partial<Record<JavaPrimitive, DescMessage>>> = {
  boolean: BoolValueSchema,
  byte: Int32ValueSchema,
  short: Int32ValueSchema,
  int: Int32ValueSchema,
  long: Int64ValueSchema,
  float: FloatValueSchema,
  double: DoubleValueSchema,
  char: StringValueSchema,
};

/**
 * Creates the serialization. `messages` contains the schema of each class by its name in Java; default: none. Values of such
 * classes are messages or their init shapes. Simple values are sent in the wrapper messages of Protocol Buffers, and dates as
 * timestamps. Other values, including null, throw a `TypeError`.
 */
export function createProtobufSerialization(messages: Readonly<Record<string, DescMessage>> = {}): Serialization {
  const schemas = new Map(Object.entries(messages));

  function schemaOf(type: JavaType): DescMessage {
    const scalar = scalarOf(type);
    const wrapper = scalar === undefined ? undefined : WRAPPER_OF_PRIMITIVE[scalar];
    if (wrapper !== undefined) return wrapper;
    if (isBytes(type)) return BytesValueSchema;
    if (type === "java.lang.String") return StringValueSchema;
    if (type === "java.util.Date") return TimestampSchema;
    const schema = typeof type === "object" && "class" in type ? schemas.get(nameOf(type)) : undefined;
    if (schema !== undefined) return schema;
    throw new TypeError(`no message is known for ${nameOf(type)}`);
  }

  return {
    name: "protobuf",
    encode(type, value) {
      // The result of a void method is null with the declared type `Object`.
      if (type === "java.lang.Object" && value === null) return new Uint8Array(0);
      const schema = schemaOf(type);
      return toBinary(schema, messageOf(schema, type, value));
    },
    decode(type, bytes, cost = new Cost()) {
      const schema = schemaOf(type);
      const count = new ValueCount(cost.maxMessageValues, Number.POSITIVE_INFINITY);
      countProtoValues(schema, bytes, count);
      cost.add(count.made / Units.value);
      const message = fromBinary(schema, bytes);
      if (isMessage(message, TimestampSchema)) return toDate(timestampDate(message));
      const scalar = scalarOf(type);
      if (typeof type === "object" && !isBytes(type)) return message;
      const { value } = message as Message & { readonly value: unknown };
      return scalar === undefined ? value : toScalar(scalar, value);
    },
  };
}

function messageOf(schema: DescMessage, type: JavaType, value: unknown): Message {
  if (type === "java.util.Date") return timestampFromDate(toDate(value));
  const scalar = scalarOf(type);
  if (scalar !== undefined) return create(schema, { value: toScalar(scalar, value) });
  if (isBytes(type) ? value instanceof Uint8Array : type === "java.lang.String" && typeof value === "string") {
    return create(schema, { value });
  }
  if (typeof type === "object" && !isBytes(type) && typeof value === "object" && value !== null) {
    return isMessage(value, schema) ? value : create(schema, value as Record<string, unknown>);
  }
  throw new TypeError(`${show(value)} is not a valid ${nameOf(type)}`);
}
