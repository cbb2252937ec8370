/**
 * TLS options: the default cipher suites, and validation of what Node would ignore silently.
 */
import type { ConnectionOptions } from "node:tls";
import { assertArrays, assertObject } from "../../call/option.ts";
import type { ClientTlsOptions } from "../client/transport-options.ts";
import { currentTls, type TlsFileOptions } from "./tls-files.ts";

/**
 * The default cipher suites: those of TLS 1.3, and for TLS 1.2 those with ephemeral keys and authenticated encryption. HTTP/2
 * prohibits the others (RFC 9113, section 9.2.2 and appendix A), of which Node's default has several.
 */
export const DEFAULT_CIPHERS =
  "TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256:TLS_AES_128_GCM_SHA256:ECDHE+AESGCM:ECDHE+CHACHA20";

/**
 * Throws a `TypeError` for options that are not an object, a certificate without its key, a key without its certificate, for
 * those and authorities that are not PEM, such as the path of a file, and an `Error` for invalid files. Returns the options with
 * the contents of their files.
 */
export function checkTlsOptions<Options extends TlsFileOptions & Pick<ClientTlsOptions, "spiffeIds">>(
  options: Options,
): Options {
  assertObject("tls", options, "{ key, cert } or { ca }");
  assertArrays({ "tls.spiffeIds": options.spiffeIds });
  const { ca, cert, key, certFile, keyFile, caFile, reload } = options;
  for (const [name, value] of Object.entries({ ca, cert, key })) {
    for (const one of Array.isArray(value) ? value : [value]) checkPem(name, one);
  }
  for (const [name, file] of Object.entries({ certFile, keyFile, caFile })) {
    if (file !== undefined && typeof file !== "string")
      throw new TypeError(`tls.${name} must be the path of a PEM file`);
  }
  checkPair("cert", cert, "key", key ?? options.privateKeyIdentifier, options.pfx);
  checkPair("certFile", certFile, "keyFile", keyFile);
  for (const [name, file, text] of [
    ["cert", certFile, cert ?? options.pfx],
    ["ca", caFile, ca],
  ]) {
    if (file !== undefined && text !== undefined)
      throw new TypeError(`tls.${name}File and tls.${name} exclude each other`);
  }
  if (reload && (certFile ?? caFile) === undefined) throw new TypeError("tls.reload needs tls.certFile or tls.caFile");
  return currentTls(options);
}

/** Returns the options of a new connection of a client: the current contents of files, and the check of the server's name. */
export function clientTls(
  options: ClientTlsOptions,
): ClientTlsOptions & Pick<ConnectionOptions, "checkServerIdentity"> {
  const { spiffeIds, ...current } = currentTls(options);
  if (spiffeIds === undefined) return current;
  return { ...current, checkServerIdentity: (_host, { subjectaltname }) => spiffeProblem(spiffeIds, subjectaltname) };
}

/**
 * Returns the reason why a verified certificate with these subject alternative names is refused; `undefined` if it has one of the
 * SPIFFE ids. With several URIs it would be no SVID (SPIFFE X.509-SVID, section 2).
 */
export function spiffeProblem(ids: readonly string[], subjectAltName: string | undefined): Error | undefined {
  const uris = alternativeNames(subjectAltName, ["URI"]);
  if (uris.length === 1 && ids.includes(uris[0] as string)) return undefined;
  return new Error(`tls.spiffeIds does not list the peer: its certificate has ${uris.join(", ") || "no URI"}`);
}

/** One name in Node's list of subject alternative names: values with special characters are JSON strings. */
const ALTERNATIVE_NAME = /([A-Za-z ]+):("(?:[^"\\]|\\.)*"|[^,"]+)(?:, |$)/gy;

/** Returns the names of some kinds in Node's list of subject alternative names. */
export function alternativeNames(list = "", kinds: readonly string[]): string[] {
  return Array.from(list.matchAll(ALTERNATIVE_NAME))
    .filter(([, kind = ""]) => kinds.includes(kind))
    .map(([, , name = ""]) => (name.startsWith('"') ? (JSON.parse(name) as string) : name));
}

function checkPair(certName: string, cert: unknown, keyName: string, key: unknown, pfx?: unknown): void {
  if (pfx !== undefined || (cert === undefined) === (key === undefined)) return;
  throw new TypeError(
    key === undefined ? `tls.${certName} needs tls.${keyName}` : `tls.${keyName} needs tls.${certName}`,
  );
}

function checkPem(name: string, value: unknown): void {
  const text = typeof value === "object" && value !== null && "pem" in value ? value.pem : value;
  if (text && !String(text).includes("-----BEGIN ")) throw new TypeError(`tls.${name} must be the text of a PEM file`);
}
