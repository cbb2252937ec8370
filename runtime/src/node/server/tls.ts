/**
 * TLS of a server: ALPN, the time limit of handshakes, and the callbacks of the user.
 */
import type { TlsOptions } from "node:tls";
import { reportFailure } from "../../call/error.ts";

/**
 * Adds defaults to the user's options, such as the time limit of a handshake in milliseconds, and wraps the callbacks: an error in one ends the connection instead of the process.
 */
export function resolveTlsOptions(options: TlsOptions, handshakeTimeoutMs: number): TlsOptions {
  const { SNICallback, ALPNCallback, pskCallback } = options;
  const resolved: TlsOptions = { handshakeTimeout: handshakeTimeoutMs, ...options };
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
