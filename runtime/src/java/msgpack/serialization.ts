/**
 * The serialization MessagePack of interface methods, whose name on the wire is `msgpack`.
 */
import type { JsonValue } from "@bufbuild/protobuf";
import { Decoder, Encoder } from "@msgpack/msgpack";
import type { Notation } from "../../call/method.ts";
import { Cost } from "../cost.ts";
import { fromJson, toPlain } from "../json.ts";
import type { Serialization } from "../serialization.ts";
import { checkShape } from "./shape.ts";

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
  encode: (type, value, cost = new Cost()) =>
    new Encoder({ useBigInt64: true, maxDepth: MAX_ENCODER_DEPTH }).encode(toPlain(type, value, NOTATION, cost)),
  decode(type, bytes, cost = new Cost()) {
    checkShape(bytes, cost);
    // The decoder returns JSON values, bytes, dates and bigints, all of which fromJson accepts.
    return fromJson(type, new Decoder({ useBigInt64: true }).decode(bytes) as JsonValue, cost);
  },
};
