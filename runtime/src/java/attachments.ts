/**
 * Metadata as Dubbo for Java has it, where it is called attachments: names keep their capitals, and values have types.
 */
import { Metadata } from "../call/metadata.ts";

/** A value that Dubbo for Java sends as text or, if it is bytes, under a name that ends in `-bin`. */
export type AttachmentValue = string | number | bigint | boolean | Date | Uint8Array;

/** The header that tells the names before HTTP made them lower case: an object in JSON, percent-encoded. */
const CONVERT = "tri-header-convert";

/** What Dubbo for Java uses itself, and does not count among the attachments. */
const NOT_ATTACHMENTS =
  /^(?::.*|tri-.*|grpc-.*|rest-service-.*|content-type|te|user-agent|interface|path|group|version|timeout|application|remote\.application|serialization)$/;

/**
 * Makes metadata that Dubbo for Java reads as attachments under the same names, capitals included, and with bytes as bytes.
 * Pass it as the `headers` of a call, or append it to the `responseTrailers` of a handler. Throws a `TypeError` for a name or
 * a text that metadata cannot have.
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
  // Java reads it as a form, where a plus is a space; encodeURIComponent leaves none.
  if (Object.keys(originals).length > 0) metadata.append(CONVERT, encodeURIComponent(JSON.stringify(originals)));
  return metadata;
}

/**
 * The attachments that Dubbo for Java sent: on a server in `context.requestHeaders`, on a client in the trailers. Names have
 * their capitals back where Java told them; bytes have lost the `-bin` of their name; fields of the protocol are left out.
 * Of a name that is there twice the last value counts. Broken values are left as the text they are.
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

/** The names that a peer gave, by those they have here. What is not the same name but for its capitals is no such name. */
function readOriginals(text: string | undefined): ReadonlyMap<string, string> {
  const originals = new Map<string, string>();
  if (text === undefined) return originals;
  try {
    for (const [key, name] of Object.entries(JSON.parse(decodeURIComponent(text)) ?? {})) {
      if (typeof name === "string" && name.toLowerCase() === key) originals.set(key, name);
    }
  } catch {
    // Names without their capitals are better than no attachments.
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
