/**
 * TLS of a server: what it agrees on, how long it may take, and the user's code that it asks.
 */
import type { TlsOptions } from "node:tls";
import { reportFailure } from "../../call/error.ts";

/** Time in which a new connection must identify its protocol, TLS handshake included, in milliseconds. */
export const HANDSHAKE_TIMEOUT_MS = 10_000;

/** Options as a user gave them, with defaults, and with callbacks whose failure costs a connection and not the process. */
export function resolveTlsOptions(options: TlsOptions): TlsOptions {
  const { SNICallback, ALPNCallback, pskCallback } = options;
  const resolved: TlsOptions = { handshakeTimeout: HANDSHAKE_TIMEOUT_MS, ...options };
  // Node takes one of the two.
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

/** The result of the callback; `undefined`, which refuses the connection, if it throws. */
function attempt<T>(name: string, callback: () => T): T | undefined {
  try {
    return callback();
  } catch (reason) {
    reportFailure(`tls.${name}`, reason);
    return undefined;
  }
}
