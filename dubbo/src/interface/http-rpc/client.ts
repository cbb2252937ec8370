/**
 * Interface methods in the client half of sub-protocol A: requests are a JSON array of the arguments, or a single bare
 * argument; responses are the bare result.
 */
import type { JsonValue } from "@bufbuild/protobuf";
import type { Method } from "triple-es";
import { encodeJson, type PayloadOptions, streamError } from "triple-es/internal";
import { argumentsToJson } from "../arguments.ts";
import { Cost } from "../cost.ts";
import { parseExactJson } from "../json-text.ts";
import { fromJson } from "../read-json.ts";
import { signatureOf } from "../signature.ts";
import { orInvalid } from "../type.ts";

export function encodePositional(
  method: Method,
  values: object,
  form: "array" | "object",
  options: PayloadOptions = {},
): Uint8Array {
  // The transport of triple-es/json leaves this check to the payload.
  if (method.kind !== "unary") throw streamError(method);
  return orInvalid(method.path, () => {
    const sent = argumentsToJson(signatureOf(method), values as readonly unknown[], new Cost(options.maxMessageValues));
    return encodeJson(form === "object" && sent.length === 1 ? (sent[0] as JsonValue) : sent);
  });
}

export function decodeResult(method: Method, bytes: Uint8Array, options: PayloadOptions = {}): [unknown] {
  const { result } = signatureOf(method);
  const cost = new Cost(options.maxMessageValues);
  return [result === "void" ? undefined : fromJson(result, parseExactJson(bytes, cost), cost)];
}
