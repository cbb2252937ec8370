/**
 * Form bodies: `application/x-www-form-urlencoded` (spec: Additional request content types).
 */
import type { DescField, DescMessage, JsonValue } from "@bufbuild/protobuf";
import { Code } from "../../call/code.ts";
import type { BodyContent, NamedValue } from "../../call/method.ts";
import { StepCounter, type Steps } from "../../call/steps.ts";
import type { BodyJson } from "../../codec/large-message.ts";
import { quote } from "../../protocol/error.ts";
import { Refusal } from "../error-response.ts";
import { badRequest } from "../headers.ts";
import type { BodyFormat } from "./format.ts";
import { bindParameters, type FieldValue, messageFrom, parseItem, parseText } from "./parameters.ts";
import { decodeText } from "./text.ts";

type FormContent = Extract<BodyContent, { shape: "pairs" }>;

/** The format `application/x-www-form-urlencoded` in UTF-8. */
export const form: BodyFormat = {
  kind: "form",
  mediaTypes: ["application/x-www-form-urlencoded"],
  safelisted: true,
  *parse(bytes, { parameters }, { limits }) {
    const charset = parameters.get("charset") ?? "utf-8";
    if (!/^utf-?8$/i.test(charset)) {
      throw new Refusal(
        415,
        Code.Unimplemented,
        `charset ${quote(charset)} is not supported in a form; supported is: UTF-8`,
      );
    }
    const text = yield* decodeText(bytes);
    return { shape: "pairs", values: yield* parseForm(text, limits.formValues) };
  },
  decode: (type, { values }: FormContent, { json }) => decodeForm(json, type, values),
};

/**
 * Decodes a form into a message. The pairs are the entries of a Struct, or of the map of scalars that is the only
 * field; for other messages, each pair is a field.
 */
function* decodeForm(json: BodyJson, type: DescMessage, pairs: readonly NamedValue<string>[]): Steps<object> {
  if (type.typeName === "google.protobuf.Struct") {
    return yield* json.fromValue(type, Object.fromEntries(uniquePairs(pairs)));
  }
  const map = onlyMap(type);
  if (map !== undefined) {
    return yield* json.fromValue(type, { [map.jsonName]: yield* mapOfPairs(json, map, pairs) });
  }
  const values: FieldValue<JsonValue>[] = [];
  for (const { field, value: text } of bindParameters(type, pairs)) {
    const value = yield* parseText(json, field, text);
    if (value !== undefined) values.push({ field, value });
  }
  return yield* messageFrom(json, type, values);
}

/** Converts the pairs of a form to the JSON value of a map field. */
export function* mapOfPairs(json: BodyJson, map: DescField, pairs: readonly NamedValue<string>[]): Steps<JsonValue> {
  const entries: [string, JsonValue][] = [];
  for (const [name, text] of uniquePairs(pairs)) entries.push([name, (yield* parseItem(json, map, text)) ?? null]);
  return Object.fromEntries(entries);
}

//     form = [ pair *( "&" pair ) ]      pair = *char [ "=" *char ]      char = "+" / "%" 2HEXDIG / any other
/** Parses the pairs of a form, in order. Throws for invalid percent-encoding and for bytes that are not UTF-8. */
export function* parseForm(text: string, maxValues: number): Steps<NamedValue<string>[]> {
  const counter = new StepCounter();
  const pairs: NamedValue<string>[] = [];
  for (let start = 0; start < text.length; ) {
    if (counter.add()) yield undefined;
    const next = text.indexOf("&", start);
    const end = next < 0 ? text.length : next;
    if (end > start) {
      if (pairs.length >= maxValues) throw badRequest(`the form has more than ${maxValues} values`);
      const pair = text.slice(start, end);
      const equals = pair.indexOf("=");
      const name = yield* decodePair(equals < 0 ? pair : pair.slice(0, equals));
      pairs.push({ name, value: equals < 0 ? "" : yield* decodePair(pair.slice(equals + 1)) });
    }
    start = end + 1;
  }
  return pairs;
}

/** Characters of a name or value that are decoded in one step. */
const FORM_STEP_CHARACTERS = 64 * 1024;

/** An escaped byte that continues a character of UTF-8: 10xxxxxx. */
const CONTINUATION = /^%[89AaBb][0-9A-Fa-f]$/;

function* decodePair(text: string): Steps<string> {
  let decoded = "";
  for (let start = 0; start < text.length; ) {
    if (start > 0) yield undefined;
    const end = endOfStep(text, start);
    try {
      decoded += decodeURIComponent(text.slice(start, end).replaceAll("+", " "));
    } catch (cause) {
      throw new Error(`${JSON.stringify(text.slice(0, 40))} is not percent-encoded UTF-8`, { cause });
    }
    start = end;
  }
  return decoded;
}

//     character = 1*4( "%" 2HEXDIG )
/** Returns the end of the part of the text that is decoded next, which does not divide an encoded character. */
function endOfStep(text: string, start: number): number {
  let end = Math.min(start + FORM_STEP_CHARACTERS, text.length);
  if (end === text.length) return end;
  if (text[end - 1] === "%") end -= 1;
  else if (text[end - 2] === "%") end -= 2;
  // At most three escapes continue a character.
  for (let i = 0; i < 3 && CONTINUATION.test(text.slice(end, end + 3)); i += 1) end -= 3;
  return end;
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
