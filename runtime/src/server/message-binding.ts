/**
 * Bindings: an encoding of the messages of one call in JSON that replaces that of sub-protocol A.
 */
import type { JsonValue } from "@bufbuild/protobuf";
import type { Handler } from "../call/call.ts";
import { runInSteps, type Steps, waitFor } from "../call/steps.ts";
import { encodeJson, type JsonValues } from "../codec/codec.ts";
import { encodeJsonInSteps } from "../codec/json-write.ts";
import { type BodyJson, createBodyJson, jsonValuesOf } from "../codec/large-message.ts";
import type { ServerProtocolOptions } from "../protocol/options.ts";

/** The encoding of the messages of one call in JSON. */
export interface MessageBinding {
  /** Decodes the request message, whose body may be empty. Throws an `RpcError`, or any error for malformed bytes. */
  decode(body: Uint8Array, json: BodyJson): Steps<object>;
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
export type BindingOptions = Pick<ServerProtocolOptions, "codecs" | "maxMessageBytes" | "maxDecodedBytes">;

/** Returns the handler of a call whose messages are encoded by a binding. Only JSON bodies are accepted. */
export function bindHandler(handler: Handler, binding: MessageBinding, options: BindingOptions): Handler {
  const values = jsonValuesOf(options.codecs);
  const { method, csrf } = handler;
  const encode = (message: object): Uint8Array => encodeJson(binding.encode(message, values));

  /** The binding receives the JSON value that was made in steps when it converts the message. */
  function* encodeSteps(message: object): Steps<Uint8Array> {
    const making = method.output && values.toLargeValue?.(method.output, message);
    if (making === undefined) return encode(message);
    const made = yield* waitFor(making);
    const toValue: JsonValues["toValue"] = (type, one) => (one === message ? made : values.toValue(type, one));
    return yield* encodeJsonInSteps(binding.encode(message, { ...values, toValue }));
  }

  return {
    ...handler,
    bodies: [],
    csrf: csrf !== false && binding.checksOrigin ? "always" : csrf !== false,
    binding: {
      method,
      decode: ({ bytes }) => runInSteps(binding.decode(bytes, createBodyJson(values, options, bytes.byteLength))),
      encode,
      encodeInSteps: (message) => runInSteps(encodeSteps(message)),
    },
  };
}
