/**
 * Base64 (RFC 4648, section 4) of `application/grpc-web-text`, for clients that can read only text while it arrives. Chunks
 * are encoded and padded one by one, so a body may contain padding before its end. Other characters, such as white space,
 * are invalid (RFC 4648, section 3.3): they would have no cost that a limit counts.
 */
import { encodeBase64 } from "../call/base64.ts";
import { concat, NO_BYTES } from "../call/bytes.ts";
import { Code, Status } from "../call/code.ts";
import { RpcError } from "../call/error.ts";
import { type Body, streamBody } from "../http/body.ts";

/** The number of bytes that are encoded at a time: a multiple of 3, so that only the last piece may need padding. */
const PIECE_BYTES = 24_576;

const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const PADDING = 0x3d;

/** The value of each character, -1 for those outside the alphabet. */
const VALUES = Int8Array.from({ length: 256 }, (_, character) => ALPHABET.indexOf(String.fromCharCode(character)));

/** Decodes a body in base64. Reading throws `invalid_argument` for text that is not base64. */
export function decodeBase64Body(body: Body): Body {
  return streamBody(decodeChunks(body));
}

async function* decodeChunks(body: Body): AsyncGenerator<Uint8Array, void> {
  /** Up to three characters of a group of four. */
  let rest = NO_BYTES;
  for await (const chunk of body) {
    const text = rest.byteLength === 0 ? chunk : concat([rest, chunk], rest.byteLength + chunk.byteLength);
    const usable = text.byteLength - (text.byteLength % 4);
    rest = text.slice(usable);
    if (usable > 0) yield decodeGroups(text.subarray(0, usable));
  }
  if (rest.byteLength > 0) yield decodeGroups(Uint8Array.of(...rest, PADDING, PADDING).subarray(0, 4));
}

/** Decodes groups of four characters. Each of them may have padding. */
function decodeGroups(text: Uint8Array): Uint8Array {
  const bytes = new Uint8Array((text.byteLength / 4) * 3);
  let length = 0;
  for (let i = 0; i < text.byteLength; i += 4) {
    const padding = text[i + 3] !== PADDING ? 0 : text[i + 2] !== PADDING ? 1 : 2;
    // Negative if a character is invalid.
    const bits =
      (valueAt(text, i) << 18) |
      (valueAt(text, i + 1) << 12) |
      (padding > 1 ? 0 : valueAt(text, i + 2) << 6) |
      (padding > 0 ? 0 : valueAt(text, i + 3));
    if (bits < 0) {
      const message = "the body of a request in application/grpc-web-text must be base64";
      throw new RpcError(Code.InvalidArgument, message, { status: Status.BadRequest });
    }
    bytes[length++] = bits >> 16;
    if (padding < 2) bytes[length++] = bits >> 8;
    if (padding < 1) bytes[length++] = bits;
  }
  return bytes.subarray(0, length);
}

function valueAt(text: Uint8Array, index: number): number {
  return VALUES[text[index] as number] as number;
}

/** Encodes bytes in base64, with padding. `Buffer` is far faster, and takes less memory. */
export function toBase64(bytes: Uint8Array): Uint8Array {
  let text = "";
  if (typeof Buffer === "function") {
    text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("base64");
  } else {
    for (let i = 0; i < bytes.byteLength; i += PIECE_BYTES) text += encodeBase64(bytes.subarray(i, i + PIECE_BYTES));
    text = text.padEnd(4 * Math.ceil(bytes.byteLength / 3), "=");
  }
  return new TextEncoder().encode(text);
}
