/**
 * TLS options: the default cipher suites, and validation of what Node would ignore silently.
 */
import type { SecureContextOptions } from "node:tls";
import { assertObject } from "../../call/option.ts";

/**
 * The default cipher suites: those of TLS 1.3, and for TLS 1.2 those with ephemeral keys and authenticated encryption. HTTP/2
 * prohibits the others (RFC 9113, section 9.2.2 and appendix A), of which Node's default has several.
 */
export const DEFAULT_CIPHERS =
  "TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256:TLS_AES_128_GCM_SHA256:ECDHE+AESGCM:ECDHE+CHACHA20";

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
