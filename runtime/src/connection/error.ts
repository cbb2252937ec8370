/**
 * Conversion of network errors to `RpcError`s: those of sockets, HTTP/1.1 exchanges, and HTTP/2 connections and streams.
 */
import { Code, Status } from "../call/code.ts";
import { RpcError } from "../call/error.ts";
import type { MessageError } from "../http1/error.ts";
import { ErrorCode } from "../http2/codes.ts";
import { clipText } from "../protocol/error.ts";

/** A listener for `error` events that are also reported in another way. Without a listener they would end the process. */
export function ignore(): void {}

/** gRPC's mapping of the HTTP/2 error codes of RST_STREAM. All other codes, undefined ones included, map to internal. */
const CODE_OF_RESET: Readonly<Record<number, Code>> = {
  [ErrorCode.RefusedStream]: Code.Unavailable,
  [ErrorCode.Cancel]: Code.Canceled,
  [ErrorCode.EnhanceYourCalm]: Code.ResourceExhausted,
  [ErrorCode.InadequateSecurity]: Code.PermissionDenied,
};

/** The error of a stream that the peer has reset. */
export function resetError(resetCode: number): RpcError {
  const message = `the stream was reset with HTTP/2 code ${resetCode}`;
  return new RpcError(CODE_OF_RESET[resetCode] ?? Code.Internal, message);
}

/** The reason in an error of OpenSSL, which is `…:error:0A00010B:SSL routines:function:reason:file:line:`. */
const OPENSSL = /:error:[0-9A-F]+:SSL routines:[^:]*:([^:]+):/;

/** Replacements for messages of Node and OpenSSL that do not state the cause clearly. */
const MEANINGS: readonly (readonly [cause: RegExp, meaning: string])[] = [
  [/wrong version number|packet length too long|http request/, "the server does not speak TLS (try http://)"],
  [/no application protocol/, "the server does not speak HTTP/2"],
  [/^write (EPIPE|ECONNRESET)$/, "the server closed the connection while the request was sent"],
];

/** The options to set, for messages of OpenSSL and Node that only state a cause. */
const HINTS: readonly (readonly [cause: RegExp, hint: string])[] = [
  [/alert certificate required$/, "set tls.cert and tls.key, or their files"],
  [
    /^unable to (verify the first certificate|get (local )?issuer certificate)$|^self.signed certificate/,
    "set tls.ca or tls.caFile to the authority of the server's certificate",
  ],
  [/^Hostname\/IP does not match certificate's altnames/, "tls.servername sets the expected name"],
];

/** Maximum length of a cause in a message, in characters. The cause of an unexpected certificate lists all its names. */
const MAX_CAUSE_TEXT = 300;

/** The error of a connection that could not be made or was lost. `peer` names the server in the message. */
export function connectionError(cause: unknown, peer: string): RpcError {
  if (cause instanceof RpcError) return cause;
  // Streams of users may fail with any value.
  const { code, message = String(cause) } = Object(cause) as NodeJS.ErrnoException;
  const original = OPENSSL.exec(message)?.[1] ?? (message.trim() || code || "");
  const meaning =
    MEANINGS.find(([pattern]) => pattern.test(original))?.[1] ?? withHint(clipText(original, MAX_CAUSE_TEXT));
  return new RpcError(Code.Unavailable, `connection to ${peer} failed: ${meaning}`, { cause });
}

function withHint(message: string): string {
  const hint = HINTS.find(([pattern]) => pattern.test(message))?.[1];
  return hint === undefined ? message : `${message.replace(/:$/, "")} (${hint})`;
}

/** The error of a response over HTTP/1.1 that cannot be read. A malformed one is not reported as unavailable. */
export function responseError(cause: MessageError, peer: string, maxHeaderBytes: number): RpcError {
  if (cause.status === 505) return connectionError(cause, peer);
  const isTooLarge = cause.status === 431;
  const problem = isTooLarge
    ? `the headers of the response of ${peer} are larger than the limit of ${maxHeaderBytes} bytes (option headerLimits)`
    : `the response of ${peer} is malformed: ${cause.message}`;
  const code = isTooLarge ? Code.ResourceExhausted : Code.Internal;
  return new RpcError(code, problem, { status: Status.BadResponse, cause });
}

/**
 * Reports whether nothing listens at an address of this machine (a loopback address or a Unix domain socket). A further
 * attempt then costs no network traffic and almost no time.
 */
export function isRefusedLocally(cause: unknown): boolean {
  const { code, address, errors } = (cause ?? {}) as NodeJS.ErrnoException & { address?: string; errors?: unknown[] };
  // For a host with several addresses, there is an error for each.
  if (errors !== undefined && errors.length > 0) return errors.every(isRefusedLocally);
  if (code === "ENOENT") return true;
  return code === "ECONNREFUSED" && /^(127\.|::1$|::ffff:127\.|\/)/.test(address ?? "");
}

/** The cause for a connection that the server closed, with the known circumstances. */
class ClosedByPeer extends Error {
  constructor(circumstances = "", peer = "server") {
    super(`the ${peer} closed the connection${circumstances}`);
  }
}

export const CLOSED_BY_PEER: Error = new ClosedByPeer();
export const CLOSED_BY_PROXY: Error = new ClosedByPeer(" before it answered CONNECT", "proxy");

/**
 * The cause of the end of a connection on which the server has sent nothing. `objection` is what a server may object to: Node, for
 * example, rejects a certificate without an alert.
 */
export function closedSilently(overTls: boolean, objection: string | undefined): Error {
  if (!overTls) return new ClosedByPeer(" before it sent anything; a server of TLS may do so (try https://)");
  if (objection === undefined) return CLOSED_BY_PEER;
  return new ClosedByPeer(` before it sent anything, as one may that ${objection}`);
}

/** Reports whether the server closed or reset the connection. */
export function isClosedByPeer(cause: unknown): boolean {
  if (cause instanceof ClosedByPeer) return true;
  const { code } = (cause ?? {}) as NodeJS.ErrnoException;
  return code === "ECONNRESET" || code === "EPIPE";
}

/** The error of a connection to a server that violates or abuses HTTP/2. */
export function hostileServer(what: string): RpcError {
  return new RpcError(Code.Unavailable, `the connection was closed because the server ${what}`);
}
