/**
 * Codecs encode and decode messages. The name of a codec is part of the content type: `application/<name>` in sub-protocol A,
 * `application/grpc+<name>` in sub-protocol B.
 */
import {
  create,
  type DescMessage,
  fromBinary,
  fromJson,
  isMessage,
  type JsonValue,
  type Message,
  type MessageInitShape,
  type Registry,
  toBinary,
  toJson,
} from "@bufbuild/protobuf";
import type { GeneratedCodec } from "../call/method.ts";
import { assertOneOf } from "../call/option.ts";
import { BACKSLASH, CLOSE_OBJECT, MAX_JSON_DEPTH, OPEN_OBJECT, QUOTE } from "./json-syntax.ts";
import type { ValueCount } from "./values/values.ts";
import { checkWireNames } from "./wire-name.ts";

/**
 * Encodes and decodes messages of a known type. Its functions may throw any error; the protocols convert it to an
 * `RpcError`. The interface is public and versioned with the package: custom codecs can be registered beside the
 * built-in ones.
 */
export interface Codec {
  /** Lower-case name, such as `proto` or `json`. */
  readonly name: string;
  /**
   * Encodes a message of the type, or its init shape. `generated` is the codec that the plugin generated for the type
   * (option `codecs`): a codec for protobuf's binary format may use it, others ignore it.
   */
  encode(type: DescMessage, message: object, generated?: GeneratedCodec): Uint8Array;
  /**
   * Decodes a message of the type. Throws an error for bytes that are not one. `generated` is as in {@link encode}. `count`
   * counts the values of the message before they are decoded, and is absent for messages that are too small to exceed the
   * limit; a codec that ignores it does not limit them.
   */
  decode(type: DescMessage, bytes: Uint8Array, generated?: GeneratedCodec, count?: ValueCount): object;
  /** Encodes a message after `headroom` reserved bytes, into which a protocol writes its prefix. Optional. */
  encodeWithHeadroom?(headroom: number, type: DescMessage, message: object, generated?: GeneratedCodec): Uint8Array;
  /**
   * The conversion to JSON values, for codecs that write JSON text: sub-protocol A puts such values into its array of
   * arguments.
   */
  readonly values?: JsonValues;
}

/** The conversion between messages and JSON values. */
export interface JsonValues {
  /** Converts a message of the type, or its init shape, to a JSON value. */
  toValue(type: DescMessage, message: object): JsonValue;
  /** Converts a JSON value to a message of the type. Throws an error for a value that is not one. `count` is as in {@link Codec.decode}. */
  fromValue(type: DescMessage, value: JsonValue, count?: ValueCount): object;
}

/** `Buffer` encodes UTF-8 several times faster than `TextEncoder`. */
export const encodeUtf8: (text: string) => Uint8Array =
  typeof Buffer === "function" ? (text) => Buffer.from(text) : (text) => new TextEncoder().encode(text);
const decoder = new TextDecoder("utf-8", { fatal: true });

/** Protobuf's binary format: `application/proto`, `application/grpc+proto`. */
export const protoCodec: Codec = {
  name: "proto",
  encode: (type, message, generated) => {
    const whole = toMessage(type, message);
    return generated === undefined ? toBinary(type, whole) : generated.encode(whole);
  },
  decode: (type, bytes, generated) =>
    generated === undefined ? fromBinary(type, plainBytes(bytes)) : generated.decode(bytes),
};

