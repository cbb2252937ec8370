/** Responses to large requests: they are encoded in steps, to the bytes that encoding at once returns. */
import {
  create,
  createRegistry,
  type DescMessage,
  fromBinary,
  fromJson,
  type JsonValue,
  type MessageInitShape,
  type MessageShape,
  toBinary,
  toJson,
} from "@bufbuild/protobuf";
import {
  AnySchema,
  anyPack,
  BytesValueSchema,
  FieldMaskSchema,
  ListValueSchema,
  StructSchema,
  TypeSchema,
  ValueSchema,
} from "@bufbuild/protobuf/wkt";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { runAtOnce, runInSteps } from "../../runtime/src/call/steps.ts";
import { BASE64_BYTES_PER_UNIT, Weigher } from "../../runtime/src/codec/encode-weight.ts";
import { jsonSteps } from "../../runtime/src/codec/json-encode-steps.ts";
import { parseJsonInSteps } from "../../runtime/src/codec/json-text.ts";
import { encodeJsonInSteps } from "../../runtime/src/codec/json-write.ts";
import { boundedProtoCodec, createBoundedJsonCodec } from "../../runtime/src/codec/large-message.ts";
import { DecodeBudget } from "../../runtime/src/codec/memory.ts";
import { encodeProtoInSteps } from "../../runtime/src/codec/proto-encode-steps.ts";
import { nodeProtoCodec } from "../../runtime/src/node/proto-codec.ts";
import { everySpecial, everything, messagesOf } from "../support/messages.ts";

const special = everySpecial();
const TYPES = [special, everything("proto2"), everything("proto3")] as const;
const registry = createRegistry(AnySchema, TypeSchema, StructSchema, BytesValueSchema, FieldMaskSchema, ...TYPES);
const json = createBoundedJsonCodec({ registry });

/** Throws instead of encoding the whole message, as an error in the division would. */
function except<T>(whole: object, encode: (type: DescMessage, message: object) => T) {
  return (type: DescMessage, message: object): T => {
    if (message === whole) throw new Error("the message was encoded at once");
    return encode(type, message);
  };
}

/** A random message with unknown fields. */
function withUnknown(type: DescMessage): fc.Arbitrary<object> {
  const field = fc.record({ no: fc.integer({ min: 400_000, max: 400_010 }), data: fc.constant(Uint8Array.of(1)) });
  return fc.tuple(messagesOf(type, 2, 12), fc.array(field, { maxLength: 5 })).map(([init, unknown]) => {
    const message = create(type, init as MessageInitShape<DescMessage>);
    if (unknown.length > 0) message.$unknown = unknown.map((one) => ({ ...one, wireType: 0 }));
    return message;
  });
}

function jsonOf(type: DescMessage, message: object): JsonValue | undefined {
  try {
    return toJson(type, message as MessageShape<DescMessage>, { registry });
  } catch {
    // The message has values without a representation in JSON.
    return undefined;
  }
}

const hex = (bytes: Uint8Array | undefined): string => Buffer.from(bytes ?? []).toString("hex");

describe("in steps of any weight", () => {
  const cases = TYPES.map((type) => [type.typeName, type] as const);

  it.each(cases)("protobuf has the same bytes: %s", async (_, type) => {
    const steps = fc.integer({ min: 2, max: 40 });
    await fc.assert(
      fc.asyncProperty(withUnknown(type), steps, async (message, step) => {
        const whole = toBinary(type, message as MessageShape<DescMessage>);
        for (const { encode } of [boundedProtoCodec, nodeProtoCodec]) {
          const bytes = await encodeProtoInSteps(type, message, except(message, encode), step);
          expect(hex(bytes)).toBe(hex(whole));
        }
      }),
      { numRuns: 150 },
    );
  });

  it.each(cases)("JSON has the same value and text: %s", async (_, type) => {
    const steps = fc.integer({ min: 2, max: 40 });
    await fc.assert(
      fc.asyncProperty(withUnknown(type), steps, async (message, step) => {
        const whole = jsonOf(type, message);
        if (whole === undefined || new Weigher(BASE64_BYTES_PER_UNIT).message(type, message, step) < step) return;
        const work = jsonSteps(type, message, except(message, json.values?.toValue as never), registry, step);
        const value = work && (await runInSteps(work));
        expect(JSON.stringify(value)).toBe(JSON.stringify(whole));
        expect(Buffer.from(runAtOnce(encodeJsonInSteps(value as JsonValue, step))).toString()).toBe(
          JSON.stringify(whole),
        );
      }),
      { numRuns: 150 },
    );
  });

  it("JSON text is that of JSON.stringify", () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.integer({ min: 2, max: 20 }), (value, step) => {
        const text = Buffer.from(runAtOnce(encodeJsonInSteps(value as JsonValue, step))).toString();
        expect(text).toBe(JSON.stringify(value));
      }),
    );
  });
});

