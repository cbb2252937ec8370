/**
 * JSON as a serialization of sub-protocol B, for our own peers and those that were given one.
 */
import { decodeJsonText, encodeJson } from "../codec/codec.ts";
import { fromJson, toJson } from "./json.ts";
import { parseExactJson } from "./json-text.ts";
import type { Serialization } from "./serialization.ts";

/** Values as JSON text: `json` on the wire. Dubbo for Java has no such serialization of its own. */
export const jsonSerialization: Serialization = {
  name: "json",
  encode: (type, value, cost) => encodeJson(toJson(type, value, cost)),
  decode: (type, bytes, cost) => fromJson(type, parseExactJson(decodeJsonText(bytes)), cost),
};
