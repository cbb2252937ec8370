/**
 * XML bodies, decoded by the schema of a message. Each field has an element with its JSON name or its name in the proto
 * file; the name of the root is ignored. Document types are refused, so no external resource is fetched and no entity
 * expands.
 *
 *     <greetRequest><name>Ada</name></greetRequest>
 *
 * A repeated field has an element for each item. A map has an `<entry>` with `<key>` and `<value>` for each entry.
 * Messages that contain any JSON are written as JSON text.
 */
import type { DescField, DescMessage, JsonValue } from "@bufbuild/protobuf";
import { RpcError, reasonOf } from "../../call/error.ts";
import type { BodyJson } from "../../codec/bounded-codec.ts";
import { Units, type ValueCount } from "../../codec/values/values.ts";
import type { BodyContent, BodyElement } from "../../protocol/payload.ts";
import type { BodyFormat } from "./format.ts";
import { findField, isTextual, parseItem, parseMessageText } from "./parameters.ts";
import { decodeText } from "./text.ts";
import { encodeXml, XML_RESULTS } from "./xml-writer.ts";

const MAX_XML_DEPTH = 100;

type XmlContent = Extract<BodyContent, { shape: "element" }>;

/** The formats `application/xml` and `text/xml`. The response is XML with the content type of the request. */
export const xml: BodyFormat = {
  kind: "xml",
  mediaTypes: ["application/xml", "text/xml"],
  safelisted: false,
  load: loadXmlParser,
  parse(bytes, { parameters }, { limits, count }) {
    return { shape: "element", element: parseXml(bytes, parameters.get("charset"), limits.elements, count) };
  },
  decode(type, { element }: XmlContent, { json }) {
    return json.fromValue(type, decodeXml(type, element, json));
  },
  response: { onRequest: false, parameters: "", fits: () => true, encode: encodeXml, results: XML_RESULTS },
};

/** An element whose end tag has not been parsed. */
interface OpenElement extends BodyElement {
  readonly children: OpenElement[];
  text: string;
}

/** Converts a message in XML to its JSON value. Throws for XML that does not match the schema. */
export function decodeXml(type: DescMessage, element: BodyElement, json: BodyJson): JsonValue {
  return messageValue(json, type, element) ?? {};
}

let saxes: typeof import("saxes") | undefined;

/** Loads the XML parser when the first such body arrives, because most programs never receive one. */
export async function loadXmlParser(): Promise<void> {
  if (saxes !== undefined) return;
  const loaded = await import("saxes");
  // Bundlers that divide their output give only `default` of a CommonJS module.
  saxes = loaded.SaxesParser === undefined ? loaded.default : loaded;
}

