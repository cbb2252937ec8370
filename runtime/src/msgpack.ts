/**
 * The door for values in MessagePack, which needs `@msgpack/msgpack`: `msgpack` on the wire.
 */
import type { JsonValue } from "@bufbuild/protobuf";
import { Decoder, Encoder } from "@msgpack/msgpack";
import { Cost } from "./java/cost.ts";
import { fromJson, type Notation, toPlain } from "./java/json.ts";
import { checkShape } from "./java/msgpack/shape.ts";
import type { Serialization } from "./java/serialization.ts";

/** What JSON has to spell out, MessagePack has. */
const NOTATION: Notation = {
  long: (value) => value,
  double: (value) => value,
  bytes: (value) => value,
  date: (value) => value,
};

/** More than the values of a method may have: those are refused with a better word. */
const MAX_DEPTH = 200;

/** Values in MessagePack. A date is its timestamp, a `long` an integer of 64 bits, a map has keys that are strings. */
export const msgpack: Serialization = {
  name: "msgpack",
  encode: (type, value, cost = new Cost()) =>
    new Encoder({ useBigInt64: true, maxDepth: MAX_DEPTH }).encode(toPlain(type, value, NOTATION, cost)),
  decode(type, bytes, cost = new Cost()) {
    checkShape(bytes, cost);
    // What it decodes to is JSON, but for bytes, dates and bigints, which are read as well.
    return fromJson(type, new Decoder({ useBigInt64: true }).decode(bytes) as JsonValue, cost);
  },
};
