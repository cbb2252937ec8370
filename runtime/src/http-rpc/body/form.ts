/**
 * Form bodies: `application/x-www-form-urlencoded` (spec: Additional request content types).
 */
import type { DescField, DescMessage, JsonValue } from "@bufbuild/protobuf";
import { Code } from "../../call/code.ts";
import type { BodyContent, NamedValue } from "../../call/method.ts";
import type { JsonValues } from "../../codec/codec.ts";
import { quote } from "../../protocol/error.ts";
import { Refusal } from "../error-response.ts";
import { badRequest } from "../headers.ts";
import type { BodyFormat } from "./format.ts";
import { bindParameters, messageFrom, parseItem, parseText } from "./parameters.ts";
import { decodeText } from "./text.ts";

type FormContent = Extract<BodyContent, { shape: "pairs" }>;

/** The format `application/x-www-form-urlencoded` in UTF-8. */
export const form: BodyFormat = {
  kind: "form",
  mediaTypes: ["application/x-www-form-urlencoded"],
  safelisted: true,
  parse(bytes, { parameters }, { limits }): FormContent {
    const charset = parameters.get("charset") ?? "utf-8";
    if (!/^utf-?8$/i.test(charset)) {
      throw new Refusal(
        415,
        Code.Internal,
        `charset ${quote(charset)} is not supported in a form; supported is: UTF-8`,
      );
    }
    return { shape: "pairs", values: parseForm(decodeText(bytes), limits.formValues) };
  },
  decode: (type, { values }: FormContent, { json }) => decodeForm(json, type, values),
};

/**
 * Decodes a form into a message. The pairs are the entries of a Struct, or of the map of scalars that is the only
 * field; for other messages, each pair is a field.
 */
function decodeForm(json: JsonValues, type: DescMessage, pairs: readonly NamedValue<string>[]): object {
  if (type.typeName === "google.protobuf.Struct") {
    const map = mapOf(pairs, (text) => text);
    return json.fromValue(type, map);
  }
  const map = onlyMap(type);
  if (map !== undefined) return json.fromValue(type, { [map.jsonName]: mapOfPairs(map, pairs) });
  const values = bindParameters(type, pairs).flatMap(({ field, value: text }) => {
    const value = parseText(field, text);
    return value === undefined ? [] : [{ field, value }];
  });
  return messageFrom(json, type, values);
}

/** Converts the pairs of a form to the JSON value of a map field. */
export function mapOfPairs(map: DescField, pairs: readonly NamedValue<string>[]): JsonValue {
  return mapOf(pairs, (text) => parseItem(map, text) ?? null);
}

//     form = [ pair *( "&" pair ) ]      pair = *char [ "=" *char ]      char = "+" / "%" 2HEXDIG / any other
/** Parses the pairs of a form, in order. Throws for invalid percent-encoding and for bytes that are not UTF-8. */
export function parseForm(text: string, maxValues: number): NamedValue<string>[] {
  const pairs = text.split("&").filter((pair) => pair !== "");
  if (pairs.length > maxValues) throw badRequest(`the form has more than ${maxValues} values`);
  return pairs.map((pair) => {
    const equals = pair.indexOf("=");
    const name = equals < 0 ? pair : pair.slice(0, equals);
    return { name: decodePair(name), value: equals < 0 ? "" : decodePair(pair.slice(equals + 1)) };
  });
}

function decodePair(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll("+", " "));
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

function mapOf(
  pairs: readonly NamedValue<string>[],
  parse: (text: string) => JsonValue,
): { [name: string]: JsonValue } {
  const entries = new Map<string, JsonValue>();
  for (const { name, value } of pairs) {
    if (entries.has(name)) throw badRequest(`the form has more than one value for ${quote(name)}`);
    entries.set(name, parse(value));
  }
  return Object.fromEntries(entries);
}
