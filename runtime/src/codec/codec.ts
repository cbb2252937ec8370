/**
 * Codecs turn messages into bytes and back. A codec's name is its part of the content type: `application/<name>` in
 * sub-protocol A, `application/grpc+<name>` in sub-protocol B.
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
import { BACKSLASH, CLOSE_ARRAY, CLOSE_OBJECT, MAX_JSON_DEPTH, OPEN_ARRAY, OPEN_OBJECT, QUOTE } from "./json-syntax.ts";
import { checkWireNames } from "./wire-name.ts";

/**
 * Encodes messages of a known type. Throws whatever it likes; the protocols turn it into an `RpcError`. Public and stable,
 * as the version of the package says: register your own beside the built-in ones.
 */
export interface Codec {
  /** Lower-case name, such as `proto` or `json`. */
  readonly name: string;
  /**
   * `message` is a message of the type, or its init shape. `generated` is what the plugin generated for the type (option
   * `codecs`): a codec for protobuf's binary format may use it, others ignore it.
   */
  encode(type: DescMessage, message: object, generated?: GeneratedCodec): Uint8Array;
  decode(type: DescMessage, bytes: Uint8Array, generated?: GeneratedCodec): object;
  /**
   * Decodes a message of more than 16 KiB, in steps that leave the event loop its turns. Throws resource_exhausted for one that
   * would take more memory than `maxDecodedBytes`. Optional: without it, {@link decode} is called, which nothing bounds.
   */
  decodeLarge?(
    type: DescMessage,
    bytes: Uint8Array,
    maxDecodedBytes: number,
    generated?: GeneratedCodec,
  ): object | Promise<object>;
  /** Encodes a message after `headroom` reserved bytes, so that a protocol adds its prefix without a copy. Optional. */
  encodeWithHeadroom?(headroom: number, type: DescMessage, message: object, generated?: GeneratedCodec): Uint8Array;
  /** Only codecs that write JSON text have this: sub-protocol A puts such values into its array of arguments. */
  readonly values?: JsonValues;
}

/** The same encoding one step earlier: JSON values rather than text. */
export interface JsonValues {
  toValue(type: DescMessage, message: object): JsonValue;
  fromValue(type: DescMessage, value: JsonValue): object;
  /** Makes a message of a large value, as {@link Codec.decodeLarge} does. Optional, as that is. */
  fromLargeValue?(type: DescMessage, value: JsonValue, maxDecodedBytes: number): Promise<object>;
}

/** `Buffer` encodes UTF-8 several times faster than `TextEncoder`. */
const encodeUtf8: (text: string) => Uint8Array =
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

/**
 * The same memory as a plain `Uint8Array`: fields of bytes are pieces of what they were read from, and a piece of a Buffer
 * is a Buffer.
 */
export function plainBytes(bytes: Uint8Array): Uint8Array {
  return bytes.constructor === Uint8Array ? bytes : new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

export interface JsonCodecOptions {
  /** Resolves `google.protobuf.Any` and extensions in JSON. Default: none are known. */
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

/** Durations with too many digits run into an error of `"0".repeat(-1)`, and every engine has its own text for that. */
export function inWords(cause: unknown): unknown {
  if (!(cause instanceof RangeError && /count|repeat/.test(cause.message))) return cause;
  return new Error("a google.protobuf.Duration has at most 9 digits behind the decimal point", { cause });
}

/** The JSON codec with no registry. */
export const jsonCodec: Codec = /*@__PURE__*/ createJsonCodec();

/** The built-in codec with that name; a codec is returned as it is. Throws a `TypeError` for a name that is neither or invalid. */
export function findCodec(codec: "proto" | "json" | Codec): Codec {
  if (typeof codec === "object") {
    checkWireNames("codec", [codec]);
    return codec;
  }
  return assertOneOf("codec", codec, ["proto", "json"]) === "json" ? jsonCodec : protoCodec;
}

/** JSON text in UTF-8. */
export function encodeJson(value: JsonValue): Uint8Array {
  return encodeUtf8(JSON.stringify(value));
}

/** The value of JSON text, as {@link decodeJson} reads it, for those who do not follow it down. */
export function parseJson(bytes: Uint8Array): JsonValue {
  return JSON.parse(decoder.decode(bytes)) as JsonValue;
}

/**
 * The value of JSON text. Throws on bytes that are not UTF-8, and on arrays and objects more than 100 levels deep; a byte
 * order mark is skipped.
 */
export function decodeJson(bytes: Uint8Array): JsonValue {
  return JSON.parse(decodeJsonText(bytes)) as JsonValue;
}

/** The text that {@link decodeJson} parses, for those who parse it in another way. */
export function decodeJsonText(bytes: Uint8Array): string {
  const text = decoder.decode(bytes);
  // Shorter text cannot be that deep and closed again.
  if (text.length > 2 * MAX_JSON_DEPTH) checkDepth(text);
  return text;
}

/** Brackets inside strings do not count. Text that is not JSON may pass; the parser refuses it. */
function checkDepth(text: string): void {
  let depth = 0;
  for (let i = 0; i < text.length; i += 1) {
    const character = text.charCodeAt(i);
    if (character === QUOTE) i = endOfString(text, i);
    else if (character === OPEN_ARRAY || character === OPEN_OBJECT) depth += 1;
    else if (character === CLOSE_ARRAY || character === CLOSE_OBJECT) depth -= 1;
    if (depth > MAX_JSON_DEPTH) throw new Error(`the JSON is nested more than ${MAX_JSON_DEPTH} levels deep`);
  }
}

/** The index of the closing quote of the string that starts there. */
function endOfString(text: string, start: number): number {
  for (let i = start + 1; i < text.length; i += 1) {
    const character = text.charCodeAt(i);
    if (character === QUOTE) return i;
    if (character === BACKSLASH) i += 1;
  }
  return text.length;
}

/** The message that an init shape stands for. Throws a `TypeError` for what is no object. */
export function toMessage(type: DescMessage, message: object): Message {
  if (typeof message !== "object" || message === null || Array.isArray(message)) {
    const given = message === null ? "null" : Array.isArray(message) ? "an array" : typeof message;
    throw new TypeError(`a message of type ${type.typeName} must be an object, not ${given}`);
  }
  return isMessage(message, type) ? message : create(type, message as MessageInitShape<DescMessage>);
}
