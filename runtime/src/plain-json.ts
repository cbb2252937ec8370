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
  throw new TypeError(`${type.typeName} is not plain JSON: its client needs a transport of triple-es/fetch`);
}

/** What makes up a schema, beyond its name. */
const schemaParts: readonly (keyof DescMessage)[] = ["file", "proto", "fields", "field", "members", "oneofs"];

/** Stands for the schema of a message that is plain JSON, of which only the name is known. */
export function plainMessage(typeName: string): DescMessage {
  const advice = `${typeName} is known as plain JSON only: its client needs a transport of triple-es/json`;
  return Object.assign(nameOnly(typeName, advice), { plain: true });
}

/** Stands for a schema. A codec that needs more of it than the name is refused, with the way out that `advice` names. */
export function nameOnly(typeName: string, advice: string): DescMessage {
  const message = { kind: "message", typeName };
  for (const part of schemaParts) {
    Object.defineProperty(message, part, {
      get() {
        throw new TypeError(advice);
      },
    });
  }
  return message as unknown as DescMessage;
}
