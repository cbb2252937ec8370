/**
 * Entry point `triple-es/msgpack`: MessagePack, `msgpack` on the wire. Needs the package `@msgpack/msgpack`.
 */
import type { JsonValue } from "@bufbuild/protobuf";
import { Decoder, Encoder } from "@msgpack/msgpack";
import { Cost } from "./java/cost.ts";
import { fromJson, type Notation, toPlain } from "./java/json.ts";
import { checkShape } from "./java/msgpack/shape.ts";
import type { Serialization } from "./java/serialization.ts";

/** MessagePack has types for values that JSON lacks. */
const NOTATION: Notation = {
  long: (value) => value,
  double: (value) => value,
  bytes: (value) => value,
  date: (value) => value,
};

/** Higher than the limit on values of a method, whose error is clearer. */
const MAX_ENCODER_DEPTH = 200;

/** MessagePack: dates are timestamps, a `long` is a 64-bit integer, and keys of maps are strings. */
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
