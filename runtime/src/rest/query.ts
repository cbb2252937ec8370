/** Query parameters: fields of a request message that are given neither in the path nor in the body. */
import type { JsonValue } from "@bufbuild/protobuf";
import { RpcError, reasonOf } from "../call/error.ts";
import type { BodyJson } from "../codec/bounded-codec.ts";
import { splitPairs } from "../http-rpc/body/form.ts";
import { parseEncoded } from "../http-rpc/body/parameters.ts";
import { badRequest } from "../http-rpc/headers.ts";
import { clipText, quote } from "../protocol/error.ts";
import { type FieldPath, keyOf, resolvePath } from "./field-path.ts";
import type { Route } from "./rule.ts";
import { decodeSegment } from "./template.ts";

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
  const problem = `the query has more than ${MAX_PARAMETERS} parameters`;
  for (const { name, value: text } of splitPairs(query, MAX_PARAMETERS, problem, decodePart)) {
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

function decodePart(text: string): string {
  const decoded = decodeSegment(text.replaceAll("+", " "));
  if (decoded !== undefined) return decoded;
  throw badRequest(`${quote(text)} in the query is not percent-encoded UTF-8`);
}

/** Parses a text as the JSON value of a field. Returns `undefined`, which leaves the field unset, for an empty number. */
export function parseValue(json: BodyJson, path: FieldPath, text: string, place: string): JsonValue | undefined {
  const field = path.at(-1) ?? path[0];
  try {
    const value = parseEncoded(json, field, text);
    const isMask = field.message?.typeName === "google.protobuf.FieldMask" && typeof value === "string";
    // Callers also write the names in the proto file. ProtoJSON has none for a name such as `line_1`, which is refused.
    return isMask ? value.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase()) : value;
  } catch (cause) {
    if (cause instanceof RpcError) throw cause;
    throw badRequest(`${place}: ${clipText(reasonOf(cause))}`, cause);
  }
}
