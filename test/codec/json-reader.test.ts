/** The JSON reader against protobuf-es, on random schemas, the JSON of messages, and changed JSON. */
import { create, type DescMessage, fromJson, type JsonValue, toJson } from "@bufbuild/protobuf";
import {
  FileDescriptorProtoSchema,
  FieldDescriptorProto_Label as Label,
  FieldDescriptorProto_Type as Type,
} from "@bufbuild/protobuf/wkt";
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

it("reads null in a list of wrappers and nested messages as protobuf-es does", () => {
  const field = (name: string, number: number, typeName: string, label = Label.OPTIONAL): object => {
    return { name, jsonName: name, number, typeName, label, type: Type.MESSAGE };
  };
  const file = create(FileDescriptorProtoSchema, {
    name: "nested.proto",
    package: "nested.v1",
    syntax: "proto3",
    dependency: ["google/protobuf/struct.proto", "google/protobuf/wrappers.proto"],
    messageType: [
      {
        name: "Nested",
        field: [
          field("inside", 1, ".nested.v1.Nested"),
          field("value", 2, ".google.protobuf.Value"),
          field("boxes", 3, ".google.protobuf.Int64Value", Label.REPEATED),
        ],
      },
    ],
  });
  const [schema] = load(file).messages as [DescMessage];
  const nested = (levels: number): JsonValue => {
    let json: JsonValue = { value: [[[1]]], boxes: [1] };
    for (let i = 0; i < levels; i++) json = { inside: json };
    return json;
  };
  expect(readJson(schema, { boxes: [null] })).toBeUndefined();
  let read = 0;
  for (let levels = 90; levels < 102; levels++) {
    const ours = readJson(schema, nested(levels));
    if (ours !== undefined) read++;
    same(
      ours,
      attempt(() => es(schema, nested(levels))),
      `${levels} levels`,
    );
  }
  expect(read).toBeGreaterThan(0);
  expect(read).toBeLessThan(12);
});
