/**
 * Form bodies: `application/x-www-form-urlencoded` (spec: Additional request content types).
 */
import type { DescField, DescMessage, JsonValue } from "@bufbuild/protobuf";
import type { BodyJson } from "../../codec/bounded-codec.ts";
import { quote } from "../../protocol/error.ts";
import type { BodyContent, NamedValue } from "../../protocol/payload.ts";
import { unsupportedType } from "../error-response.ts";
import { badRequest } from "../headers.ts";
import type { BodyFormat } from "./format.ts";
import { decodeParameters, parseEncoded, parseText } from "./parameters.ts";
import { decodeText } from "./text.ts";

type FormContent = Extract<BodyContent, { shape: "pairs" }>;

/** The format `application/x-www-form-urlencoded` in UTF-8. */
export const form: BodyFormat = {
  kind: "form",
  mediaTypes: ["application/x-www-form-urlencoded"],
  safelisted: true,
  parse(bytes, { parameters }, { limits }) {
    const charset = parameters.get("charset") ?? "utf-8";
    if (!/^utf-?8$/i.test(charset)) {
      throw unsupportedType(`charset ${quote(charset)} is not supported in a form; supported is: UTF-8`);
    }
    return { shape: "pairs", values: parseForm(bytes, limits.formValues) };
  },
  decode: (type, { values }: FormContent, { json }) => decodeForm(json, type, values),
};

/** Decodes a form: the entries of a Struct or of the map of scalars that is the only field, or else its fields. */
function decodeForm(json: BodyJson, type: DescMessage, pairs: readonly NamedValue<string>[]): object {
  if (type.typeName === "google.protobuf.Struct") {
    return json.fromValue(type, Object.fromEntries(uniquePairs(pairs)));
  }
  const map = onlyMap(type);
  if (map !== undefined) {
    return json.fromValue(type, { [map.jsonName]: mapOfPairs(json, map, pairs) });
  }
  return decodeParameters(json, type, pairs, (field, text) => parseText(json, field, text));
}

/** Converts the pairs of a form to the JSON value of a map field. */
export function mapOfPairs(json: BodyJson, map: DescField, pairs: readonly NamedValue<string>[]): JsonValue {
  const entries: [string, JsonValue][] = [];
  for (const [name, text] of uniquePairs(pairs)) entries.push([name, parseEncoded(json, map, text) ?? null]);
  return Object.fromEntries(entries);
}

/** Parses the pairs of a form, in order. Throws for invalid percent-encoding and for bytes that are not UTF-8. */
export function parseForm(bytes: Uint8Array, maxValues: number): NamedValue<string>[] {
  return splitPairs(decodeText(withSpaces(bytes)), maxValues, `the form has more than ${maxValues} values`, decodePair);
}

//     form = [ pair *( "&" pair ) ]      pair = *char [ "=" *char ]      char = "+" / "%" 2HEXDIG / any other
/** Splits a form, or the query of a path. `decode` decodes names and values. Throws `problem` for more than `max` pairs. */
export function splitPairs(
  text: string,
  max: number,
  problem: string,
  decode: (text: string) => string,
): NamedValue<string>[] {
  const pairs: NamedValue<string>[] = [];
  for (let start = 0; start < text.length; ) {
    const next = text.indexOf("&", start);
    const end = next < 0 ? text.length : next;
    if (end > start) {
      if (pairs.length >= max) throw badRequest(problem);
      const pair = text.slice(start, end);
      const equals = pair.indexOf("=");
      const name = decode(equals < 0 ? pair : pair.slice(0, equals));
      pairs.push({ name, value: equals < 0 ? "" : decode(pair.slice(equals + 1)) });
    }
    start = end + 1;
  }
  return pairs;
}

/** Replaces plus signs in UTF-8 by spaces, which takes 20 times as long in text. */
function withSpaces(bytes: Uint8Array): Uint8Array {
  const spaced = new Uint8Array(bytes);
  for (let i = 0; i < spaced.length; i += 1) if (spaced[i] === PLUS) spaced[i] = SPACE;
  return spaced;
}

const PLUS = 0x2b;
const SPACE = 0x20;

function decodePair(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch (cause) {
    throw new Error(`${JSON.stringify(text.slice(0, 40))} is not percent-encoded UTF-8`, { cause });
  }
}

type MapField = DescField & { readonly fieldKind: "map" };

/** Returns the map field of a message whose only field is a map of scalars. */
function onlyMap(type: DescMessage): MapField | undefined {
  const [field] = type.fields;
  if (type.fields.length !== 1 || field?.fieldKind !== "map" || field.mapKind === "message") return undefined;
  return field;
}

/** Returns the pairs as entries of a map. Throws if two have the same name. */
function uniquePairs(pairs: readonly NamedValue<string>[]): Map<string, string> {
  const entries = new Map<string, string>();
  for (const { name, value } of pairs) {
    if (entries.has(name)) throw badRequest(`the form has more than one value for ${quote(name)}`);
    entries.set(name, value);
  }
  return entries;
}
