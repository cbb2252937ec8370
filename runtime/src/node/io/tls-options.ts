/**
 * Validation of TLS options that Node would ignore silently.
 */
import type { SecureContextOptions } from "node:tls";
import { assertObject } from "../../call/option.ts";

/**
 * Throws a `TypeError` for options that are not an object, a certificate without its key, a key without its certificate, and
 * for those and authorities that are not PEM, such as the path of a file.
 */
export function checkTlsOptions(options: SecureContextOptions): void {
  assertObject("tls", options, "{ key, cert } or { ca }");
  const { ca, cert, key, pfx, privateKeyIdentifier } = options;
  for (const [name, value] of Object.entries({ ca, cert, key })) {
    for (const one of Array.isArray(value) ? value : [value]) checkPem(name, one);
  }
  const hasKey = (key ?? privateKeyIdentifier) !== undefined;
  if (pfx !== undefined || (cert !== undefined) === hasKey) return;
  throw new TypeError(hasKey ? "tls.key needs tls.cert" : "tls.cert needs tls.key");
}

function checkPem(name: string, value: unknown): void {
  const text = typeof value === "object" && value !== null && "pem" in value ? value.pem : value;
  if (text && !String(text).includes("-----BEGIN ")) throw new TypeError(`tls.${name} must be the text of a PEM file`);
}
