/**
 * Codecs that limit the time and memory of decoding, and the choice between decoding at once and in steps. Browser
 * bundles use the codecs without these limits, because a page trusts its server.
 */
import { type DescMessage, type JsonValue, mergeFromJson } from "@bufbuild/protobuf";
import type { GeneratedCodec, Method } from "../call/method.ts";
import { runInSteps, type Steps, waitFor } from "../call/steps.ts";
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
import { encodeMessageInTurn } from "./encode-parts.ts";
import type { MergeJson } from "./json-division.ts";
import { jsonSteps } from "./json-encode-steps.ts";
import { estimateJson } from "./json-estimate.ts";
import { decodeJsonInSteps } from "./json-steps.ts";
import { parseJsonInSteps } from "./json-text.ts";
import { encodeJsonInSteps } from "./json-write.ts";
import { DecodeBudget, recordedMemory, recordMemory } from "./memory.ts";
import type { MessageShare } from "./message-memory.ts";
import { encodeProtoInSteps } from "./proto-encode-steps.ts";
import { estimateProto, expansionOf } from "./proto-estimate.ts";
import { decodeProtoInSteps } from "./proto-steps.ts";
import { valueMemory } from "./value-memory.ts";
import { checkCodecNames } from "./wire-name.ts";

/** Maximum size, in bytes, of a message that is decoded at once. Decoding takes at most 20 ms, whatever the content. */
export const SMALL_BYTES: number = 16 * 1024;

/** Memory of a decoded message, in bytes, for each byte of a small one. */
const SMALL_EXPANSION = 512;

/** Default limit on the memory of a decoded message, as a multiple of the maximum message size. */
const DEFAULT_EXPANSION = 16;

export interface DecodeLimits {
  /** Maximum size of a message, in bytes, before and after decompression. */
  readonly maxMessageBytes: number;
  /** Maximum estimated memory of a decoded message, in bytes. Default: 16 times `maxMessageBytes`. */
  readonly maxDecodedBytes?: number | undefined;
}

/** Returns the limit on decoded memory, in bytes. Throws a `RangeError` for a limit below 1. */
export function decodedLimit({ maxMessageBytes, maxDecodedBytes }: DecodeLimits): number {
  if (maxDecodedBytes === undefined) return DEFAULT_EXPANSION * maxMessageBytes;
  if (maxDecodedBytes >= 1) return maxDecodedBytes;
  throw new RangeError(`maxDecodedBytes must be at least 1, not ${maxDecodedBytes}`);
}

/**
 * Returns the size, in bytes, up to which messages are decoded at once, without an estimate of their memory. It is lower for
 * limits below the default, and for types with hundreds of fields.
 */
export function smallBytes(limits: DecodeLimits, type?: DescMessage): number {
  const limit = decodedLimit(limits);
  const expansion = Math.max(SMALL_EXPANSION, type === undefined ? 0 : expansionOf(type).withoutMaps);
  const most = Math.min(SMALL_BYTES, (SMALL_BYTES * SMALL_EXPANSION) / expansion);
  return limit >= DEFAULT_EXPANSION * limits.maxMessageBytes ? most : Math.min(most, limit / expansion);
}

/**
 * Decodes a message, in steps if it is large and the codec supports that. Throws the errors of the codec, and
 * `resource_exhausted` for a message over the memory limit.
 */
export function decodeMessage(
  codec: Codec,
  type: DescMessage,
  bytes: Uint8Array,
  limits: DecodeLimits,
  generated?: GeneratedCodec,
): object | Promise<object> {
  if (codec.decodeLarge === undefined || bytes.byteLength <= smallBytes(limits, type)) {
    return codec.decode(type, bytes, generated);
  }
  return codec.decodeLarge(type, bytes, decodedLimit(limits), generated);
}

/** Most memory for each byte of arguments without schemas, as {@link expansionOf} is for messages. */
const ARGUMENTS_EXPANSION = 8_192;

/**
 * Counts a message as held by its call. The received bytes count too, because fields with bytes are views of them. Returns
 * the message, or a promise if the estimate of its memory takes time. Throws or rejects with `unavailable` if the messages of
 * all calls take too much memory.
 */
export function holdMessage(
  share: MessageShare,
  message: object,
  bytes: Uint8Array,
  method: Method,
  codec?: Codec,
): object | Promise<object> {
  const size = bytes.byteLength;
  const expansion = method.payload === undefined ? expansionOf(method.input).most : ARGUMENTS_EXPANSION;
  if (share.assume(size * expansion)) return message;
  const memory = recordedMemory(message) ?? estimateMessage(message, bytes, method, codec);
  if (typeof memory !== "number") return memory.then((sum) => share.hold(message, sum + size));
  return share.hold(message, memory + size);
}

function estimateMessage(
  message: object,
  bytes: Uint8Array,
  method: Method,
  codec: Codec | undefined,
): number | Promise<number> {
  if (method.payload !== undefined) return runInSteps(valueMemory(message, true));
  return codec?.estimate?.(method.input, bytes, method.codecs?.input) ?? runInSteps(valueMemory(message, false));
}

