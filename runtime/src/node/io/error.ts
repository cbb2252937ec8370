/**
 * Node's errors as `RpcError`s: what sockets, sessions and streams fail with.
 */
import { constants } from "node:http2";
import { Code, Status } from "../../call/code.ts";
import { RpcError } from "../../call/error.ts";

/** Headers of HTTP/1.1 beyond this are not read, on either side. */
export const MAX_HEADER_BYTES: number = 32 * 1024;

/** Header fields of HTTP/2 beyond these make Node reset a stream: more than there can be in blocks of 64 KiB, which are the limit. */
export const MAX_HEADER_PAIRS = 2_000;

/** gRPC's mapping of HTTP/2 reset codes. Codes that are not listed, also those nobody has defined, are internal. */
const CODE_OF_RESET: Readonly<Record<number, Code>> = {
  [constants.NGHTTP2_REFUSED_STREAM]: Code.Unavailable,
  [constants.NGHTTP2_CANCEL]: Code.Canceled,
  [constants.NGHTTP2_ENHANCE_YOUR_CALM]: Code.ResourceExhausted,
  [constants.NGHTTP2_INADEQUATE_SECURITY]: Code.PermissionDenied,
};

/** The error of a stream that has been reset. */
export function resetError(resetCode: number): RpcError {
  const message = `the stream was reset with HTTP/2 code ${resetCode}`;
  // Node does not tell its own resets from those of the peer.
  const own = resetCode === constants.NGHTTP2_ENHANCE_YOUR_CALM;
  const note = own ? `, by the server or because the response has more than ${MAX_HEADER_PAIRS} header fields` : "";
  return new RpcError(CODE_OF_RESET[resetCode] ?? Code.Internal, message + note);
}

/** What OpenSSL says, between its own names for the place: `…:error:0A00010B:SSL routines:function:reason:file:line:`. */
const OPENSSL = /:error:[0-9A-F]+:SSL routines:[^:]*:([^:]+):/;

/** What the parser of HTTP/1.1 says of a peer that speaks something else from the start. */
const NO_HTTP1 = /^Parse Error: Expected HTTP\//;

/** Causes that hide what they mean to users, by what they say. */
const MEANINGS: readonly (readonly [cause: RegExp, meaning: string])[] = [
  [/wrong version number|packet length too long|http request/, "the server does not speak TLS (try http://)"],
  [/no application protocol/, "the server does not speak HTTP/2"],
  [NO_HTTP1, "the server does not speak HTTP/1.1"],
];

/** The error of a connection that could not be made or was lost. `peer` is who it was to, for the message. */
export function connectionError(cause: unknown, peer: string): RpcError {
  if (cause instanceof RpcError) return cause;
  const { code, message } = cause as NodeJS.ErrnoException;
  const said = OPENSSL.exec(message)?.[1] ?? (message.trim() || code);
  const meant = MEANINGS.find(([pattern]) => pattern.test(said ?? ""))?.[1] ?? said;
  return new RpcError(Code.Unavailable, `connection to ${peer} failed: ${meant}`, { cause });
}

/** The error of an exchange over HTTP/1.1. A server that has answered, but not as it must, is not unavailable. */
export function exchangeError(cause: unknown, peer: string): RpcError {
  const { code = "", message } = cause as NodeJS.ErrnoException;
  if (code === "HPE_HEADER_OVERFLOW") {
    const problem = `the headers of the response of ${peer} are larger than the limit of ${MAX_HEADER_BYTES} bytes`;
    return new RpcError(Code.ResourceExhausted, problem, { status: Status.BadResponse, cause });
  }
  if (!code.startsWith("HPE_") || NO_HTTP1.test(message)) return connectionError(cause, peer);
  const problem = `the response of ${peer} is malformed: ${message.replace(/^Parse Error: /, "")}`;
  return new RpcError(Code.Internal, problem, { status: Status.BadResponse, cause });
}

/** The error of an HTTP/2 connection that has never come about. */
export function handshakeError(cause: unknown, peer: string): RpcError {
  // nghttp2's "Protocol error": the first bytes of the server were no settings.
  const spoke = (cause as NodeJS.ErrnoException).code === "ERR_HTTP2_ERROR";
  return connectionError(spoke ? new Error("the server does not speak HTTP/2", { cause }) : cause, peer);
}

/** The error of a connection that was not made in time. */
export function connectTimeout(timeoutMs: number, peer: string): RpcError {
  return connectionError(new Error(`no connection within ${timeoutMs} ms`), peer);
}

/** The cause of a connection's end that nobody here brought about. */
export const CLOSED_BY_PEER: Error = new Error("the server closed the connection");

/** The error of a server that does not keep to what servers do. */
export function hostileServer(what: string): RpcError {
  return new RpcError(Code.Unavailable, `the connection was given up, because the server ${what}`);
}
