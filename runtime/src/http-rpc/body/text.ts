/**
 * Text bodies: text in a charset, bound to the only string parameter of a method (spec: Additional request content
 * types).
 */
import { type DescField, type DescMessage, type JsonObject, type JsonValue, ScalarType } from "@bufbuild/protobuf";
import type { BodyJson } from "../../codec/bounded-codec.ts";
import { clipText, quote } from "../../protocol/error.ts";
import type { BodyContent, NamedResult, Notation } from "../../protocol/payload.ts";
import { decodeLatin1 } from "../../wire/fields.ts";
import { unsupportedType } from "../error-response.ts";
import type { BodyFormat } from "./format.ts";
import { messageFrom } from "./parameters.ts";

/** A text result has none of these values. */
const TEXT_NOTATION: Notation = { long: String, double: String, bytes: String, date: String };

type TextContent = Extract<BodyContent, { shape: "text" }>;

/** The format `text/plain` in a charset. The response is JSON, or a single string as text if `accept` selects it. */
export const text: BodyFormat = {
  kind: "text",
  mediaTypes: ["text/plain"],
  safelisted: true,
  parse(bytes, { parameters }) {
    return { shape: "text", text: decodeText(bytes, parameters.get("charset")) };
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
function decodeTextBody(json: BodyJson, type: DescMessage, value: string): object {
  if (type.typeName === STRING_VALUE) return json.fromValue(type, value);
  const field = stringField(type);
  if (field !== undefined) return messageFrom(json, type, [{ field, value }]);
  const problem = `text/plain is for methods with one string parameter, and ${type.typeName} has none or several`;
  throw unsupportedType(problem);
}

/** Encodes a response that is a single string as text, the reverse of {@link decodeTextBody}. */
function encodeTextBody(type: DescMessage, value: JsonValue): Uint8Array {
  const field = stringField(type) as DescField;
  const written = type.typeName === STRING_VALUE ? value : (value as JsonObject)[field.jsonName];
  return new TextEncoder().encode(typeof written === "string" ? written : "");
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

type Decode = (bytes: Uint8Array) => string;

/** Charsets that TextDecoder lacks or decodes differently: it reads US-ASCII and ISO-8859-1 as windows-1252. */
const OWN_CHARSETS: Readonly<Record<string, Decode>> = {
  "us-ascii": decodeAscii,
  "iso-8859-1": (bytes) => decodeLatin1(bytes, 0, bytes.length),
  "windows-1252": decodeWindows1252,
};
const ALIASES: Readonly<Record<string, string>> = {
  ascii: "us-ascii",
  latin1: "iso-8859-1",
  cp1252: "windows-1252",
  iso8859_1: "iso-8859-1",
  utf16: "utf-16",
};

/**
 * Decodes text in a charset, UTF-8 by default, and removes its byte order mark.
 *
 * Throws for bytes that are invalid in the charset, and status 415 for charsets that the platform cannot decode.
 */
export function decodeText(bytes: Uint8Array, charset = "utf-8"): string {
  const label = charset.toLowerCase();
  const known = ALIASES[label] ?? label;
  const decode = OWN_CHARSETS[known] ?? createDecoder(known === "utf-16" ? detectUtf16(bytes) : label, charset);
  return decode(bytes);
}

function createDecoder(label: string, charset: string): Decode {
  const decoder = findDecoder(label);
  if (decoder === undefined) {
    const supported = "UTF-8, UTF-16, US-ASCII, ISO-8859-1, GBK and others of the WHATWG encoding standard";
    throw unsupportedType(`charset ${quote(charset)} is not supported; supported are: ${supported}`);
  }
  return (bytes) => {
    try {
      return decoder.decode(bytes);
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

function decodeAscii(bytes: Uint8Array): string {
  for (let i = 0; i < bytes.length; i += 1) {
    if ((bytes[i] as number) > 0x7f) throw new Error(`the bytes are not text in US-ASCII: byte ${i} is above 127`);
  }
  return decodeLatin1(bytes, 0, bytes.length);
}

/** The characters of the bytes 128 to 159 in windows-1252, which is ISO-8859-1 otherwise. */
const WINDOWS_1252 = "€\u0081‚ƒ„…†‡ˆ‰Š‹Œ\u008dŽ\u008f\u0090‘’“”•–—˜™š›œ\u009džŸ";

function decodeWindows1252(bytes: Uint8Array): string {
  const latin1 = decodeLatin1(bytes, 0, bytes.length);
  return latin1.replace(/[\u0080-\u009f]/g, (character) => WINDOWS_1252.charAt(character.charCodeAt(0) - 0x80));
}

/** Returns the byte order of UTF-16. Without a byte order mark it is big-endian (RFC 2781, section 4.3). */
function detectUtf16(bytes: Uint8Array): string {
  return bytes[0] === 0xff && bytes[1] === 0xfe ? "utf-16le" : "utf-16be";
}
