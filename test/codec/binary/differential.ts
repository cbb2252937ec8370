/**
 * `npm run codecs:differential`: generated codecs and the JSON reader and writer against protobuf-es, on as many random schemas, values and mutated bytes as
 * wanted. The tests of this folder check the same properties on 10,000 cases.
 *
 *     --cases 1000000   cases of this run: a value that both encode and decode, or mutated bytes that both decode or reject
 *     --seed 1          the first seed; each schema has its own, which is printed with a failure
 */
import { parseArgs } from "node:util";
import {
  type DescMessage,
  fromBinary,
  fromJson,
  type JsonValue,
  type Message,
  toBinary,
  toJson,
} from "@bufbuild/protobuf";
import fc from "fast-check";
import { boundedJsonCodec } from "../../../runtime/src/codec/bounded-codec.ts";
import { jsonCodec } from "../../../runtime/src/codec/codec.ts";
import { readJson } from "../../../runtime/src/codec/json-reader.ts";
import { changeJson } from "../json-values.ts";
import { type Codec, load } from "./load.ts";
import { randomFile } from "./schemas.ts";
import { attempt, corrupt, initOf, mutate, type Random, randomMessage, randomOf, same } from "./values.ts";

/** Values of each schema. Each makes two cases: the value itself, or one with an invalid field, and mutated bytes. */
const VALUES = 60;

const { values } = parseArgs({
  options: { cases: { type: "string" }, seed: { type: "string" }, help: { type: "boolean" } },
});
if (values.help) {
  console.log(
    "npm run codecs:differential [-- --cases 10000 --seed 1]: see the comment of test/codec/binary/differential.ts",
  );
  process.exit();
}
const wanted = Number(values.cases ?? 10_000);
const firstSeed = Number(values.seed ?? 1);
const begun = performance.now();
let cases = 0;
let rejected = 0;

for (let seed = firstSeed; cases < wanted; seed++) {
  const [file] = fc.sample(randomFile, { numRuns: 1, seed });
  if (file === undefined) throw new Error("fast-check has made no schema");
  const { messages, codecOf } = load(file);
  const random = randomOf(seed);
  for (let index = 0; index < VALUES; index++) {
    const schema = messages[index % messages.length] as DescMessage;
    try {
      judge(schema, codecOf(schema), random);
    } catch (error) {
      console.error(`seed ${seed}, value ${index} of ${schema.typeName}`);
      throw error;
    }
  }
  if ((seed - firstSeed) % 500 === 499) report(seed);
}
report(undefined);

function judge(schema: DescMessage, codec: Codec, random: Random): void {
  const message = randomMessage(schema, random);
  const invalid = random(4) === 0 ? corrupt(schema, message, random) : "";
  for (const given of [message, initOf(message, random)]) {
    same(
      attempt(() => boundedJsonCodec.encode(schema, given)),
      attempt(() => jsonCodec.encode(schema, given)),
      invalid,
    );
    cases++;
  }
  const json = attempt(() => toJson(schema, message));
  const changed = json === undefined ? undefined : changeJson(schema, json, random);
  for (const one of [json, changed]) {
    const read = one === undefined ? undefined : readJson(schema, one);
    if (read === undefined) continue;
    same(
      read,
      attempt(() => fromJson(schema, one as JsonValue, { ignoreUnknownFields: true })),
      JSON.stringify(one),
    );
    cases++;
  }
  const bytes = attempt(() => toBinary(schema, message));
  same(
    attempt(() => codec.encode(message)),
    bytes,
    invalid,
  );
  cases++;
  if (bytes === undefined) {
    rejected++;
    return;
  }
  const decoded = attempt(() => codec.decode(bytes));
  const oracle = attempt(() => fromBinary(schema, bytes));
  same(decoded, oracle);
  if (oracle !== undefined)
    same(
      attempt(() => toBinary(schema, decoded as Message)),
      attempt(() => toBinary(schema, oracle)),
    );
  const mutated = mutate(bytes.subarray(0, 400), random);
  const expected = attempt(() => fromBinary(schema, mutated));
  same(
    attempt(() => codec.decode(mutated)),
    expected,
  );
  cases++;
  if (expected === undefined) rejected++;
}

function report(seed: number | undefined): void {
  const seconds = ((performance.now() - begun) / 1000).toFixed(0);
  const seeds = seed === undefined ? `seeds from ${firstSeed}` : `seeds ${firstSeed} to ${seed}`;
  console.log(
    `${cases} cases, ${rejected} rejected by both, ${seeds}, ${seconds} s${seed === undefined ? ": all equal" : ""}`,
  );
}
