/**
 * Responses in XML: messages by their schema, and results without a schema in the form that JAXB writes.
 */
import type { DescField, DescMessage, JsonObject, JsonValue } from "@bufbuild/protobuf";
import { encodeBase64 } from "../../call/base64.ts";
import { Code, Status } from "../../call/code.ts";
import { RpcError } from "../../call/error.ts";
import type { NamedResult, Notation, ResultValue } from "../../protocol/payload.ts";
import type { ResultEncoder } from "./format.ts";
import { holdsJson, isTextual } from "./parameters.ts";

/** Encodes the JSON value of a message as XML. The root has the name of the message type. */
export function encodeXml(type: DescMessage, value: JsonValue): Uint8Array {
  return encodeRoot(type.name, messageContent(type, value));
}

/** Encodes a document. The name of the root is the type name with a lower-case initial. */
function encodeRoot(typeName: string, content: string): Uint8Array {
  const name = typeName.charAt(0).toLowerCase() + typeName.slice(1);
  return new TextEncoder().encode(`<?xml version="1.0" encoding="UTF-8"?>${elementOf(name, content)}`);
}

function messageContent(type: DescMessage, value: JsonValue): string {
  if (holdsJson(type)) return escapeText(JSON.stringify(value));
  if (isTextual(type)) return escapeText(String(value));
  const members = value as JsonObject;
  let content = "";
  for (const field of type.fields) {
    if (!Object.hasOwn(members, field.jsonName)) continue;
    content += fieldElements(field, members[field.jsonName] as JsonValue);
  }
  return content;
}

// NameStartChar and NameChar (Extensible Markup Language (XML) 1.0, section 2.3) without the colon, which separates
// namespaces.
const NAME_START =
  "A-Z_a-z\\u{C0}-\\u{D6}\\u{D8}-\\u{F6}\\u{F8}-\\u{2FF}\\u{370}-\\u{37D}\\u{37F}-\\u{1FFF}\\u{200C}\\u{200D}" +
  "\\u{2070}-\\u{218F}\\u{2C00}-\\u{2FEF}\\u{3001}-\\u{D7FF}\\u{F900}-\\u{FDCF}\\u{FDF0}-\\u{FFFD}\\u{10000}-\\u{EFFFF}";
const NAME_PART = `${NAME_START}.0-9\\u{B7}\\u{300}-\\u{36F}\\u{203F}\\u{2040}\\-`;

/** Names that XML allows. A field with another JSON name is written with its name in the proto file. */
const ELEMENT_NAME = new RegExp(`^[${NAME_START}][${NAME_PART}]*$`, "u");

function fieldElements(field: DescField, value: JsonValue): string {
  const name = ELEMENT_NAME.test(field.jsonName) ? field.jsonName : field.name;
  if (field.fieldKind !== "list" && field.fieldKind !== "map") {
    return elementOf(name, itemContent(field, value));
  }
  let elements = "";
  if (field.fieldKind === "list") {
    for (const item of value as JsonValue[]) elements += elementOf(name, itemContent(field, item));
    return elements;
  }
  for (const [key, item] of Object.entries(value as JsonObject)) elements += entryOf(key, itemContent(field, item));
  return elementOf(name, elements);
}

function itemContent(field: DescField, value: JsonValue): string {
  if (field.message !== undefined) return messageContent(field.message, value);
  return escapeText(value === null ? "NULL_VALUE" : String(value));
}

function elementOf(name: string, content: string): string {
  return content === "" ? `<${name}/>` : `<${name}>${content}</${name}>`;
}

const XML_NOTATION: Notation = {
  long: String,
  double: (value) => (Number.isFinite(value) ? value : String(value).replace("Infinity", "INF")),
  bytes: (value) => encodeBase64(value).padEnd(4 * Math.ceil(value.byteLength / 3), "="),
  date: (value) => value.toISOString(),
};

/** Encodes results as XML: an element for each field that is not null, and for each item of a list. */
export const XML_RESULTS: ResultEncoder = { notation: XML_NOTATION, encode: encodeResult };

function encodeResult({ name, result }: NamedResult): Uint8Array {
  return encodeRoot(ELEMENT_NAME.test(name) ? name : "value", resultContent(result));
}

function resultElements(name: string, result: ResultValue): string {
  if (result.shape === "null") return "";
  if (!ELEMENT_NAME.test(name)) {
    const problem = `the field "${name}" of the response cannot name an element of XML; ask for another type with accept`;
    throw new RpcError(Code.Internal, problem, { status: Status.ServerError });
  }
  const items = result.shape === "list" ? result.items : [result];
  return items.map((item) => elementOf(name, resultContent(item))).join("");
}

function resultContent(result: ResultValue): string {
  switch (result.shape) {
    case "null":
      return "";
    case "single":
      return escapeText(String(result.value));
    case "json":
      return escapeText(JSON.stringify(result.value));
    case "list":
      return resultElements("item", result);
    case "object":
      return result.fields.map(({ name, value }) => resultElements(name, value)).join("");
    case "map":
      return result.entries.map(({ name, value }) => entryOf(name, resultContent(value))).join("");
  }
}

function entryOf(key: string, content: string): string {
  return elementOf("entry", elementOf("key", escapeText(key)) + elementOf("value", content));
}

const ESCAPES: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", "\r": "&#13;" };
// Char ::= #x9 | #xA | #xD | [#x20-#xD7FF] | [#xE000-#xFFFD] | [#x10000-#x10FFFF]
const NOT_XML = /[^\t\n\r\u{20}-\u{d7ff}\u{e000}-\u{fffd}\u{10000}-\u{10ffff}]/u;

function escapeText(text: string): string {
  const found = NOT_XML.exec(text)?.[0].codePointAt(0);
  if (found === undefined) return text.replaceAll(/[&<>\r]/g, (character) => ESCAPES[character] as string);
  const character = `U+${found.toString(16).toUpperCase().padStart(4, "0")}`;
  const problem = `the response has a character that XML cannot carry, ${character}; ask for another type with accept`;
  throw new RpcError(Code.Internal, problem, { status: Status.ServerError });
}
