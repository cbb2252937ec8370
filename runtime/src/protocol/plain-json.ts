/**
 * Messages that are plain JSON values, for clients whose code was generated with `messages=json`. The module does not
 * use protobuf-es, so the bundle of such a client does not contain it.
 */
import type { Method } from "../call/method.ts";
import { parseJson } from "../codec/codec.ts";
import type { HttpRpcPayload, Payload } from "./payload.ts";

export const plainJsonMessages: HttpRpcPayload = {
  name: "json",
  encodeRequest: (_method, message, form) =>
    new TextEncoder().encode(JSON.stringify(form === "array" ? [message] : message)),
  decodeResponse: (_method, bytes) => parseJson(bytes) as object,
};

/** The payload of methods whose messages are plain JSON. Servers need schemas, so only clients have such methods. */
export const plainJson: object = { httpRpc: plainJsonMessages } satisfies Payload;

/** The payload of transports without a codec: it refuses methods with schemas. */
export const noCodec: HttpRpcPayload = { name: "json", encodeRequest: refuse, decodeResponse: refuse };

function refuse({ input }: Method): never {
  throw new TypeError(`${input?.typeName} is not plain JSON: use triple-es/fetch`);
}
