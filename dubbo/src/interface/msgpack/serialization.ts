/** The serialization MessagePack of interface methods, whose name on the wire is `msgpack`. */
import { Encoder } from "@msgpack/msgpack";
import type { Notation } from "triple-es/internal";
import { Cost } from "../cost.ts";
import { toPlain } from "../json.ts";
import { fromJson } from "../read-json.ts";
import type { Serialization } from "../serialization.ts";
import { readMsgpack } from "./reader.ts";

/** Values are passed to MessagePack unchanged, because it has types for those that JSON lacks. */
const NOTATION: Notation = {
  long: (value) => value,
  double: (value) => value,
  bytes: (value) => value,
  date: (value) => value,
};

/**
 * Maximum depth in the encoder. It is higher than the limit on the values of a method, so that the clearer error of that
 * limit is thrown.
 */
const MAX_ENCODER_DEPTH = 200;

/** The serialization MessagePack. Dates are timestamps, a `long` is a 64-bit integer, and keys of maps are strings. */
export const msgpack: Serialization = {
  name: "msgpack",
  encode: (type, value, cost = new Cost()) => {
    const encoder = new Encoder({ useBigInt64: true, maxDepth: MAX_ENCODER_DEPTH });
    return encoder.encode(toPlain(type, value, NOTATION, cost));
  },
  decode: (type, bytes, cost = new Cost()) => fromJson(type, readMsgpack(bytes, cost), cost),
};
