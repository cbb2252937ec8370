/** Writing of messages: status lines, fields, and the frames of chunks. A head and a small body are written into one slab. */
import type { FieldList } from "../wire/fields.ts";
import type { Output } from "../wire/output.ts";
import { Bit, consistsOf } from "./syntax.ts";

/** Fields in the form in which they are sent. */
export interface EncodedFields {
  readonly bytes: Uint8Array;
  /** True if one of them is content-length, and its value. */
  readonly length: number | undefined;
  /** True if one of them is date. */
  readonly isDated: boolean;
}

/** Texts up to this length are written into a slab. */
const MAX_SLAB_TEXT = 8 * 1024;

/** Reason phrases by status. They mean nothing, and may be left out (RFC 9112, section 4). */
export type Reasons = Readonly<Record<number, string | undefined>>;

const statusLines = new Map<number, Uint8Array>();
const encodings = new WeakMap<FieldList, EncodedFields>();

/** Writes a status line. The version is that of the server, also to clients of HTTP/1.0 (RFC 9110, section 2.5). */
export function writeStatusLine(output: Output, status: number, reasons: Reasons): void {
  let line = statusLines.get(status);
  if (line === undefined) {
    if (!(status >= 100 && status <= 999)) throw new TypeError(`${status} is not a status`);
    line = encode(`HTTP/1.1 ${status} ${reasons[status] ?? ""}\r\n`);
    statusLines.set(status, line);
  }
  output.payload(line);
}

/**
 * Encodes fields. Throws a `TypeError` for one that cannot be sent, such as a value with CR or LF (RFC 9112, section 11.1), or that
 * frames the message, which the engine does.
 */
export function encodeFields(fields: FieldList): EncodedFields {
  const known = fields.frozen ? encodings.get(fields) : undefined;
  if (known !== undefined) return known;
  const { raw } = fields;
  let text = "";
  let length: number | undefined;
  let isDated = false;
  for (let i = 0; i < raw.length; i += 2) {
    const name = raw[i] as string;
    const value = raw[i + 1] as string;
    if (name === "" || !consistsOf(name, Bit.Token)) throw new TypeError(`${JSON.stringify(name)} is not a field name`);
    if (!consistsOf(value, Bit.Value)) throw new TypeError(`the value of the field ${name} cannot be sent`);
    if (name === "content-length") {
      length = length === undefined ? Number(value) : Number.NaN;
      if (!(length >= 0)) throw new TypeError("content-length must be one number");
    } else if (name === "transfer-encoding" || name === "connection") {
      throw new TypeError(`the field ${name} is set by the connection`);
    } else if (name === "date") {
      isDated = true;
    }
    text += `${name}: ${value}\r\n`;
  }
  const encoded = { bytes: encode(text), length, isDated };
  if (fields.frozen) encodings.set(fields, encoded);
  return encoded;
}

/** Writes text of Latin-1. */
export function writeText(output: Output, text: string): void {
  if (text.length > MAX_SLAB_TEXT) {
    output.payload(encode(text));
    return;
  }
  output.reserve(text.length);
  output.commit(put(output.slab, output.at, text));
}

/** Writes data as a chunk (RFC 9112, section 7.1). It is not empty, because that would be the last chunk. */
export function writeChunk(output: Output, data: Uint8Array): void {
  writeText(output, `${data.length.toString(16)}\r\n`);
  output.payload(data);
  writeText(output, "\r\n");
}

function encode(text: string): Uint8Array {
  const bytes = new Uint8Array(text.length);
  put(bytes, 0, text);
  return bytes;
}

function put(bytes: Uint8Array, start: number, text: string): number {
  for (let i = 0; i < text.length; i++) bytes[start + i] = text.charCodeAt(i);
  return start + text.length;
}
