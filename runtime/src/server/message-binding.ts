/**
 * Bindings: an encoding of the messages of one call in JSON that replaces that of sub-protocol A.
 */
import type { JsonValue } from "@bufbuild/protobuf";
import type { Handler } from "../call/call.ts";
import { type BodyJson, countOf, createBodyJson, jsonValuesOf } from "../codec/bounded-codec.ts";
import { encodeJson, type JsonValues } from "../codec/codec.ts";
import type { ServerProtocolOptions } from "../protocol/options.ts";

/** The encoding of the messages of one call in JSON. */
export interface MessageBinding {
  /** Decodes the request message, whose body may be empty. Throws an `RpcError`, or any error for malformed bytes. */
  decode(body: Uint8Array, json: BodyJson): object;
  /** Encodes the response message. `values` converts it with the codec of the server. */
  encode(message: object, values: JsonValues): JsonValue;
  /**
   * True if the request is refused when a page of another site has sent it, whatever its content type: protection against
   * cross-site request forgery (CSRF) for requests that browsers send without a CORS preflight. A service can switch it
   * off by its option `csrf`.
   */
  readonly checksOrigin: boolean;
}

/** The options of a server on which the decoding of a binding depends. */
export type BindingOptions = Pick<ServerProtocolOptions, "codecs">;

/** Returns the handler of a call whose messages are encoded by a binding. Only JSON bodies are accepted. */
export function bindHandler(handler: Handler, binding: MessageBinding, options: BindingOptions): Handler {
  const values = jsonValuesOf(options.codecs);
  const { method, csrf } = handler;
  return {
    ...handler,
    bodies: [],
    csrf: csrf !== false && binding.checksOrigin ? "always" : csrf !== false,
    binding: {
      method,
      decode: ({ bytes, maxMessageValues }) =>
        binding.decode(bytes, createBodyJson(values, countOf(bytes, maxMessageValues))),
      encode: (message) => encodeJson(binding.encode(message, values)),
    },
  };
}
