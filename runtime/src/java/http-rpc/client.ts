/**
 * Methods without IDL in the client half of sub-protocol A, which knows codecs and nothing of signatures: each of these
 * methods has a codec of its own.
 */
import type { Call, Method } from "../../call/call.ts";
import { Code, Status } from "../../call/code.ts";
import { RpcError } from "../../call/error.ts";
import type { Codec, SignedMessage } from "../../codec/codec.ts";

/** Makes calls of methods without IDL with what `open` makes of their codec, and the others as they were. */
export function withSignedCalls(call: Call, open: (codec: Codec) => Call, jsonBody: "array" | "object"): Call {
  const signed = new WeakMap<Method, { call: Call; method: Method }>();

  function sign(method: Method): { call: Call; method: Method } {
    const { codecOf, pathOf } = method.input as SignedMessage;
    const made = { call: open(codecOf(method, jsonBody)), method: { ...method, path: pathOf(method) } };
    signed.set(method, made);
    return made;
  }

  return (request) => {
    if (request.method.signature === undefined) return call(request);
    const known = signed.get(request.method) ?? sign(request.method);
    return known.call({ ...request, method: known.method });
  };
}

/** Refuses methods without IDL, for transports that carry messages of Protocol Buffers alone. */
export function refuseSignedCalls(call: Call): Call {
  return (request) =>
    request.method.signature === undefined ? call(request) : Promise.reject(signedError(request.method));
}

function signedError({ path }: Method): RpcError {
  const message = `${path} has no message of Protocol Buffers: its client needs a transport of triple-es/fetch`;
  return new RpcError(Code.Unimplemented, message, { status: Status.ClientError });
}
