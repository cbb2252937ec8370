/** JSON as a serialization of sub-protocol B, for peers that support it. Dubbo for Java does not support it. */
import { encodeJson } from "triple-es/internal";
import { Cost } from "./cost.ts";
import { toJson } from "./json.ts";
import { parseExactJson } from "./json-text.ts";
import { fromJson } from "./read-json.ts";
import type { Serialization } from "./serialization.ts";

/** Encodes values as JSON text. Its name on the wire is `json`. */
export const jsonSerialization: Serialization = {
  name: "json",
  encode: (type, value, cost) => encodeJson(toJson(type, value, cost)),
  decode: (type, bytes, cost = new Cost()) => fromJson(type, parseExactJson(bytes, cost), cost),
};