/** Returns a plain `Uint8Array` over the same memory: subarrays of a Buffer, such as decoded bytes, are Buffers. */
export function plainBytes(bytes: Uint8Array): Uint8Array {
  return bytes.constructor === Uint8Array ? bytes : new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** Options of {@link createJsonCodec}. */
export interface JsonCodecOptions {
  /** The types of `google.protobuf.Any` and the extensions that JSON may contain. Default: none. */
  readonly registry?: Registry | undefined;
}

/**
 * Protobuf's JSON format: `application/json`, `application/grpc+json`. Reads lowerCamel and proto names and ignores
 * unknown fields; writes lowerCamel names and leaves out default values.
 */
export function createJsonCodec(options: JsonCodecOptions = {}): Codec {
  const registry = options.registry === undefined ? {} : { registry: options.registry };
  const read = { ignoreUnknownFields: true, ...registry };
  const values: JsonValues = {
    toValue: (type, message) => toJson(type, toMessage(type, message), registry),
    fromValue: (type, value) => {
      try {
        return fromJson(type, value, read);
      } catch (cause) {
        throw inWords(cause);
      }
    },
  };
  return {
    name: "json",
    encode: (type, message) => encodeJson(values.toValue(type, message)),
    decode: (type, bytes) => values.fromValue(type, decodeJson(bytes)),
    values,
  };
}

/** Replaces the `RangeError` of `"0".repeat(-1)` in protobuf-es for a Duration with too many digits. */
function inWords(cause: unknown): unknown {
  if (!(cause instanceof RangeError && /count|repeat/.test(cause.message))) return cause;
  return new Error("a google.protobuf.Duration has at most 9 digits after the decimal point", { cause });
}

/** The JSON codec without a registry. */
export const jsonCodec: Codec = /*@__PURE__*/ createJsonCodec();

/** Returns the built-in codec with the name, or the given codec. Throws a `TypeError` for an unknown or invalid one. */
export function findCodec(codec: "proto" | "json" | Codec): Codec {
  if (typeof codec === "object") {
    checkWireNames("codec", [codec]);
    return codec;
  }
  return assertOneOf("codec", codec, ["proto", "json"]) === "json" ? jsonCodec : protoCodec;
}

/** Encodes a value as JSON text in UTF-8. */
export function encodeJson(value: JsonValue): Uint8Array {
  return encodeUtf8(JSON.stringify(value));
}

/** Parses JSON text like {@link decodeJson}, with any nesting, for callers that do not recurse into the value. */
export function parseJson(bytes: Uint8Array): JsonValue {
  return JSON.parse(decoder.decode(bytes)) as JsonValue;
}

/** Parses JSON text after a byte order mark. Throws for bytes that are not UTF-8, and for more than 100 levels. */
export function decodeJson(bytes: Uint8Array): JsonValue {
  return JSON.parse(decodeJsonText(bytes)) as JsonValue;
}

/** Returns the text that {@link decodeJson} parses. Throws for bytes that are not UTF-8 and for deep nesting. */
export function decodeJsonText(bytes: Uint8Array): string {
  const text = decoder.decode(bytes);
  // Shorter text cannot open and close more than `MAX_JSON_DEPTH` levels.
  if (bytes.length > 2 * MAX_JSON_DEPTH) checkDepth(bytes);
  return text;
}

/** Throws for text that is nested too deeply outside of strings. Text that is not JSON may pass: the parser rejects it. */
function checkDepth(text: Uint8Array): void {
  const { length } = text;
  let depth = 0;
  for (let i = 0; i < length; i += 1) {
    const character = text[i] as number;
    if (character === QUOTE) {
      for (i += 1; i < length && text[i] !== QUOTE; i += 1) if (text[i] === BACKSLASH) i += 1;
      // Brackets differ from braces in this bit alone.
    } else if ((character | 0x20) === OPEN_OBJECT) {
      depth += 1;
      if (depth > MAX_JSON_DEPTH) throw new Error(`the JSON is nested more than ${MAX_JSON_DEPTH} levels deep`);
    } else if ((character | 0x20) === CLOSE_OBJECT) depth -= 1;
  }
}

/** Converts an init shape to a message. Throws a `TypeError` for a value that is not an object. */
export function toMessage(type: DescMessage, message: object): Message {
  if (typeof message !== "object" || message === null || Array.isArray(message)) {
    const given = message === null ? "null" : Array.isArray(message) ? "an array" : typeof message;
    throw new TypeError(`a message of type ${type.typeName} must be an object, not ${given}`);
  }
  return isMessage(message, type) ? message : create(type, message as MessageInitShape<DescMessage>);
}
