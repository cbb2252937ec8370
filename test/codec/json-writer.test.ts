/** The JSON writer against protobuf-es, on random schemas, messages, init shapes and invalid values. */
import { create, type DescMessage, type MessageInitShape, toJsonString } from "@bufbuild/protobuf";
import fc from "fast-check";
import { expect, it } from "vitest";
import { EchoRequestSchema } from "../../bench/messages/gen/echo_pb.ts";
import { boundedJsonCodec } from "../../runtime/src/codec/bounded-codec.ts";
import { writeJson } from "../../runtime/src/codec/json-writer.ts";
import { load } from "./binary/load.ts";
import { randomFile } from "./binary/schemas.ts";
import { attempt, corrupt, initOf, randomMessage, randomOf, same } from "./binary/values.ts";

const schemaAndSeed = fc.tuple(randomFile, fc.integer());
const MESSAGES = 20;

it("writes messages, init shapes and invalid values as protobuf-es does", () => {
  let written = 0;
  let left = 0;
  fc.assert(
    fc.property(schemaAndSeed, ([file, start]) => {
      const { messages } = load(file);
      const random = randomOf(start);
      for (let i = 0; i < MESSAGES; i++) {
        const schema = messages[i % messages.length] as DescMessage;
        const message = randomMessage(schema, random);
        const invalid = i % 4 === 0 ? corrupt(schema, message, random) : "";
        for (const given of [message, initOf(message, random)]) {
          const theirs = attempt(() =>
            Buffer.from(toJsonString(schema, create(schema, given as MessageInitShape<DescMessage>))),
          );
          same(
            attempt(() => boundedJsonCodec.encode(schema, given)),
            theirs,
            invalid,
          );
          if (theirs === undefined || schema.fields.length === 0) continue;
          if (writeJson(schema, given) === undefined) left++;
          else written++;
        }
      }
    }),
    { numRuns: 50 },
  );
  // Types with required fields, and with the Struct that is plain JSON, are left to protobuf-es.
  expect(written).toBeGreaterThan(left);
});

it("refuses an invalid value with the error of protobuf-es, and leaves earlier messages unchanged", () => {
  const before = boundedJsonCodec.encode(EchoRequestSchema, { name: "Ada" });
  const invalid = { name: "x".repeat(20_000), quantity: Number.NaN, price: "1" };
  expect(() => boundedJsonCodec.encode(EchoRequestSchema, invalid)).toThrow(
    "cannot encode field bench.v1.EchoRequest.price",
  );
  boundedJsonCodec.encode(EchoRequestSchema, { name: "Grace" });
  expect(Buffer.from(before).toString()).toBe('{"name":"Ada"}');
});
