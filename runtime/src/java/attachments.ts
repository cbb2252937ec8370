/**
 * Attachments, which is Dubbo for Java's name for metadata: names keep their capitals, and values have types.
 */
import { Metadata } from "../call/metadata.ts";

/** A value that Dubbo for Java sends as text or, if it is bytes, under a name that ends in `-bin`. */
export type AttachmentValue = string | number | bigint | boolean | Date | Uint8Array;

/** The header that maps lower-case names to the original ones: a JSON object, percent-encoded. */
const CONVERT = "tri-header-convert";

/** Names that Dubbo for Java uses itself and leaves out of the attachments. */
const NOT_ATTACHMENTS =
  /^(?::.*|tri-.*|grpc-.*|rest-service-.*|content-type|te|user-agent|interface|path|group|version|timeout|application|remote\.application|serialization)$/;

/**
 * Makes metadata that Dubbo for Java reads as attachments under the same names, capitals included, and with bytes as bytes.
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
  // Java decodes it like a form, where a plus is a space; encodeURIComponent leaves no plus.
  if (Object.keys(originals).length > 0) metadata.append(CONVERT, encodeURIComponent(JSON.stringify(originals)));
  return metadata;
}

/**
 * The attachments that Dubbo for Java sent: on a server in `context.requestHeaders`, on a client in the trailers. Names have
 * their capitals back where Java sent them; names of bytes lose `-bin`; fields of the protocol are left out. The last value of a
 * repeated name counts. Malformed values stay text.
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

/** The original names by the lower-case ones. An entry whose names differ in more than capitals is ignored. */
function readOriginals(text: string | undefined): ReadonlyMap<string, string> {
  const originals = new Map<string, string>();
  if (text === undefined) return originals;
  try {
    for (const [key, name] of Object.entries(JSON.parse(decodeURIComponent(text)) ?? {})) {
      if (typeof name === "string" && name.toLowerCase() === key) originals.set(key, name);
    }
  } catch {
    // A malformed map costs only the capitals of the names.
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
