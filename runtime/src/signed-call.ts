/**
 * Methods without IDL in the client half of sub-protocol A, which knows codecs and nothing of signatures: each of these
 * methods has a codec of its own.
 */
import type { Call, Method } from "./call.ts";
import type { Codec, SignedMessage } from "./codec.ts";

/** Makes calls of methods without IDL with what `open` makes of their codec, and the others as they were. */
export function withSignedCalls(call: Call, open: (codec: Codec) => Call): Call {
  const signed = new WeakMap<Method, Call>();
  return (request) => {
    const { method } = request;
    if (method.signature === undefined) return call(request);
    const known = signed.get(method) ?? open((method.input as SignedMessage).codecOf(method));
    signed.set(method, known);
    return known(request);
  };
}
