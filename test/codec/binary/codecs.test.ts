/**
 * Generated codecs against protobuf-es, on random schemas and values: the same bytes, the same objects, the same
 * refusals.
 */
import { create, fromBinary, type Message, toBinary } from "@bufbuild/protobuf";
import fc from "fast-check";
import type { GeneratedCodec } from "triple-es";
import { describe, expect, it } from "vitest";
import { load } from "./load.ts";
import { fileOfBytes, randomFile } from "./schemas.ts";
import { attempt, corrupt, mutate, randomMessage, randomOf, same } from "./values.ts";

/** Schemas of one run, and messages of each. A longer run: `npm run codecs:differential`. */
const SCHEMAS = Number(process.env["CODEC_SCHEMAS"] ?? 50);
const MESSAGES = 20;
const seed = process.env["CODEC_SEED"];
const parameters = { numRuns: SCHEMAS, ...(seed === undefined ? {} : { seed: Number(seed) }) };

const schemaAndSeed = fc.tuple(randomFile, fc.integer());

describe("generated codecs", { timeout: 3_600_000 }, () => {
  it("encode as protobuf-es does, and decode to the same objects", () => {
    fc.assert(
      fc.property(schemaAndSeed, ([file, start]) => {
        const { messages, codecOf } = load(file);
        const random = randomOf(start);
        for (let i = 0; i < MESSAGES; i++) {
          const schema = messages[i % messages.length] as (typeof messages)[number];
          const message = randomMessage(schema, random);
          const bytes = attempt(() => toBinary(schema, message));
          const ours = attempt(() => codecOf(schema).encode(message));
          same(ours, bytes);
          if (bytes === undefined) continue;
          const decoded = codecOf(schema).decode(bytes);
          same(decoded, fromBinary(schema, bytes));
          same(toBinary(schema, decoded as Message), toBinary(schema, fromBinary(schema, bytes)));
        }
      }),
      parameters,
    );
  });

  it("merge the fields of concatenated messages", () => {
    fc.assert(
      fc.property(schemaAndSeed, ([file, start]) => {
        const { messages, codecOf } = load(file);
        const random = randomOf(start);
        for (const schema of messages) {
          // Concatenated messages are one message, in which their fields are merged.
          const parts = Array.from({ length: 5 }, () => attempt(() => toBinary(schema, randomMessage(schema, random))));
          const bytes = Buffer.concat(parts.filter((part) => part !== undefined));
          const generated: GeneratedCodec = codecOf(schema);
          expect(generated.decode(bytes)).toEqual(fromBinary(schema, new Uint8Array(bytes)));
        }
      }),
      parameters,
    );
  });

  it("keep the bytes fields of a message as views of what was received", () => {
    const { codecOf, messages } = load(fileOfBytes());
    const [schema] = messages;
    if (schema === undefined) throw new Error("no message");
    const bytes = toBinary(schema, create(schema, { data: new Uint8Array(2 ** 20) } as never));
    const { data } = codecOf(schema).decode(bytes) as { readonly data: Uint8Array };
    expect(data).toHaveLength(2 ** 20);
    expect(data.buffer).toBe(bytes.buffer);
    expect(data.constructor).toBe(Uint8Array);
  });

  it("accept and refuse values of other types as protobuf-es does", () => {
    fc.assert(
      fc.property(schemaAndSeed, ([file, start]) => {
        const { messages, codecOf } = load(file);
        const random = randomOf(start);
        for (let i = 0; i < MESSAGES; i++) {
          const schema = messages[i % messages.length] as (typeof messages)[number];
          const message = randomMessage(schema, random);
          const invalid = corrupt(schema, message, random);
          const theirs = attempt(() => toBinary(schema, message));
          const ours = attempt(() => codecOf(schema).encode(message));
          same(ours, theirs, invalid);
        }
      }),
      parameters,
    );
  });

  it("accept and refuse mutated bytes as protobuf-es does", () => {
    fc.assert(
      fc.property(schemaAndSeed, ([file, start]) => {
        const { messages, codecOf } = load(file);
        const random = randomOf(start);
        for (let i = 0; i < MESSAGES; i++) {
          const schema = messages[i % messages.length] as (typeof messages)[number];
          const bytes = attempt(() => toBinary(schema, randomMessage(schema, random)));
          if (bytes === undefined) continue;
          const mutated = mutate(bytes.subarray(0, 400), random);
          const theirs = attempt(() => fromBinary(schema, mutated));
          const ours = attempt(() => codecOf(schema).decode(mutated));
          same(ours, theirs);
        }
      }),
      parameters,
    );
  });
});
