/**
 * Methods without IDL in the client half of sub-protocol A, which knows codecs and nothing of signatures: each of these
 * methods has a codec of its own.
 */
import type { Call, Method } from "./call.ts";
import type { Codec, SignedMessage } from "./codec.ts";

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
