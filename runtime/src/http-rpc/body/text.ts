/**
 * Text bodies: text in a charset, bound to the only string parameter of a method (spec: Additional request content
 * types).
 */
import { type DescField, type DescMessage, type JsonObject, type JsonValue, ScalarType } from "@bufbuild/protobuf";
import { Code } from "../../call/code.ts";
import type { BodyContent, NamedResult, Notation } from "../../call/method.ts";
import { immediate, type Steps } from "../../call/steps.ts";
import type { BodyJson } from "../../codec/large-message.ts";
import { clipText, quote } from "../../protocol/error.ts";
import { Refusal } from "../error-response.ts";
import type { BodyFormat } from "./format.ts";
import { messageFrom } from "./parameters.ts";

/** A text result has none of these values. */
const TEXT_NOTATION: Notation = { long: String, double: String, bytes: String, date: String };

type TextContent = Extract<BodyContent, { shape: "text" }>;

/**
 * The format `text/plain` in a charset. The response is JSON, or text if it is a single string and `accept` selects
 * text.
 */
export const text: BodyFormat = {
  kind: "text",
  mediaTypes: ["text/plain"],
  safelisted: true,
  *parse(bytes, { parameters }) {
    return { shape: "text", text: yield* decodeText(bytes, parameters.get("charset")) };
  },
  decode: (type, content: TextContent, { json }) => decodeTextBody(json, type, content.text),
  response: {
    onRequest: true,
    parameters: "; charset=utf-8",
    fits: isText,
    encode: encodeTextBody,
    results: { textOnly: true, notation: TEXT_NOTATION, encode: encodeTextResult },
  },
};

/** Decodes the request message of a method with one string parameter. */
function* decodeTextBody(json: BodyJson, type: DescMessage, value: string): Steps<object> {
  if (type.typeName === STRING_VALUE) return yield* json.fromValue(type, value);
  const field = stringField(type);
  if (field !== undefined) return yield* messageFrom(json, type, [{ field, value }]);
  const problem = `text/plain is for methods with one string parameter, and ${type.typeName} has none or several`;
  throw new Refusal(415, Code.Unimplemented, problem);
}

/** Encodes a response that is a single string as text, the reverse of {@link decodeTextBody}. */
function encodeTextBody(type: DescMessage, value: JsonValue): Steps<Uint8Array> {
  const field = stringField(type) as DescField;
  const written = type.typeName === STRING_VALUE ? value : (value as JsonObject)[field.jsonName];
  return immediate(new TextEncoder().encode(typeof written === "string" ? written : ""));
}

/** Encodes a result without a schema. Null becomes empty text. */
function encodeTextResult({ result }: NamedResult): Uint8Array {
  return new TextEncoder().encode(result.shape === "single" ? String(result.value) : "");
}

/** Reports whether a message is a single string, so that the response may be plain text. */
function isText(type: DescMessage): boolean {
  return type.typeName === STRING_VALUE || (type.fields.length === 1 && stringField(type) !== undefined);
}

const STRING_VALUE = "google.protobuf.StringValue";

/** Returns the string field of a message, if there is exactly one. */
function stringField(type: DescMessage): DescField | undefined {
  const fields = type.fields.filter(
    (field) =>
      (field.fieldKind === "scalar" && field.scalar === ScalarType.STRING) ||
      (field.fieldKind === "message" && field.message.typeName === STRING_VALUE),
  );
  return fields.length === 1 ? fields[0] : undefined;
}

/** Decodes a part of the bytes. `offset` is the position of the part; `stream` is true if more parts follow. */
type DecodePart = (bytes: Uint8Array, offset: number, stream: boolean) => string;

/**
 * Charsets that TextDecoder does not support or decodes differently. It treats US-ASCII and ISO-8859-1 as windows-1252,
 * which Node decodes as ISO-8859-1.
 */
const OWN_CHARSETS: Readonly<Record<string, DecodePart>> = {
  "us-ascii": decodeAscii,
  "iso-8859-1": decodeLatin1,
  "windows-1252": decodeWindows1252,
};
const ALIASES: Readonly<Record<string, string>> = {
  ascii: "us-ascii",
  latin1: "iso-8859-1",
  cp1252: "windows-1252",
  iso8859_1: "iso-8859-1",
  utf16: "utf-16",
};

/** Bytes that are decoded in one step. */
const CHARSET_STEP_BYTES = 64 * 1024;

/**
 * Decodes text in a charset, UTF-8 by default, and removes its byte order mark.
 *
 * Throws for bytes that are invalid in the charset, and status 415 for charsets that the platform cannot decode.
 */
export function* decodeText(bytes: Uint8Array, charset = "utf-8"): Steps<string> {
  const label = charset.toLowerCase();
  const known = ALIASES[label] ?? label;
  const decode = OWN_CHARSETS[known] ?? createDecoder(known === "utf-16" ? detectUtf16(bytes) : label, charset);
  let text = "";
  for (let start = 0; start === 0 || start < bytes.length; start += CHARSET_STEP_BYTES) {
    if (start > 0) yield undefined;
    const end = start + CHARSET_STEP_BYTES;
    text += decode(bytes.subarray(start, end), start, end < bytes.length);
  }
  return text;
}

function createDecoder(label: string, charset: string): DecodePart {
  const decoder = findDecoder(label);
  if (decoder === undefined) {
    const supported = "UTF-8, UTF-16, US-ASCII, ISO-8859-1, GBK and others of the WHATWG encoding standard";
    throw new Refusal(
      415,
      Code.Unimplemented,
      `charset ${quote(charset)} is not supported; supported are: ${supported}`,
    );
  }
  return (bytes, _offset, stream) => {
    try {
      return decoder.decode(bytes, { stream });
    } catch {
      throw new Error(`the bytes are not text in ${clipText(charset, 100)}`);
    }
  };
}

function findDecoder(label: string) {
  try {
    return new TextDecoder(label, { fatal: true });
  } catch {
    return undefined;
  }
}

function decodeAscii(bytes: Uint8Array, offset: number): string {
  const position = bytes.findIndex((byte) => byte > 0x7f);
  if (position < 0) return decodeLatin1(bytes);
  throw new Error(`the bytes are not text in US-ASCII: byte ${offset + position} is above 127`);
}

/** Maximum number of characters per call of `String.fromCharCode`, because the number of arguments is limited. */
const CHARACTERS_AT_ONCE = 8 * 1024;

function decodeLatin1(bytes: Uint8Array): string {
  let text = "";
  for (let i = 0; i < bytes.length; i += CHARACTERS_AT_ONCE) {
    text += String.fromCharCode(...bytes.subarray(i, i + CHARACTERS_AT_ONCE));
  }
  return text;
}

/** The characters of the bytes 128 to 159 in windows-1252. */
const WINDOWS_1252 = "€\u0081‚ƒ„…†‡ˆ‰Š‹Œ\u008dŽ\u008f\u0090‘’“”•–—˜™š›œ\u009džŸ";

function decodeWindows1252(bytes: Uint8Array): string {
  return decodeLatin1(bytes).replaceAll(/[\u0080-\u009f]/g, (one) => WINDOWS_1252.charAt(one.charCodeAt(0) - 0x80));
}

/** Returns the byte order of UTF-16. Without a byte order mark it is big-endian (RFC 2781, section 4.3). */
function detectUtf16(bytes: Uint8Array): string {
  return bytes[0] === 0xff && bytes[1] === 0xfe ? "utf-16le" : "utf-16be";
}