describe("large messages", () => {
  const [, , proto3] = TYPES;
  const texts = (count: number): string[] => Array.from({ length: count }, (_, i) => `text ${i}`);
  const object = Object.fromEntries(texts(3_000).map((text, i) => [text, [i, null, { inside: true }]]));
  const list = create(StructSchema, {
    fields: { list: { kind: { case: "listValue", value: fromJson(ListValueSchema, texts(9_000)) } } },
  });
  const paths = ["a_b".repeat(20_000), "c", `${"d".repeat(4_095)}_e`];
  const any = anyPack(StructSchema, fromJson(StructSchema, { texts: texts(9_000) }));
  const cases: readonly (readonly [string, DescMessage, object])[] = [
    ["a list of texts", proto3, { loose9: texts(5_000) }],
    ["a list of messages as init shapes", proto3, { loose11: texts(3_000).map((single9) => ({ single9 })) }],
    ["a packed list", proto3, { packed5: texts(9_000).map((_, i) => i - 4_000) }],
    ["bytes", proto3, { single12: new Uint8Array(100_000).fill(7) }],
    ["a struct", StructSchema, fromJson(StructSchema, object)],
    ["a struct of a list", StructSchema, list],
    ["a value", ValueSchema, fromJson(ValueSchema, [object, texts(5_000)])],
    ["a list value", ListValueSchema, fromJson(ListValueSchema, [object, object])],
    ["bytes in a wrapper", BytesValueSchema, create(BytesValueSchema, { value: new Uint8Array(200_000).fill(255) })],
    ["a field mask", FieldMaskSchema, create(FieldMaskSchema, { paths })],
    ["an Any", AnySchema, any],
    ["an Any in an Any", AnySchema, anyPack(AnySchema, any)],
  ];

  /** Counts the turns of the event loop until the promise is settled. */
  async function turnsOf(work: Promise<unknown> | undefined): Promise<number> {
    let turns = 0;
    let running = true;
    const count = (): void => {
      turns += 1;
      if (running) setImmediate(count);
    };
    setImmediate(count);
    await work;
    running = false;
    return turns;
  }

  it.each(cases)("are the same in protobuf and JSON: %s", async (_, type, init) => {
    const message = create(type, init as MessageInitShape<DescMessage>);
    // Bytes are copied at once.
    const bytes = (await nodeProtoCodec.encodeLarge?.(type, init)) ?? nodeProtoCodec.encode(type, init);
    expect(hex(bytes)).toBe(hex(toBinary(type, message)));
    const text = Buffer.from((await json.encodeLarge?.(type, init)) as Uint8Array).toString();
    expect(text).toBe(JSON.stringify(toJson(type, message, { registry })));
  });

  it("leave the event loop its turns", async () => {
    const message = create(proto3, { loose11: texts(60_000).map((single9) => ({ single9 })) } as Record<
      string,
      unknown
    >);
    expect(await turnsOf(nodeProtoCodec.encodeLarge?.(proto3, message))).toBeGreaterThan(5);
    expect(await turnsOf(json.encodeLarge?.(proto3, message))).toBeGreaterThan(5);
  });

  it("keep members with the name __proto__", async () => {
    const given = JSON.parse(`{"__proto__":${JSON.stringify(texts(5_000))},"own":1}`);
    const whole = JSON.stringify(given);
    expect(Buffer.from(runAtOnce(encodeJsonInSteps(given))).toString()).toBe(whole);
    const message = fromJson(StructSchema, given);
    const text = Buffer.from((await json.encodeLarge?.(StructSchema, message)) as Uint8Array).toString();
    expect(text).toBe(whole);
  });

  it("keep the order of JSON.stringify for values that were parsed in parts", async () => {
    const spaces = " ".repeat(100_000);
    const numbers = texts(9_000).map((_, i) => `"${(i * 7_919) % 9_973}":"n","k${i}":${i}`);
    for (const text of [
      `[${spaces}]`,
      `{${spaces}}`,
      `[[${spaces}],{"4294967295":1,"4294967294":2,"01":3,${numbers}}]`,
    ]) {
      const value = await parseJsonInSteps(Buffer.from(text), new DecodeBudget(1e9));
      const written = Buffer.from(runAtOnce(encodeJsonInSteps(value))).toString();
      expect(written).toBe(JSON.stringify(JSON.parse(text)));
    }
  });

  it("include what was added to an object that was decoded in steps", async () => {
    const value = Buffer.from(JSON.stringify({ single1: object }));
    const message = (await json.decodeLarge?.(special, value, 1e9)) as unknown as { single1: Record<string, unknown> };
    message.single1["added"] = true;
    delete message.single1["text 7"];
    const { "text 7": _, ...rest } = object;
    const text = Buffer.from((await json.encodeLarge?.(special, message)) as Uint8Array).toString();
    expect(JSON.parse(text)).toEqual({ single1: { ...rest, added: true } });
    const bytes = (await nodeProtoCodec.encodeLarge?.(special, message)) as Uint8Array;
    expect(toJson(special, fromBinary(special, bytes))).toEqual({ single1: { ...rest, added: true } });
  });

  it("fail with the error of encoding at once", async () => {
    const invalid = { packed5: [...texts(5_000).map((_, i) => i), 2 ** 40] };
    const error = (run: () => unknown): string => {
      try {
        run();
      } catch (reason) {
        return String(reason);
      }
      return "no error";
    };
    for (const codec of [nodeProtoCodec, boundedProtoCodec]) {
      const reason = await codec.encodeLarge?.(proto3, invalid)?.catch(String);
      expect(reason).toBe(error(() => codec.encode(proto3, invalid)));
      expect(reason).toMatch(/packed_?5/);
    }
  });

  it("are small up to a few thousand values", () => {
    expect(nodeProtoCodec.encodeLarge?.(proto3, { single12: new Uint8Array(4_000_000) })).toBe(undefined);
    for (const codec of [nodeProtoCodec, boundedProtoCodec, json]) {
      expect(codec.encodeLarge?.(proto3, { loose9: texts(2_000) })).toBe(undefined);
    }
  });
});
