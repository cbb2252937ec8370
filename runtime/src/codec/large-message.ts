/**
 * Codecs that bound what a message costs beyond its size, and the choice between decoding at once and in steps. Pages have
 * the codecs without it: what a server of theirs sends, they trust.
 */
import { type DescMessage, type JsonValue, mergeFromJson } from "@bufbuild/protobuf";
import type { GeneratedCodec } from "../call/method.ts";
import {
  type Codec,
  createJsonCodec,
  decodeJson,
  findCodec,
  inWords,
  type JsonCodecOptions,
  type JsonValues,
  jsonCodec,
  protoCodec,
} from "./codec.ts";
import { estimateJson } from "./json-estimate.ts";
import { decodeJsonInSteps } from "./json-steps.ts";
import { parseJsonInSteps } from "./json-text.ts";
import { tooMuchMemory } from "./memory.ts";
import { decodeProtoInSteps } from "./proto-steps.ts";

/** Largest message, in bytes, that is decoded at once, whatever it holds: that takes twenty milliseconds at most. */
const SMALL_BYTES = 16 * 1024;

/** Memory of a decoded message, in multiples of the largest size a message may have, unless the option says otherwise. */
const DEFAULT_EXPANSION = 16;

export interface DecodeLimits {
  /** Largest message accepted, in bytes, before and after inflating. */
  readonly maxMessageBytes: number;
  /** Most memory, in bytes, that a message may take when it is decoded, by estimate. Default: 16 times `maxMessageBytes`. */
  readonly maxDecodedBytes?: number | undefined;
}

/** The limit that the options mean. Throws a `RangeError` for one that is no number of bytes. */
export function decodedLimit({ maxMessageBytes, maxDecodedBytes }: DecodeLimits): number {
  if (maxDecodedBytes === undefined) return DEFAULT_EXPANSION * maxMessageBytes;
  if (maxDecodedBytes >= 1) return maxDecodedBytes;
  throw new RangeError(`maxDecodedBytes must be at least 1, not ${maxDecodedBytes}`);
}

/** Decodes a message with what its codec has for its size. Throws what the codec throws, and resource_exhausted. */
export function decodeMessage(
  codec: Codec,
  type: DescMessage,
  bytes: Uint8Array,
  limits: DecodeLimits,
  generated?: GeneratedCodec,
): object | Promise<object> {
  if (bytes.byteLength <= SMALL_BYTES || codec.decodeLarge === undefined) return codec.decode(type, bytes, generated);
  return codec.decodeLarge(type, bytes, decodedLimit(limits), generated);
}

/** Makes a message of JSON text whose value is to be changed before: `change` gives what stands for the message. */
export function decodeJsonMessage(
  values: JsonValues,
  type: DescMessage,
  bytes: Uint8Array,
  limits: DecodeLimits,
  change: (value: JsonValue) => JsonValue,
): object | Promise<object> {
  const { fromLargeValue } = values;
  if (bytes.byteLength <= SMALL_BYTES || fromLargeValue === undefined) {
    return values.fromValue(type, change(decodeJson(bytes)));
  }
  const maxDecodedBytes = decodedLimit(limits);
  return parseJsonInSteps(bytes, maxDecodedBytes).then((value) => fromLargeValue(type, change(value), maxDecodedBytes));
}

/** Values of bodies that are not JSON text: made at once, if they do not take too much memory. */
export function boundValues(values: JsonValues, limits: DecodeLimits): JsonValues {
  const maxDecodedBytes = decodedLimit(limits);
  return {
    toValue: values.toValue,
    fromValue(type, value) {
      const estimate = estimateJson(type, value);
      if (estimate > maxDecodedBytes) throw tooMuchMemory(estimate, maxDecodedBytes);
      return values.fromValue(type, value);
    },
  };
}

/** `protoCodec` of servers, and of clients on Node. */
export const boundedProtoCodec: Codec = {
  ...protoCodec,
  decodeLarge: (type, bytes, maxDecodedBytes, generated) =>
    decodeProtoInSteps(type, bytes, maxDecodedBytes, { generated }),
};

/** `createJsonCodec` of servers, and of clients on Node. */
export function createBoundedJsonCodec(options: JsonCodecOptions = {}): Codec {
  const codec = createJsonCodec(options);
  const read = { ignoreUnknownFields: true, ...(options.registry && { registry: options.registry }) };
  const fromLargeValue = (type: DescMessage, value: JsonValue, maxDecodedBytes: number): Promise<object> =>
    decodeJsonInSteps(type, value, maxDecodedBytes, (one, message, part) => {
      try {
        mergeFromJson(one, message, part, read);
      } catch (cause) {
        throw inWords(cause);
      }
    });
  return {
    ...codec,
    values: { ...(codec.values as JsonValues), fromLargeValue },
    decodeLarge: async (type, bytes, maxDecodedBytes) =>
      fromLargeValue(type, await parseJsonInSteps(bytes, maxDecodedBytes), maxDecodedBytes),
  };
}

/** `jsonCodec` of servers, and of clients on Node. */
export const boundedJsonCodec: Codec = /*@__PURE__*/ createBoundedJsonCodec();

/** The built-in codec with that name; a codec is returned as it is. Throws a `TypeError` for any other name. */
export function findBoundedCodec(codec: "proto" | "json" | Codec): Codec {
  const found = findCodec(codec);
  if (found === protoCodec) return boundedProtoCodec;
  return found === jsonCodec ? boundedJsonCodec : found;
}
