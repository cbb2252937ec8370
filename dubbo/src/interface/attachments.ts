/** Attachments, which is the name of metadata in Dubbo for Java: names keep their capitals, and values have types. */
import { Metadata } from "triple-es";

/** A value that Dubbo for Java sends as text, or, if it is bytes, under a name that ends in `-bin`. */
export type AttachmentValue = string | number | bigint | boolean | Date | Uint8Array;

/** The header that maps lower-case names to the original names: a JSON object, percent-encoded. */
const CONVERT = "tri-header-convert";

/** Names that Dubbo for Java reserves and excludes from the attachments. */
const NOT_ATTACHMENTS =
  /^(?::|tri-|grpc-|rest-service-|(?:content-type|te|user-agent|interface|path|group|version|timeout|application|remote\.application|serialization)$)/;

/**
 * Creates metadata that Dubbo for Java reads as attachments with the same names, including capitals, and with bytes as bytes.
 * Pass it as the `headers` of a call, or append it to the `responseTrailers` of a handler. Throws a `TypeError` for a name or
 * a text that is invalid in metadata.
 */
export function attachments(values: { readonly [name: string]: AttachmentValue | undefined }): Metadata {
  const metadata = new Metadata();
  const originals: Record<string, string> = {};
  for (const [name, value] of Object.entries(values)) {
    if (value === undefined) continue;
    const key = name.toLowerCase();
    if (value instanceof Uint8Array) metadata.append(`${key}-bin`, value);
    else metadata.append(key, value instanceof Date ? value.toUTCString() : String(value));
    if (key !== name) originals[key] = name;
  }
  // Java decodes the value like a form, in which a plus is a space; encodeURIComponent encodes every plus.
  if (Object.keys(originals).length > 0) metadata.append(CONVERT, encodeURIComponent(JSON.stringify(originals)));
  return metadata;
}

/**
 * Reads the attachments that Dubbo for Java sent: on a server from `context.requestHeaders`, on a client from the trailers.
 * Names have their original capitals if Java sent them; names of bytes lose `-bin`; fields of the protocol are left out. If a
 * name is repeated, its last value is used. Malformed values remain text.
 */
export function readAttachments(metadata: Metadata): Record<string, string | Uint8Array> {
  const values: Record<string, string | Uint8Array> = Object.create(null);
  const originals = readOriginals(metadata.get(CONVERT));
  for (const [name, text] of metadata) {
    if (NOT_ATTACHMENTS.test(name)) continue;
    const bytes = name.endsWith("-bin") ? readBytes(metadata, name) : undefined;
    const key = bytes === undefined ? name : name.slice(0, -"-bin".length);
    values[originals.get(key) ?? key] = bytes ?? text;
  }
  return values;
}

/** Reads the map from lower-case names to original names. An entry whose names differ in more than capitals is ignored. */
function readOriginals(text: string | undefined): ReadonlyMap<string, string> {
  const originals = new Map<string, string>();
  if (text === undefined) return originals;
  try {
    for (const [key, name] of Object.entries(JSON.parse(decodeURIComponent(text)) ?? {})) {
      if (typeof name === "string" && name.toLowerCase() === key) originals.set(key, name);
    }
  } catch {
    // If the map is malformed, the names stay in lower case.
  }
  return originals;
}

function readBytes(metadata: Metadata, name: string): Uint8Array | undefined {
  try {
    return metadata.getAllBinary(name).at(-1);
  } catch {
    return undefined;
  }
}