/** Decodes a message from JSON text. `change` converts the parsed value to the JSON value of the message. */
export function decodeJsonMessage(
  values: JsonValues,
  type: DescMessage,
  bytes: Uint8Array,
  limits: DecodeLimits,
  change: (value: JsonValue) => JsonValue,
): object | Promise<object> {
  const { fromLargeValue } = values;
  if (fromLargeValue === undefined || bytes.byteLength <= smallBytes(limits, type)) {
    return values.fromValue(type, change(decodeJson(bytes)));
  }
  const budget = new DecodeBudget(decodedLimit(limits));
  return parseJsonInSteps(bytes, budget).then((value) => fromLargeValue(type, change(value), budget));
}

/** The JSON functions for one body that is not JSON text but contains JSON, with the limit on memory. */
export interface BodyJson {
  /** Parses JSON text, in steps if it is large. */
  parse(bytes: Uint8Array): Steps<JsonValue>;
  /** Decodes a message from its JSON value, in steps if the body is large and the codec supports that. */
  fromValue(type: DescMessage, value: JsonValue): Steps<object>;
}

/** Returns the JSON functions of the first codec that has some, or those of the built-in codec. */
export function jsonValuesOf(codecs: readonly Codec[]): JsonValues {
  return codecs.find(({ values }) => values !== undefined)?.values ?? (jsonCodec.values as JsonValues);
}

/** Creates the JSON functions for a body of `bodyBytes` bytes. All their results share one limit on memory. */
export function createBodyJson(values: JsonValues, limits: DecodeLimits, bodyBytes: number): BodyJson {
  const budget = new DecodeBudget(decodedLimit(limits));
  const small = smallBytes(limits);
  return {
    *parse(bytes) {
      if (bytes.byteLength <= small) return decodeJson(bytes);
      return yield* waitFor(parseJsonInSteps(bytes, budget));
    },
    *fromValue(type, value) {
      if (bodyBytes > smallBytes(limits, type) && values.fromLargeValue !== undefined) {
        return yield* waitFor(values.fromLargeValue(type, value, budget));
      }
      budget.take(estimateJson(type, value));
      return values.fromValue(type, value);
    },
  };
}

/** The `protoCodec` with limits on decoding, for servers and for clients on Node. */
export const boundedProtoCodec: Codec = {
  ...protoCodec,
  estimate: estimateProto,
  encodeLarge: (type, message) => encodeProtoInSteps(type, message, protoCodec.encode),
  decodeLarge: (type, bytes, maxDecodedBytes, generated) =>
    decodeProtoInSteps(type, bytes, maxDecodedBytes, { generated }),
};

/** Creates a JSON codec like `createJsonCodec`, with limits on decoding, for servers and for clients on Node. */
export function createBoundedJsonCodec(options: JsonCodecOptions = {}): Codec {
  const codec = createJsonCodec(options);
  const read = { ignoreUnknownFields: true, ...(options.registry && { registry: options.registry }) };
  const mergeJson: MergeJson = (type, message, part) => {
    try {
      mergeFromJson(type, message, part, read);
    } catch (cause) {
      throw inWords(cause);
    }
  };
  const steps = { mergeJson, registry: options.registry };
  const fromLargeValue = async (type: DescMessage, value: JsonValue, budget: DecodeBudget): Promise<object> => {
    // The JSON value is not kept.
    const { taken } = budget;
    return recordMemory(await decodeJsonInSteps(type, value, budget, steps), budget.taken - taken);
  };
  const values = codec.values as JsonValues;
  const stepsOf = (type: DescMessage, message: object): Steps<JsonValue> | undefined =>
    jsonSteps(type, message, values.toValue, options.registry);
  function* textOf(value: Steps<JsonValue>): Steps<Uint8Array> {
    return yield* encodeJsonInSteps(yield* value);
  }
  return {
    ...codec,
    values: {
      ...values,
      fromLargeValue,
      toLargeValue(type, message) {
        const work = stepsOf(type, message);
        return work && encodeMessageInTurn(work, () => values.toValue(type, message));
      },
    },
    encodeLarge(type, message) {
      const work = stepsOf(type, message);
      return work && encodeMessageInTurn(textOf(work), () => codec.encode(type, message));
    },
    decodeLarge: async (type, bytes, maxDecodedBytes) => {
      const budget = new DecodeBudget(maxDecodedBytes);
      return fromLargeValue(type, await parseJsonInSteps(bytes, budget), budget);
    },
  };
}

/** The `jsonCodec` with limits on decoding, for servers and for clients on Node. */
export const boundedJsonCodec: Codec = /*@__PURE__*/ createBoundedJsonCodec();

/**
 * Returns the built-in codec with the name and limits on decoding, or the given codec. Throws a `TypeError` for an
 * unknown codec or an invalid name.
 */
export function findBoundedCodec(codec: "proto" | "json" | Codec): Codec {
  const found = findCodec(codec);
  checkCodecNames("codec", [found]);
  if (found === protoCodec) return boundedProtoCodec;
  return found === jsonCodec ? boundedJsonCodec : found;
}
