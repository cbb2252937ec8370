/**
 * The encoding of a call at a route: the request message is in the path, the query and the body; the response message, or a
 * field of it, is the body.
 */
import { create, type JsonObject, type JsonValue } from "@bufbuild/protobuf";
import { isWrapperDesc } from "@bufbuild/protobuf/wkt";
import { RpcError } from "../call/error.ts";
import type { BodyJson, JsonCodec } from "../codec/bounded-codec.ts";
import { encodeJson } from "../codec/codec.ts";
import { zeroOf } from "../codec/json-fields.ts";
import { isObject } from "../codec/values/json.ts";
import { isTextual } from "../http-rpc/body/parameters.ts";
import { badRequest } from "../http-rpc/headers.ts";
import { decodingReason, quote } from "../protocol/error.ts";
import { memberOf, setAtPath } from "./field-path.ts";
import { parseQuery, parseValue } from "./query.ts";
import type { RouteMatch } from "./route-table.ts";
import type { Route } from "./rule.ts";
import { decodeSegment, type TemplateVariable } from "./template.ts";

/** Decodes the request message of a call at a route. Throws a bad request for a malformed part of it. */
export function decodeRequest(
  { route, segments }: RouteMatch<Route>,
  query: string,
  body: Uint8Array,
  json: BodyJson,
): object {
  const { target, variables, template } = route;
  const members = parseQuery(json, route, query);
  for (const [index, path] of variables.entries()) {
    const variable = template.variables[index] as TemplateVariable;
    const name = variable.fieldPath.join(".");
    const value = parseValue(json, path, capture(variable, segments), `${quote(name)} in the path`);
    if (value !== undefined) members.push({ path, value });
  }
  const { input } = target;
  const message = decodeBody(route, body, json);
  if (members.length > 0 && !isObject(message)) throw badRequest("the body must be a JSON object");
  for (const { path, value } of members) setAtPath(message as JsonObject, path, value);
  try {
    // The JSON of a message that wraps a scalar is the scalar.
    const isWhole = route.body === "*" && members.length === 0 && body.length > 0;
    const isUnboxed = !isWhole && isWrapperDesc(input) && isObject(message);
    return json.fromValue(input, isUnboxed ? (message["value"] ?? null) : message);
  } catch (cause) {
    if (cause instanceof RpcError) throw cause;
    throw badRequest(`the request cannot be decoded as ${input.typeName}: ${decodingReason(cause)}`, cause);
  }
}

/** Returns the text of a variable. The text of several segments keeps `%2F`, so that slashes in a segment remain visible. */
function capture({ start, end, isMulti, fieldPath }: TemplateVariable, segments: readonly string[]): string {
  const raw = segments.slice(start, end).join("/");
  const text = decodeSegment(isMulti ? raw.replaceAll(/%(?=2[fF])/g, "%25") : raw);
  if (text !== undefined) return text;
  throw badRequest(`"${fieldPath.join(".")}" in the path is not percent-encoded UTF-8: ${quote(raw)}`);
}

/** Returns the JSON of the request message without the fields of path and query. */
function decodeBody({ body, method, template, target }: Route, bytes: Uint8Array, json: BodyJson): JsonValue {
  if (bytes.byteLength === 0) return {};
  if (body === undefined) throw badRequest(`${method} ${template.text} takes no body`);
  let value: JsonValue;
  try {
    value = json.parse(bytes);
  } catch (cause) {
    if (cause instanceof RpcError) throw cause;
    throw badRequest(`the body is not JSON: ${decodingReason(cause)}`, cause);
  }
  if (body !== "*") return { [body.jsonName]: value };
  // The JSON of a message such as Value need not be an object.
  if (isObject(value) || isTextual(target.input)) return value;
  throw badRequest(`the body must be a JSON object, the fields of ${target.input.typeName}`);
}

/** Encodes the response of a call at a route as JSON. A field that is not set has its default value. */
export function encodeResponse({ target, responseBody }: Route, message: object, codec: JsonCodec): Uint8Array {
  if (responseBody === undefined) return codec.encode(target.output, message);
  const { jsonName, message: type } = responseBody;
  const { values } = codec;
  const whole = values.toValue(target.output, message);
  const sent = (isWrapperDesc(target.output) ? whole : memberOf(whole as JsonObject, jsonName)) ?? zeroOf(responseBody);
  if (sent !== undefined || type === undefined) return encodeJson(sent ?? null);
  return encodeJson(type.typeName === "google.protobuf.Value" ? null : values.toValue(type, create(type)));
}
