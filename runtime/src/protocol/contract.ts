/**
 * Methods of contracts in TypeScript: the client's half of their payload. Messages are JSON in both sub-protocols. Pages
 * load this module, and it does not use protobuf-es.
 */
import type { Method } from "../call/method.ts";
import { decodeJson, encodeJson } from "../codec/codec.ts";
import type { GrpcPayload, HttpRpcPayload, Payload } from "./payload.ts";

/** The type of a message, in generated code: its conversion to JSON and back, with validation. */
export interface ContractMessage {
  /** Converts a value to a JSON value. Throws an `Error` for an invalid one. */
  toJson(value: unknown): unknown;
  /** Converts a JSON value to a value. Throws an `Error` for an invalid one, with `issues` that describe it. */
  fromJson(json: unknown): unknown;
}

/** The payload of a method of a contract. */
export interface ContractPayload extends Payload {
  readonly request: ContractMessage;
  readonly response: ContractMessage;
}

/** Creates the payload of a method of a contract, for clients. `streams` is `plainJsonStreams` for a method with streams. */
export function contractPayload(request: ContractMessage, response: ContractMessage, streams = {}): object {
  const decodeResponse = (_method: Method, bytes: Uint8Array): object => response.fromJson(decodeJson(bytes)) as object;
  const httpRpc: HttpRpcPayload = {
    name: "json",
    encodeRequest(_method, message, form) {
      const json = request.toJson(message);
      // An array is the list of arguments.
      return encodeContract(form === "array" || Array.isArray(json) ? [json] : json);
    },
    decodeResponse,
  };
  const grpcJson: GrpcPayload = {
    encodeRequest: (_method, message) => encodeContract(request.toJson(message)),
    decodeResponse,
  };
  return { ...streams, httpRpc, grpcJson, request, response } satisfies ContractPayload;
}

/** Encodes a JSON value, whose type generated code has checked. */
export const encodeContract = encodeJson as (json: unknown) => Uint8Array;
