/** The JSON reader against protobuf-es, on random schemas, the JSON of messages, and changed JSON. */
import { type DescMessage, fromJson, type JsonValue, toJson } from "@bufbuild/protobuf";
import fc from "fast-check";
import { expect, it } from "vitest";
import { OrderSchema } from "../../bench/messages/gen/echo_pb.ts";
import { boundedJsonCodec } from "../../runtime/src/codec/bounded-codec.ts";
import { jsonCodec } from "../../runtime/src/codec/codec.ts";
import { readJson } from "../../runtime/src/codec/json-reader.ts";
import { load } from "./binary/load.ts";
import { randomFile } from "./binary/schemas.ts";
import { attempt, randomMessage, randomOf, same } from "./binary/values.ts";
import { changeJson } from "./json-values.ts";

const schemaAndSeed = fc.tuple(randomFile, fc.integer());
const MESSAGES = 20;
const es = (schema: DescMessage, json: JsonValue): object => fromJson(schema, json, { ignoreUnknownFields: true });

it("reads the JSON of messages and changed JSON as protobuf-es does", () => {
  let read = 0;
  let left = 0;
  let changedRead = 0;
  fc.assert(
    fc.property(schemaAndSeed, ([file, start]) => {
      const { messages } = load(file);
      const random = randomOf(start);
      for (let i = 0; i < MESSAGES; i++) {
        const schema = messages[i % messages.length] as DescMessage;
        const json = attempt(() => toJson(schema, randomMessage(schema, random)));
        if (json === undefined) continue;
        const ours = readJson(schema, json);
        if (ours === undefined) left++;
        else {
          read++;
          same(ours, es(schema, json), JSON.stringify(json));
        }
        for (let changes = 0; changes < 5; changes++) {
          const changed = changeJson(schema, json, random);
          const result = readJson(schema, changed);
          if (result === undefined) continue;
          changedRead++;
          same(
            result,
            attempt(() => es(schema, changed)),
            JSON.stringify(changed),
          );
        }
      }
    }),
    { numRuns: 50 },
  );
  // Types with required fields, and with the Struct that is plain JSON, are left to protobuf-es.
  expect(read).toBeGreaterThan(left);
  expect(changedRead).toBeGreaterThan(read);
});

it.each([
  '{"id":1}',
  '{"lines":[null]}',
  '{"customer":[]}',
  '{"stock":{"a":"9223372036854775808"}}',
  '{"pickupPoint":"a","address":{}}',
  '{"pickupPoint":"a","address":null}',
  '{"createdAt":"1","created_at":"1"}',
  '{"id":"\\ud800"}',
  "null",
  '"text"',
])("refuses %s with the error of protobuf-es", (text) => {
  const bytes = Buffer.from(text);
  let message = "";
  try {
    jsonCodec.decode(OrderSchema, bytes);
  } catch (error) {
    ({ message } = error as Error);
  }
  expect(message).not.toBe("");
  expect(() => boundedJsonCodec.decode(OrderSchema, bytes)).toThrow(message);
});
