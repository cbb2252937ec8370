/**
 * The entry point for MessagePack, which needs `@msgpack/msgpack`: `msgpack` on the wire.
 */
import type { JsonValue } from "@bufbuild/protobuf";
import { Decoder, Encoder } from "@msgpack/msgpack";
import { Cost } from "./java/cost.ts";
import { fromJson, type Notation, toPlain } from "./java/json.ts";
import { checkShape } from "./java/msgpack/shape.ts";
import type { Serialization } from "./java/serialization.ts";

/** MessagePack has types for the values that JSON lacks. */
const NOTATION: Notation = {
  long: (value) => value,
  double: (value) => value,
  bytes: (value) => value,
  date: (value) => value,
};

/** Beyond the limit on values of a method, which reports a clearer error first. */
const MAX_ENCODER_DEPTH = 200;

/** The serialization. A date is a timestamp, a `long` an integer of 64 bits, and keys of maps are strings. */
export const msgpack: Serialization = {
  name: "msgpack",
  encode: (type, value, cost = new Cost()) =>
    new Encoder({ useBigInt64: true, maxDepth: MAX_ENCODER_DEPTH }).encode(toPlain(type, value, NOTATION, cost)),
  decode(type, bytes, cost = new Cost()) {
    checkShape(bytes, cost);
    // It decodes to JSON values, bytes, dates and bigints, all of which fromJson accepts.
    return fromJson(type, new Decoder({ useBigInt64: true }).decode(bytes) as JsonValue, cost);
  },
};
