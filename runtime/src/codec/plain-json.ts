/**
 * Messages that are plain JSON values: those of clients whose code was generated with `messages=json`. Nothing here needs
 * protobuf-es, so a bundle of such a client does not carry it.
 */
import type { HttpRpcPayload, Method, Payload } from "../call/method.ts";
import { parseJson } from "./codec.ts";

/** The payload of methods whose messages are plain JSON. Servers need schemas, so only clients have such methods. */
export const plainJson: Payload = {
  httpRpc: {
    name: "json",
    encodeRequest: (_method, message, form) =>
      new TextEncoder().encode(JSON.stringify(form === "array" ? [message] : message)),
    decodeResponse: (_method, bytes) => parseJson(bytes) as object,
  },
};

/** Stands for a codec in transports that have none: methods with schemas cannot be called over them. */
export const noCodec: HttpRpcPayload = { name: "json", encodeRequest: refuse, decodeResponse: refuse };

function refuse({ input }: Method): never {
  throw new TypeError(`${input?.typeName} is not plain JSON: its client needs triple-es/fetch`);
}
