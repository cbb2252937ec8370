/**
 * The serialization MessagePack of interface methods, whose name on the wire is `msgpack`.
 */
import type { JsonValue } from "@bufbuild/protobuf";
import { Encoder } from "@msgpack/msgpack";
import type { Notation } from "../../call/method.ts";
import { runAtOnce, runInSteps, type Steps } from "../../call/steps.ts";
import { encodeInTurn } from "../../call/work-queue.ts";
import { Cost } from "../cost.ts";
import { stepsToPlain, toPlain } from "../json.ts";
import { stepsFromJson } from "../read-json.ts";
import type { Serialization } from "../serialization.ts";
import type { JavaType } from "../signature.ts";
import { readMsgpack } from "./reader.ts";
import { writeMsgpack } from "./writer.ts";

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

const createEncoder = (): Encoder => new Encoder({ useBigInt64: true, maxDepth: MAX_ENCODER_DEPTH });

function* encode(type: JavaType, value: unknown, cost: Cost): Steps<Uint8Array> {
  const plain = yield* stepsToPlain(type, value, NOTATION, cost);
  const encoder = createEncoder();
  return yield* writeMsgpack(plain as JsonValue, (part) => encoder.encode(part));
}

function* decode(type: JavaType, bytes: Uint8Array, cost: Cost): Steps<unknown> {
  return yield* stepsFromJson(type, yield* readMsgpack(bytes, cost), cost);
}

/** The serialization MessagePack. Dates are timestamps, a `long` is a 64-bit integer, and keys of maps are strings. */
export const msgpack: Serialization = {
  name: "msgpack",
  encode: (type, value, cost = new Cost()) => createEncoder().encode(toPlain(type, value, NOTATION, cost)),
  encodeLarge: (type, value, cost = new Cost()) => encodeInTurn(encode(type, value, cost)),
  decode: (type, bytes, cost = new Cost()) => runAtOnce(decode(type, bytes, cost)),
  decodeLarge: async (type, bytes, cost) => runInSteps(decode(type, bytes, cost)),
};
