/**
 * Codecs that limit the values of the messages that they decode. Browser bundles use the codecs without this limit, because a
 * page trusts its server.
 */
import { type DescMessage, type JsonValue, toBinary } from "@bufbuild/protobuf";
import type { GeneratedCodec } from "../call/method.ts";
import { encodeInto, writeEncoded } from "./binary/writer.ts";
import {
  type Codec,
  createJsonCodec,
  decodeJson,
  findCodec,
  type JsonCodecOptions,
  type JsonValues,
  jsonCodec,
  protoCodec,
  toMessage,
} from "./codec.ts";
import { readJson } from "./json-reader.ts";
import { writeJson } from "./json-writer.ts";
import { countJsonMessage, countJsonText } from "./values/json.ts";
import { countProtoValues } from "./values/proto.ts";
import type { ValueCount } from "./values/values.ts";
import { checkCodecNames } from "./wire-name.ts";

/** The `protoCodec` with a limit on values, for servers and for clients on Node. */
export const boundedProtoCodec: Codec = {
  ...protoCodec,
  decode(type, bytes, generated, count) {
    if (count !== undefined) countProtoValues(type, bytes, count);
    return protoCodec.decode(type, bytes, generated);
  },
};

/**
 * The codec that is used by default: it writes into the memory of generated codecs. It is not the exported one, because a codec
 * made of that with another `encode` must not keep this `encodeWithHeadroom`.
 */
export const defaultProtoCodec: Codec = {
  ...boundedProtoCodec,
  encode: (type, message, generated) => encodeWithHeadroom(0, type, message, generated),
  encodeWithHeadroom,
};

function encodeWithHeadroom(
  headroom: number,
  type: DescMessage,
  given: object,
  generated?: GeneratedCodec,
): Uint8Array {
  const message = toMessage(type, given);
  let failure: unknown;
  try {
    if (generated !== undefined) return generated.encode(message, headroom);
  } catch (error) {
    failure = error;
  }
  // protobuf-es names the field of an invalid value, and accepts values of other types, such as `undefined` in a list of messages.
  const bytes = toBinary(type, message);
  // The error of an `ArrayBuffer` in a bytes field, which protobuf-es accepts but encodes wrongly, is no `TypeError`.
  if (failure !== undefined && !(failure instanceof TypeError)) throw failure;
  return encodeInto((writer) => writeEncoded(writer, bytes), message, headroom);
}

/** Creates a JSON codec like `createJsonCodec`, with a limit on values, a faster reader and writer, for servers and for clients on Node. */
export function createBoundedJsonCodec(options: JsonCodecOptions = {}): Codec {
  const codec = createJsonCodec(options);
  const unbounded = codec.values as JsonValues;
  const values: JsonValues = {
    ...unbounded,
    fromValue(type, value, count) {
      if (count !== undefined) countJsonMessage(type, value, count, options.registry);
      const message = options.registry === undefined ? readJson(type, value) : undefined;
      return message ?? unbounded.fromValue(type, value);
    },
  };
  return {
    ...codec,
    values,
    ...(options.registry === undefined && {
      encode: (type, message) => writeJson(type, message) ?? codec.encode(type, message),
    }),
    decode: (type, bytes, _generated, count) => values.fromValue(type, parseBounded(bytes, count), count),
  };
}

/** The `jsonCodec` with a limit on values, for servers and for clients on Node. */
export const boundedJsonCodec: Codec = /*@__PURE__*/ createBoundedJsonCodec();

/** Parses JSON text. Throws `resource_exhausted`, before it is parsed, for text of too many values. */
export function parseBounded(bytes: Uint8Array, count: ValueCount | undefined): JsonValue {
  if (count !== undefined) countJsonText(bytes, count);
  return decodeJson(bytes);
}

/** Returns the built-in codec with a limit on values, or the given one. Throws a `TypeError` for an invalid one. */
export function findBoundedCodec(codec: "proto" | "json" | Codec): Codec {
  const found = findCodec(codec);
  checkCodecNames("codec", [found]);
  if (found === protoCodec) return defaultProtoCodec;
  return found === jsonCodec ? boundedJsonCodec : found;
}

/** The JSON functions for one body that is not JSON text but contains JSON. Their results share one limit on values. */
export interface BodyJson {
  /** Parses JSON text. */
  parse(bytes: Uint8Array): JsonValue;
  /** Decodes a message from its JSON value. */
  fromValue(type: DescMessage, value: JsonValue): object;
}

/** A codec that writes JSON text. */
export type JsonCodec = Codec & { readonly values: JsonValues };

/** Returns the first codec that writes JSON text, or the built-in one. */
export function jsonCodecOf(codecs: readonly Codec[]): JsonCodec {
  return (codecs.find(({ values }) => values !== undefined) ?? jsonCodec) as JsonCodec;
}

/** Creates the JSON functions for a body. */
export function createBodyJson(values: JsonValues, count: ValueCount | undefined): BodyJson {
  return {
    parse: (bytes) => parseBounded(bytes, count),
    fromValue: (type, value) => values.fromValue(type, value, count),
  };
}
