/**
 * JSON as a serialization of sub-protocol B, for peers that support it. Dubbo for Java does not support it.
 */
import { runInSteps } from "../call/steps.ts";
import { encodeInTurn } from "../call/work-queue.ts";
import { decodeJsonText, encodeJson } from "../codec/codec.ts";
import { toJson } from "./json.ts";
import { parseExactJson } from "./json-text.ts";
import { fromJson, stepsFromJson } from "./read-json.ts";
import type { Serialization } from "./serialization.ts";

/** Encodes values as JSON text. Its name on the wire is `json`. */
export const jsonSerialization: Serialization = {
  name: "json",
  encode: (type, value, cost) => encodeJson(toJson(type, value, cost)),
  encodeLarge: async (type, value, cost) => {
    const { encodeInSteps } = await import("./large-json.ts");
    return encodeInTurn(encodeInSteps(type, value, cost));
  },
  decode: (type, bytes, cost) => fromJson(type, parseExactJson(decodeJsonText(bytes), cost), cost),
  decodeLarge: async (type, bytes, cost) => {
    const { parseExactJsonInSteps } = await import("./large-json.ts");
    return runInSteps(stepsFromJson(type, await parseExactJsonInSteps(bytes, cost), cost));
  },
};
