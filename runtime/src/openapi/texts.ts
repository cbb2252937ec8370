/** Texts of documents that the plugin has written: comments of proto files, which generated code does not contain. */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { isObject } from "../codec/values/json.ts";

/** Values, not schemas: their members may have these names too. */
const VALUE_KEYWORDS: ReadonlySet<string> = new Set(["example", "examples", "const", "enum", "default"]);

/** Copies each `summary` and `description` of a source to the same place in the target, if it exists there. */
export function copyTexts(target: JsonObject, source: JsonObject): void {
  for (const name of ["summary", "description"]) {
    if (typeof source[name] === "string") target[name] = source[name];
  }
  for (const [name, value] of Object.entries(target)) {
    const found = source[name];
    if (VALUE_KEYWORDS.has(name) || found === undefined) continue;
    if (!Array.isArray(value)) {
      if (isObject(value) && isObject(found)) copyTexts(value, found);
    } else if (Array.isArray(found)) {
      for (const [index, one] of value.entries()) copyToElement(one, found, index);
    }
  }
}

/** Elements with names, such as parameters and tags, may have other places in the source. */
function copyToElement(one: JsonValue, found: readonly JsonValue[], index: number): void {
  if (!isObject(one)) return;
  const { name } = one;
  const same = name === undefined ? found[index] : found.find((other) => isObject(other) && other["name"] === name);
  if (isObject(same)) copyTexts(one, same);
}
