/**
 * Messages that are plain JSON values: what clients exchange whose code was generated with `messages=json`. Nothing here
 * needs protobuf-es, so a bundle of such a client does not carry it.
 */
import type { DescMessage, JsonValue } from "@bufbuild/protobuf";
import { type Codec, encodeJson, parseJson } from "./codec.ts";

/** JSON as it is, for messages that were never anything else. */
export const plainJsonCodec: Codec = {
  name: "json",
  encode: (_type, message) => encodeJson(message as JsonValue),
  decode: (_type, bytes) => parseJson(bytes) as object,
  values: {
    toValue: (_type, message) => message as JsonValue,
    fromValue: (_type, value) => value as object,
  },
};

/** What makes up a schema, beyond its name. */
const schemaParts: readonly (keyof DescMessage)[] = ["file", "proto", "fields", "field", "members", "oneofs"];

/**
 * Stands for the schema of a message of which only the name is known. A codec that needs the schema is refused, with the
 * way out that `advice` names.
 */
export function plainMessage(
  typeName: string,
  advice = `${typeName} is known as plain JSON only: its client needs a transport of triple-es/json`,
): DescMessage {
  const message = { kind: "message", typeName, name: typeName.slice(typeName.lastIndexOf(".") + 1) };
  for (const part of schemaParts) {
    Object.defineProperty(message, part, {
      get() {
        throw new TypeError(advice);
      },
    });
  }
  return message as DescMessage;
}
