/** Query parameters: fields of a request message that are given neither in the path nor in the body. */
import type { JsonValue } from "@bufbuild/protobuf";
import { RpcError, reasonOf } from "../call/error.ts";
import type { BodyJson } from "../codec/bounded-codec.ts";
import { parseItem } from "../http-rpc/body/parameters.ts";
import { badRequest } from "../http-rpc/headers.ts";
import { clipText, quote } from "../protocol/error.ts";
import type { NamedValue } from "../protocol/payload.ts";
import { type FieldPath, keyOf, resolvePath } from "./field-path.ts";
import type { Route } from "./rule.ts";

/** Maximum number of query parameters of a request. */
const MAX_PARAMETERS = 1_000;

/** A field and its JSON value. */
export interface FieldMember {
  readonly path: FieldPath;
  readonly value: JsonValue;
}

/**
 * Parses a query, the text after the question mark. Parameters of unknown fields are ignored, as in JSON. Throws a bad
 * request for a parameter that the route takes from the path or from the body, and for invalid values.
 */
export function parseQuery(json: BodyJson, route: Route, query: string): FieldMember[] {
  const members = new Map<string, { readonly path: FieldPath; value: JsonValue }>();
  for (const { name, value: text } of splitQuery(query)) {
    const path = findParameter(route, name);
    if (path === undefined) continue;
    const value = parseValue(json, path, text, `query parameter ${quote(name)}`);
    if (value === undefined) continue;
    const key = keyOf(path);
    const known = members.get(key);
    const isList = path.at(-1)?.fieldKind === "list";
    if (known === undefined) members.set(key, { path, value: isList ? [value] : value });
    else if (Array.isArray(known.value) && isList) known.value.push(value);
    else throw badRequest(`query parameter ${quote(name)} is given more than once`);
  }
  return [...members.values()];
}

/** Finds the field of a query parameter. Returns `undefined` for an unknown one. */
function findParameter({ target, body, variables }: Route, name: string): FieldPath | undefined {
  const refuse = (problem: string): never => {
    throw badRequest(`query parameter ${quote(name)} ${problem}`);
  };
  const found = resolvePath(target.input, name.split("."));
  if (found === undefined) return undefined;
  if ("problem" in found) return refuse(found.problem);
  const key = keyOf(found.path);
  if (variables.some((one) => keyOf(one) === key)) refuse("is a part of the path");
  if (body === "*" || body === found.path[0]) refuse("belongs in the body");
  return found.path;
}

//     query = [ parameter *( "&" parameter ) ]     parameter = *char [ "=" *char ]     char = "+" / "%" 2HEXDIG / any other
function splitQuery(query: string): NamedValue<string>[] {
  const pairs = query.split("&").filter((pair) => pair !== "");
  if (pairs.length > MAX_PARAMETERS) throw badRequest(`the query has more than ${MAX_PARAMETERS} parameters`);
  return pairs.map((pair) => {
    const equals = pair.indexOf("=");
    const name = equals < 0 ? pair : pair.slice(0, equals);
    return { name: decodePart(name), value: equals < 0 ? "" : decodePart(pair.slice(equals + 1)) };
  });
}

function decodePart(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll("+", " "));
  } catch {
    throw badRequest(`${quote(text)} in the query is not percent-encoded UTF-8`);
  }
}

/** Parses a text as the JSON value of a field. Returns `undefined`, which leaves the field unset, for an empty number. */
export function parseValue(json: BodyJson, path: FieldPath, text: string, place: string): JsonValue | undefined {
  const field = path.at(-1) ?? path[0];
  try {
    const value = parseItem(json, field, text);
    const isMask = field.message?.typeName === "google.protobuf.FieldMask" && typeof value === "string";
    // Callers also write the names in the proto file.
    return isMask ? value.replaceAll(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase()) : value;
  } catch (cause) {
    if (cause instanceof RpcError) throw cause;
    throw badRequest(`${place}: ${clipText(reasonOf(cause))}`, cause);
  }
}
