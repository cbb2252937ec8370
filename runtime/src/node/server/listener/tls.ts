/**
 * TLS of a server: ALPN, the time limit of handshakes, and the callbacks of the user.
 */
import type { TLSSocket, TlsOptions } from "node:tls";
import { reportFailure } from "../../../call/error.ts";
import { MAX_TIMER_MS } from "../../../call/platform.ts";
import { DEFAULT_CIPHERS } from "../../io/tls-options.ts";

/**
 * Adds defaults to the user's options, such as the time limit of a handshake in milliseconds, and wraps the callbacks:
 * an error in one ends the connection instead of the process. Throws a `TypeError` for options without a certificate.
 */
export function resolveTlsOptions(options: TlsOptions, handshakeTimeoutMs: number): TlsOptions {
  const { SNICallback, ALPNCallback, pskCallback } = options;
  if ((options.cert ?? options.pfx ?? SNICallback ?? pskCallback) === undefined) {
    throw new TypeError("tls needs key and cert, or pfx, or SNICallback");
  }
  const ciphers = options.ciphers ?? DEFAULT_CIPHERS;
  const resolved: TlsOptions = { handshakeTimeout: Math.min(handshakeTimeoutMs, MAX_TIMER_MS), ...options, ciphers };
  // Node accepts only one of the two options.
  if (ALPNCallback === undefined) resolved.ALPNProtocols = options.ALPNProtocols ?? ["h2", "http/1.1"];
  else resolved.ALPNCallback = (offer) => attempt("ALPNCallback", () => ALPNCallback(offer));
  if (pskCallback !== undefined) {
    resolved.pskCallback = (socket, identity) => attempt("pskCallback", () => pskCallback(socket, identity)) ?? null;
  }
  if (SNICallback !== undefined) {
    resolved.SNICallback = (name, answer) => {
      const fail = (reason: unknown): void => {
        reportFailure("tls.SNICallback", reason);
        answer(reason instanceof Error ? reason : new Error("tls.SNICallback failed"));
      };
      try {
        const result: unknown = SNICallback(name, answer);
        if (result instanceof Promise) result.catch(fail);
      } catch (reason) {
        fail(reason);
      }
    };
  }
  return resolved;
}

/** Returns the result of the callback. If it throws, returns `undefined`, which refuses the connection. */
function attempt<T>(name: string, callback: () => T): T | undefined {
  try {
    return callback();
  } catch (reason) {
    reportFailure(`tls.${name}`, reason);
    return undefined;
  }
}

/**
 * Returns the error of a failed handshake. For a certificate that does not verify, Node reports only that the connection has
 * ended, because it closes the socket itself; the reason is a property of the socket.
 */
export function handshakeError(error: Error, { authorizationError }: TLSSocket): Error {
  // Node's types say `Error`, but it is the code of OpenSSL, such as `CERT_HAS_EXPIRED`.
  const code: unknown = authorizationError;
  if (typeof code !== "string") return error;
  return Object.assign(new Error(`the client's certificate is refused: ${code}`, { cause: error }), { code });
}
