/**
 * Messages that are plain JSON values: what clients exchange whose code was generated with `messages=json`. Nothing here
 * needs protobuf-es, so a bundle of such a client does not carry it.
 */
import type { DescMessage, JsonValue } from "@bufbuild/protobuf";
import { type Codec, encodeJson, parseJson } from "./codec.ts";

/** JSON as it is, for messages that were never anything else. Others have fields that look otherwise in JSON. */
export const plainJsonCodec: Codec = {
  name: "json",
  encode: (type, message) => encodeJson(toValue(type, message)),
  decode: (_type, bytes) => parseJson(bytes) as object,
  values: { toValue, fromValue: (_type, value) => value as object },
};

function toValue(type: DescMessage, message: object): JsonValue {
  if ("plain" in type) return message as JsonValue;
  throw new TypeError(`${type.typeName} is not plain JSON: its client needs triple-es/fetch`);
}

/** What makes up a schema, beyond its name. */
const schemaParts: readonly (keyof DescMessage)[] = ["file", "proto", "fields", "field", "members", "oneofs"];

/** Stands for the schema of a message that is plain JSON, of which only the name is known. */
export function plainMessage(typeName: string): DescMessage {
  const advice = `${typeName} is plain JSON: its client needs triple-es/json`;
  return nameOnly({ typeName, plain: true }, advice);
}

/** Stands for a schema. A codec that needs more of it than the name is refused, with the way out that `advice` names. */
export function nameOnly<T extends { readonly typeName: string }>(message: T, advice: string): DescMessage & T {
  for (const part of schemaParts) {
    Object.defineProperty(message, part, {
      get() {
        throw new TypeError(advice);
      },
    });
  }
  return message as DescMessage & T;
}
