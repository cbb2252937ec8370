/**
 * Reading of `grpc-status-details-bin`: a `google.rpc.Status` with the typed details of an error. The module does not use
 * protobuf-es, so that pages with plain JSON messages do not contain it.
 */
import type { ErrorDetail } from "../call/error.ts";

//     message google.rpc.Status   { int32 code = 1; string message = 2; repeated Any details = 3; }
//     message google.protobuf.Any { string type_url = 1; bytes value = 2; }
const DETAILS = 3;
const TYPE_URL = 1;
const VALUE = 2;

/** Decodes the details of an encoded `google.rpc.Status`. Throws for bytes that are not a message, and for groups. */
export function decodeDetails(status: Uint8Array): ErrorDetail[] {
  const details: ErrorDetail[] = [];
  for (const [number, content] of delimitedFields(status)) if (number === DETAILS) details.push(decodeAny(content));
  return details;
}

function decodeAny(bytes: Uint8Array): ErrorDetail {
  let typeUrl = "";
  let value: Uint8Array = new Uint8Array();
  for (const [number, content] of delimitedFields(bytes)) {
    if (number === TYPE_URL) typeUrl = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(content);
    // The copy does not keep the other details alive.
    if (number === VALUE) value = content.slice();
  }
  return { typeUrl, value };
}

/** Iterates over the length-delimited fields of a message, and skips the others. */
function* delimitedFields(bytes: Uint8Array): Generator<[number: number, content: Uint8Array]> {
  let position = 0;
  while (position < bytes.length) {
    const tag = varint();
    const [number, type] = [Math.floor(tag / 8), tag % 8];
    if (type === 0) varint();
    else if (type === 1) skip(8);
    else if (type === 5) skip(4);
    else if (type === 2) yield [number, skip(varint())];
    else throw new Error(`wire type ${type}`);
  }

  function varint(): number {
    let value = 0;
    for (let scale = 1; scale < 2 ** 70; scale *= 128) {
      const byte = bytes[position++];
      if (byte === undefined) break;
      value += (byte % 128) * scale;
      if (byte < 128) return value;
    }
    throw new Error("invalid varint");
  }

  function skip(length: number): Uint8Array {
    const start = position;
    position += length;
    if (position > bytes.length) throw new Error("a field is longer than its message");
    return bytes.subarray(start, position);
  }
}
