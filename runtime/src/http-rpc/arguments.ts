/**
 * Arguments: the body of a request of sub-protocol A (spec: Payload of sub-protocol A).
 *
 * In JSON, the body is an array of the arguments in order; a method with a Protocol Buffers request has exactly one.
 * Unlike the specification, every known implementation sends that argument without the array, so both forms are
 * accepted.
 */
import type { DescMessage, JsonValue } from "@bufbuild/protobuf";
import type { GeneratedCodec, ProtoMethod } from "../call/method.ts";
import { parseBounded } from "../codec/bounded-codec.ts";
import { type Codec, encodeJson } from "../codec/codec.ts";
import { countOf } from "../codec/values/values.ts";
import type { HttpRpcPayload } from "../protocol/payload.ts";
import { badRequest } from "./headers.ts";

/** Messages whose JSON may be an array. An array with one element is then the array of arguments. */
const ARRAY_LIKE = new Set(["google.protobuf.ListValue", "google.protobuf.Value"]);

/** Creates the payload of methods with schemas from a codec. `accept` is the codec of responses. Default: `codec`. */
export function codecPayload(codec: Codec, accept?: Codec): HttpRpcPayload {
  return {
    name: codec.name,
    ...(accept && { answer: accept.name }),
    encodeRequest: (method, message, form) => {
      const { input, codecs } = method as ProtoMethod;
      if (codec.values === undefined || form === "object") return codec.encode(input, message, codecs?.input);
      return encodeJson([codec.values.toValue(input, message)]);
    },
    decodeResponse: (method, bytes) => {
      const { output, codecs } = method as ProtoMethod;
      return (accept ?? codec).decode(output, bytes, codecs?.output);
    },
  };
}

/** Decodes the arguments of a method into its request message. Throws for bytes that are not in the codec's format. */
export function decodeArguments(
  codec: Codec,
  type: DescMessage,
  bytes: Uint8Array,
  maxMessageValues: number,
  generated?: GeneratedCodec,
): object {
  const count = countOf(bytes, maxMessageValues);
  if (codec.values === undefined) return codec.decode(type, bytes, generated, count);
  if (bytes.byteLength === 0) throw badRequest("the body is empty; it must be a JSON array with one argument");
  return codec.values.fromValue(type, onlyArgument(type, parseBounded(bytes, count)), count);
}

function onlyArgument(type: DescMessage, body: JsonValue): JsonValue {
  if (!Array.isArray(body) || (body.length !== 1 && ARRAY_LIKE.has(type.typeName))) return body;
  const [argument] = body;
  if (body.length !== 1 || argument === undefined) {
    throw badRequest(
      `the body has ${body.length} arguments; it must be a JSON array with exactly one ${type.typeName}`,
    );
  }
  return argument;
}
