/**
 * Node's errors as `RpcError`s: what sockets, sessions and streams fail with.
 */
import { constants } from "node:http2";
import { Code } from "../code.ts";
import { RpcError } from "../error.ts";

/** gRPC's mapping of HTTP/2 reset codes. Codes that are not listed, also those nobody has defined, are internal. */
const CODE_OF_RESET: Readonly<Record<number, Code>> = {
  [constants.NGHTTP2_REFUSED_STREAM]: Code.Unavailable,
  [constants.NGHTTP2_CANCEL]: Code.Canceled,
  [constants.NGHTTP2_ENHANCE_YOUR_CALM]: Code.ResourceExhausted,
  [constants.NGHTTP2_INADEQUATE_SECURITY]: Code.PermissionDenied,
};

/** The error of a stream that the peer has reset. */
export function resetError(resetCode: number): RpcError {
  return new RpcError(CODE_OF_RESET[resetCode] ?? Code.Internal, `the stream was reset with HTTP/2 code ${resetCode}`);
}

/** The error of a connection that could not be made or was lost. `peer` is who it was to, for the message. */
export function connectionError(cause: unknown, peer: string): RpcError {
  if (cause instanceof RpcError) return cause;
  const { code, message } = cause as NodeJS.ErrnoException;
  return new RpcError(Code.Unavailable, `connection to ${peer} failed: ${message || code}`, { cause });
}

/** The error of a connection that was not made in time. */
export function connectTimeout(timeoutMs: number, peer: string): RpcError {
  return connectionError(new Error(`no connection within ${timeoutMs} ms`), peer);
}