/** Returns the charset in the byte order mark or XML declaration (XML 1.0, appendix F). Default: UTF-8. */
function detectCharset(bytes: Uint8Array): string {
  const [first, second] = bytes;
  if ((first === 0xfe && second === 0xff) || (first === 0xff && second === 0xfe)) return "utf-16";
  const start = new TextDecoder("latin1").decode(bytes.subarray(0, 200));
  return /^<\?xml[^>]*\sencoding\s*=\s*["']([\w.:-]+)["']/.exec(start)?.[1] ?? "utf-8";
}

/** Delimiters of comments and processing instructions. */
const MISC: readonly (readonly [string, string])[] = [
  ["<!--", "-->"],
  ["<?", "?>"],
];

/**
 * Reports whether a document type precedes the root. This check is needed because the parser reports a document type
 * only after it has read all of it.
 *
 *     prolog ::= XMLDecl? Misc* (doctypedecl Misc*)?        Misc ::= Comment | PI | S
 */
function hasDocumentType(text: string): boolean {
  const space = /\s*/y;
  for (let position = 0; ; ) {
    space.lastIndex = position;
    position += space.exec(text)?.[0].length ?? 0;
    if (text.startsWith("<!DOCTYPE", position)) return true;
    const [start = "", end = ""] = MISC.find(([opening]) => text.startsWith(opening, position)) ?? [];
    const found = text.indexOf(end, position + start.length);
    if (start === "" || found < 0) return false;
    position = found + end.length;
  }
}

/** Returns the root of a document, with the loaded parser. Throws for XML that is malformed or exceeds a limit. */
export function parseXml(
  bytes: Uint8Array,
  charset: string | undefined,
  maxElements: number,
  values?: ValueCount,
): BodyElement {
  const text = decodeText(bytes, charset ?? detectCharset(bytes));
  if (values !== undefined) countReferences(text, values);
  if (hasDocumentType(text)) throw new Error("the XML has a document type, which is not allowed");
  const { SaxesParser } = saxes as NonNullable<typeof saxes>;
  const parser = new SaxesParser({ position: false });
  const top: OpenElement = { name: "", children: [], text: "" };
  const open = [top];
  let count = 0;
  let attributes = 0;
  const append = (part: string): void => {
    (open.at(-1) as OpenElement).text += part;
  };
  // An error that a handler throws ends the parsing.
  parser.on("error", (error) => {
    throw new Error(`the XML is malformed: ${error.message}`);
  });
  parser.on("opentag", ({ name }) => {
    count += 1;
    if (count > maxElements) throw new Error(`the XML has more than ${maxElements} elements`);
    values?.addRead(Units.value);
    if (open.length > MAX_XML_DEPTH) throw new Error(`the XML is nested more than ${MAX_XML_DEPTH} levels deep`);
    const element: OpenElement = { name: name.slice(name.indexOf(":") + 1), children: [], text: "" };
    (open.at(-1) as OpenElement).children.push(element);
    open.push(element);
  });
  parser.on("attribute", () => {
    attributes += 1;
    if (attributes > maxElements) throw new Error(`the XML has more than ${maxElements} attributes`);
    values?.addRead(Units.value);
  });
  parser.on("closetag", () => {
    open.pop();
  });
  parser.on("text", append);
  parser.on("cdata", append);
  parser.write(withLineFeeds(text));
  parser.close();
  return top.children[0] as OpenElement;
}

/** Counts references to characters and entities. */
function countReferences(text: string, values: ValueCount): void {
  for (let at = text.indexOf("&"); at >= 0; at = text.indexOf("&", at + 1)) values.addRead(Units.long);
}

const RETURN_UNIT = 0x0d;
const FEED_UNIT = 0x0a;
const NEXT_LINE_UNIT = 0x85;

/** Converts line ends (XML 1.0, section 2.11) as the parser does, but without a string for each; not those of XML 1.1. */
function withLineFeeds(text: string): string {
  if (!text.includes("\r")) return text;
  const units = new DataView(new ArrayBuffer(2 * text.length));
  let length = 0;
  for (let i = 0; i < text.length; i += 1) {
    const unit = text.charCodeAt(i);
    const next = unit === RETURN_UNIT ? text.charCodeAt(i + 1) : undefined;
    if (next === FEED_UNIT) continue;
    const isEnd = next !== undefined && next !== NEXT_LINE_UNIT;
    units.setUint16(length, isEnd ? FEED_UNIT : unit, true);
    length += 2;
  }
  return new TextDecoder("utf-16le", { ignoreBOM: true }).decode(units.buffer.slice(0, length));
}

function messageValue(json: BodyJson, type: DescMessage, element: BodyElement): JsonValue | undefined {
  if (isTextual(type)) return parseMessageText(json, type, textOf(element));
  const members = new Map<string, JsonValue>();
  for (const child of element.children) {
    const field = findField(type, child.name);
    if (field === undefined) continue;
    const { jsonName } = field;
    const known = members.get(jsonName);
    if (known !== undefined && field.fieldKind !== "list") {
      throw new Error(`element "${child.name}" is given more than once`);
    }
    const value = field.fieldKind === "map" ? mapValue(json, field, child) : itemValue(json, field, child);
    if (value === undefined) continue;
    if (Array.isArray(known)) known.push(value);
    else members.set(jsonName, field.fieldKind === "list" ? [value] : value);
  }
  return Object.fromEntries(members);
}

function mapValue(json: BodyJson, field: DescField, element: BodyElement): JsonValue {
  const entries: [string, JsonValue][] = [];
  for (const [key, value] of entriesOf(element)) entries.push([key, itemValue(json, field, value) ?? ""]);
  return Object.fromEntries(entries);
}

/**
 * Converts an element to the JSON value of a field: a map with its entries, a list with an element for each item or one item
 * as text, or the text of any other field. Returns `undefined` for an empty text, which leaves the field unset.
 */
export function fieldValue(json: BodyJson, field: DescField, element: BodyElement): JsonValue | undefined {
  if (field.fieldKind === "map") return mapValue(json, field, element);
  if (field.fieldKind !== "list" || element.children.length === 0) return itemValue(json, field, element);
  const items: JsonValue[] = [];
  for (const child of element.children) items.push(itemValue(json, field, child) ?? "");
  return items;
}

/** Returns the keys and values of a map. Throws for an entry without one of them. */
export function entriesOf(element: BodyElement): [string, BodyElement][] {
  return element.children.map((entry) => {
    const [key, value] = ["key", "value"].map((name) => entry.children.find((child) => child.name === name));
    if (key !== undefined && value !== undefined) return [textOf(key), value];
    throw new Error(`an entry of element "${element.name}" has no key or no value`);
  });
}

function itemValue(json: BodyJson, field: DescField, element: BodyElement): JsonValue | undefined {
  try {
    return field.message === undefined
      ? parseItem(json, field, textOf(element))
      : messageValue(json, field.message, element);
  } catch (cause) {
    if (cause instanceof RpcError) throw cause;
    throw new Error(`${element.name}: ${reasonOf(cause)}`, { cause });
  }
}

export function textOf(element: BodyElement): string {
  const [child] = element.children;
  if (child === undefined) return element.text;
  throw new Error(`element "${child.name}" stands where text is expected`);
}
