/**
 * Form bodies: `application/x-www-form-urlencoded` (spec: Additional request content types).
 */
import type { DescField, DescMessage, JsonValue } from "@bufbuild/protobuf";
import { Code } from "../../call/code.ts";
import { quote } from "../../protocol/error.ts";
import { Refusal } from "../error-response.ts";
import { badRequest } from "../headers.ts";
import type { MediaType } from "../media-type.ts";
import { type BodyInput, bindParameters, messageFrom, type Named, parseItem, parseText } from "./parameters.ts";
import { decodeText } from "./text.ts";

/** More pairs than this are refused. */
const MAX_PAIRS = 1_000;

/** Decodes a form into a request message: into its map, if that is all it has, or else field by field. */
export function decodeForm({ type, bytes, mediaType, json }: BodyInput): object {
  const pairs = parsePairs(bytes, mediaType);
  if (type.typeName === "google.protobuf.Struct")
    return json.fromValue(
      type,
      mapOf(pairs, (text) => text),
    );
  const map = onlyMap(type);
  if (map !== undefined) {
    return json.fromValue(type, { [map.jsonName]: mapOf(pairs, (text) => parseItem(map, text) ?? null) });
  }
  const values = bindParameters(type, pairs).flatMap(({ field, value: text }) => {
    const value = parseText(field, text);
    return value === undefined ? [] : [{ field, value }];
  });
  return messageFrom(json, type, values);
}

/** The pairs of a body, in order. Throws for one that is malformed, and refuses charsets other than UTF-8. */
export function parsePairs(bytes: Uint8Array, { parameters }: Pick<MediaType, "parameters">): Named<string>[] {
  const charset = parameters.get("charset") ?? "utf-8";
  if (!/^utf-?8$/i.test(charset)) {
    throw new Refusal(415, Code.Internal, `charset ${quote(charset)} is not supported in a form; supported is: UTF-8`);
  }
  return parseForm(decodeText(bytes));
}

//     form = [ pair *( "&" pair ) ]      pair = *char [ "=" *char ]      char = "+" / "%" 2HEXDIG / any other
/** The pairs of a form, in order. Throws for percent-encoding that is broken or not of UTF-8. */
export function parseForm(form: string): Named<string>[] {
  const pairs = form.split("&").filter((pair) => pair !== "");
  if (pairs.length > MAX_PAIRS) throw badRequest(`the form has more than ${MAX_PAIRS} values`);
  return pairs.map((pair) => {
    const equals = pair.indexOf("=");
    const name = equals < 0 ? pair : pair.slice(0, equals);
    return { name: percentDecode(name), value: equals < 0 ? "" : percentDecode(pair.slice(equals + 1)) };
  });
}

function percentDecode(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll("+", " "));
  } catch (cause) {
    throw new Error(`${JSON.stringify(text.slice(0, 40))} is not percent-encoded UTF-8`, { cause });
  }
}

type MapField = DescField & { readonly fieldKind: "map" };

/** The field of a message that is nothing but a map of scalars. */
function onlyMap(type: DescMessage): MapField | undefined {
  const [field] = type.fields;
  if (type.fields.length !== 1 || field?.fieldKind !== "map" || field.mapKind === "message") return undefined;
  return field;
}

function mapOf(pairs: readonly Named<string>[], parse: (text: string) => JsonValue): { [name: string]: JsonValue } {
  const entries = new Map<string, JsonValue>();
  for (const { name, value } of pairs) {
    if (entries.has(name)) throw badRequest(`the form has more than one value for ${quote(name)}`);
    entries.set(name, parse(value));
  }
  return Object.fromEntries(entries);
}
