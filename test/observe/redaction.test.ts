/** Redaction masks the fields with `debug_redact`, at any depth, and nothing else. */
import { create, type JsonObject, type JsonValue, toJson } from "@bufbuild/protobuf";
import { reflect } from "@bufbuild/protobuf/reflect";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { GreetRequestSchema } from "../../examples/gen/greet/v1/greet_pb.ts";
import { REDACTED, redactMessage } from "../../runtime/src/observe/redaction.ts";
import { messagesOf } from "../support/messages.ts";
import { SecretSchema } from "../support/secrets.ts";

const FIELDS = SecretSchema.fields.map(({ jsonName }) => jsonName);

/** The JSON of a message after redaction. */
function redacted(message: object): JsonObject {
  const json = toJson(SecretSchema, message as never) as JsonObject;
  redactMessage(SecretSchema, json);
  return json;
}

/** Masks every member of a message's JSON that is named as a secret; contents of a Struct are left alone. */
function masked(json: JsonObject): JsonObject {
  const inner = (value: JsonValue): JsonValue => masked(value as JsonObject);
  const entries = Object.entries(json).map(([name, value]): [string, JsonValue] => {
    if (name.startsWith("secret")) return [name, REDACTED];
    if (name === "node") return [name, inner(value)];
    if (name === "nodes") return [name, (value as JsonValue[]).map(inner)];
    if (name !== "map") return [name, value];
    return [name, Object.fromEntries(Object.entries(value as JsonObject).map(([key, one]) => [key, inner(one)]))];
  });
  return Object.fromEntries(entries);
}

describe("redaction", () => {
  it("masks the marked fields of any message, and nothing else", () => {
    fc.assert(
      fc.property(messagesOf(SecretSchema, 2, 5), (message) => {
        expect(redacted(message)).toEqual(masked(toJson(SecretSchema, message as never) as JsonObject));
      }),
      { numRuns: 200 },
    );
  });

  it("leaves no byte of a secret in the record", () => {
    fc.assert(
      fc.property(messagesOf(SecretSchema, 1, 5), fc.constant("s3cr3t-c0ntent"), (message, secret) => {
        const node = create(SecretSchema, message as never);
        const fields = reflect(SecretSchema, node);
        fields.set(SecretSchema.field["secretText"] as never, secret);
        fields.set(
          SecretSchema.field["secretNode"] as never,
          reflect(SecretSchema, create(SecretSchema, { text: secret })),
        );
        const outer = create(SecretSchema, { map: { a: node }, nodes: [create(SecretSchema, { node })] });
        expect(JSON.stringify(redacted(outer))).not.toContain(secret);
      }),
      { numRuns: 100 },
    );
  });

  it("keeps members of a Struct that are named like marked fields", () => {
    const anyJson = Object.fromEntries(FIELDS.map((name) => [name, "open"]));
    expect(redacted(create(SecretSchema, { anyJson }))).toEqual({ anyJson });
  });

  it("does not read messages without marked fields", () => {
    const json = new Proxy({}, { get: () => expect.unreachable() });
    redactMessage(GreetRequestSchema, json);
  });
});
