/**
 * Validation of TLS options that Node would ignore silently.
 */
import type { SecureContextOptions } from "node:tls";
import { assertObject } from "../../call/option.ts";

/**
 * Throws a `TypeError` for options that are not an object, a certificate without its key, a key without its certificate, and authorities that are not
 * PEM.
 */
export function checkTlsOptions(options: SecureContextOptions): void {
  assertObject("tls", options, "{ key, cert } or { ca }");
  const { ca, cert, key, pfx, privateKeyIdentifier } = options;
  for (const one of Array.isArray(ca) ? ca : [ca]) {
    if (one && !String(one).includes("-----BEGIN ")) throw new TypeError("tls.ca must be the text of a PEM file");
  }
  const hasKey = (key ?? privateKeyIdentifier) !== undefined;
  if (pfx !== undefined || (cert !== undefined) === hasKey) return;
  throw new TypeError(hasKey ? "tls.key needs tls.cert" : "tls.cert needs tls.key");
}
