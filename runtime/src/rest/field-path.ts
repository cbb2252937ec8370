/** Field paths such as `sub.subfield`: the fields of a request message that path templates and query parameters name. */
import type { DescField, DescMessage, JsonObject, JsonValue } from "@bufbuild/protobuf";
import { MAX_JSON_DEPTH } from "../codec/json-syntax.ts";
import { isObject } from "../codec/values/json.ts";
import { findField, isTextual } from "../http-rpc/body/parameters.ts";
import { badRequest } from "../http-rpc/headers.ts";

/** The fields from a message to one of its leaves, outermost first. */
export type FieldPath = readonly [DescField, ...DescField[]];

/** A field path, or the reason why the names are not a field path. */
export type ResolvedPath = { readonly path: FieldPath } | { readonly problem: string } | undefined;

/**
 * Finds the fields with the names, which are JSON names or names in the proto file. Returns `undefined` if there is no such
 * field, and a problem if a field on the way has no fields of its own, or the last one cannot be written as text.
 */
export function resolvePath(type: DescMessage, names: readonly string[]): ResolvedPath {
  if (names.length > MAX_JSON_DEPTH) return { problem: `has more than ${MAX_JSON_DEPTH} names` };
  const path: DescField[] = [];
  let parent: DescMessage | undefined = type;
  for (const name of names) {
    if (parent === undefined) {
      return {
        problem: `has a name after "${path.at(-1)?.name}", whose fields cannot be parameters`,
      };
    }
    const field = findField(parent, name);
    if (field === undefined) return undefined;
    path.push(field);
    parent = field.fieldKind === "message" && !isTextual(field.message) ? field.message : undefined;
  }
  const last = path.at(-1) as DescField;
  if (parent !== undefined) {
    const example = [...names, parent.fields[0]?.jsonName ?? "field"].join(".");
    return { problem: `is a message; name one of its fields, such as ${example}` };
  }
  if (last.fieldKind === "map") return { problem: "is a map, which cannot be written as text" };
  if (last.fieldKind === "list" && last.message !== undefined && !isTextual(last.message)) {
    return { problem: "is a list of messages, which cannot be written as text" };
  }
  return { path: path as unknown as FieldPath };
}

/** The key of a field path, which is equal for all spellings of its names. */
export function keyOf(path: FieldPath): string {
  return path.map(({ jsonName }) => jsonName).join(".");
}

/**
 * Sets the member at the field path in the JSON of a message. It replaces a member that the JSON has under either name of the
 * field. Throws a bad request if a parent of the member is not an object.
 */
export function setAtPath(json: JsonObject, path: FieldPath, value: JsonValue): void {
  let parent = json;
  for (const [index, { jsonName, name }] of path.entries()) {
    const isLast = index === path.length - 1;
    const member = isLast ? value : (memberOf(parent, jsonName) ?? memberOf(parent, name) ?? {});
    if (name !== jsonName) delete parent[name];
    parent[jsonName] = member;
    if (isLast) return;
    if (!isObject(member)) throw badRequest(`the member "${jsonName}" of the body must be an object`);
    parent = member;
  }
}

/** Returns a member of an object itself: a field may have a name that all objects inherit, such as `constructor`. */
export function memberOf(json: JsonObject, name: string): JsonValue | undefined {
  return Object.hasOwn(json, name) ? json[name] : undefined;
}
