/** Arguments in JSON: the array of one, the bare object, and invalid bodies. */
import { create, type DescMessage } from "@bufbuild/protobuf";
import { DurationSchema, EmptySchema, ListValueSchema, ValueSchema } from "@bufbuild/protobuf/wkt";
import fc from "fast-check";
import type { Method } from "triple-es";
import { describe, expect, it } from "vitest";
import { GreetRequestSchema } from "../../examples/gen/greet/v1/greet_pb.ts";
import { GreetServiceDef } from "../../examples/gen/greet/v1/greet_triple.ts";
import { type Codec, jsonCodec, protoCodec } from "../../runtime/src/codec/codec.ts";
import { codecPayload, decodeArguments } from "../../runtime/src/http-rpc/arguments.ts";

const MAX_VALUES = 65_536;

import { greetRequest, jsonOf, routeGreeter, rpcRequest } from "../support/greeter.ts";

const { exchange } = routeGreeter();

async function answerTo(body: string | Uint8Array): Promise<unknown> {
  const answer = await exchange(rpcRequest({ body }));
  return [answer.status, await jsonOf(answer)];
}

describe("a body in JSON", () => {
  it.each([
    '[{"name":"Ada"}]',
    '{"name":"Ada"}',
    ' \r\n\t[ {"name" : "Ada"} ] ',
    '\uFEFF[{"name":"Ada"}]',
    '\uFEFF {"name":"Ada"}',
    '[{"name":"Ada","unknown":[{}]}]',
  ])("%j greets Ada", async (body) => {
    expect(await answerTo(body)).toEqual([200, { greeting: "Hello, Ada!" }]);
  });

  it.each(["[{}]", "{}"])("%j has defaults", async (body) => {
    expect(await answerTo(body)).toEqual([200, { greeting: "Hello, !" }]);
  });

  it.each([
    ["[]", 40],
    ["[{},{}]", 40],
    ["[null,{}]", 40],
    ["", 40],
    ["{", 25],
    ["[{}", 25],
    ["[{}] x", 25],
    ["null", 25],
    ["[null]", 25],
    ['"x"', 25],
    ['["x"]', 25],
    ["[[{}]]", 25],
    ["7", 25],
    ['{"name":7}', 25],
    ["name=Ada", 25],
    ["\0", 25],
  ])("%j is refused with status %i", async (body, status) => {
    expect(await answerTo(body)).toEqual([400, { status, message: expect.any(String), code: "invalid_argument" }]);
  });

  it("that is not UTF-8 is refused", async () => {
    const body = Uint8Array.from([...'[{"name":"'].map((c) => c.charCodeAt(0)).concat(0xe4, 0x22, 0x7d, 0x5d));
    expect(await answerTo(body)).toEqual([400, { status: 25, message: expect.any(String), code: "invalid_argument" }]);
  });

  it("reports the number of arguments", async () => {
    expect(await answerTo("[{},{},{}]")).toEqual([
      400,
      { status: 40, message: expect.stringContaining("3 arguments"), code: "invalid_argument" },
    ]);
  });
});

describe("any body in JSON", () => {
  it("has the same result as a bare object and as the only item of an array", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.string({ unit: "grapheme" }),
        fc.dictionary(fc.string(), fc.jsonValue()),
        async (name, rest) => {
          const argument = JSON.stringify({ ...rest, name });
          const greeted = [200, { greeting: `Hello, ${name}!` }];
          expect(await answerTo(argument)).toEqual(greeted);
          expect(await answerTo(`[${argument}]`)).toEqual(greeted);
        },
      ),
    );
  });

  it("is decoded or refused", async () => {
    const piece = fc.constantFrom(
      "[",
      "]",
      "{",
      "}",
      ",",
      ":",
      '"',
      "name",
      "null",
      "1",
      "\\",
      "\\u",
      "\ufeff",
      " ",
      "é",
    );
    const body = fc.oneof(
      fc.json().map((text) => text as string | Uint8Array),
      fc.json().map((text) => `[${text}]`),
      fc.array(piece).map((pieces) => pieces.join("")),
      fc.uint8Array(),
    );
    await fc.assert(
      fc.asyncProperty(body, async (bytes) => {
        const [status, answer] = (await answerTo(bytes)) as [number, object];
        expect([200, 400]).toContain(status);
        expect(Object.keys(answer)).toEqual(status === 200 ? ["greeting"] : ["status", "message", "code"]);
      }),
    );
  });
});

describe("a body in binary", () => {
  const headers = { "content-type": "application/proto" };

  it("is the unchanged message", async () => {
    const answer = await exchange(rpcRequest({ headers, body: greetRequest("Ada") }));
    expect([...(await answer.body.bytes(100))]).toEqual([0x0a, 11, ...new TextEncoder().encode("Hello, Ada!")]);
  });

  it("without bytes has defaults", async () => {
    expect((await exchange(rpcRequest({ headers, body: "" }))).status).toBe(200);
  });

  it("is decoded or refused", async () => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array(), async (body) => {
        expect([200, 400]).toContain((await exchange(rpcRequest({ headers, body }))).status);
      }),
    );
  });

  it("that is broken is refused with status 25", async () => {
    const answer = await exchange(rpcRequest({ headers, body: Uint8Array.of(0x0a, 0xff) }));
    expect([answer.status, await jsonOf(answer)]).toMatchObject([400, { status: 25 }]);
  });
});

describe("messages whose own JSON may be an array", () => {
  const decode = (type: DescMessage, json: string): unknown =>
    jsonCodec.values?.toValue(
      type,
      decodeArguments(jsonCodec, type, new TextEncoder().encode(json), MAX_VALUES) as object,
    );

  it.each<[DescMessage, string, unknown]>([
    [ListValueSchema, "[[1,2]]", [1, 2]],
    [ListValueSchema, "[1,2]", [1, 2]],
    [ListValueSchema, "[]", []],
    [ListValueSchema, "[[]]", []],
    [ValueSchema, "[[1]]", [1]],
    [ValueSchema, "[1]", 1],
    [ValueSchema, "[1,2]", [1, 2]],
    [ValueSchema, "7", 7],
    [ValueSchema, "null", null],
    [ValueSchema, "[null]", null],
    [DurationSchema, '["3s"]', "3s"],
    [DurationSchema, '"3s"', "3s"],
    [EmptySchema, "[{}]", {}],
  ])("%s reads %s", (type, json, value) => {
    expect(decode(type, json)).toEqual(value);
  });
});

describe("a client", () => {
  const encode = (codec: Codec, message: object, form: "array" | "object"): Uint8Array =>
    codecPayload(codec).encodeRequest(GreetServiceDef.methods["greet"] as Method, message, form);
  const text = (form: "array" | "object"): string => new TextDecoder().decode(encode(jsonCodec, { name: "Ada" }, form));

  it("sends the array of the specification, or the bare object", () => {
    expect(text("array")).toBe('[{"name":"Ada"}]');
    expect(text("object")).toBe('{"name":"Ada"}');
  });

  it("sends every message in a form that a server reads", () => {
    fc.assert(
      fc.property(
        fc.string({ unit: "grapheme" }),
        fc.constantFrom("array" as const, "object" as const),
        (name, form) => {
          for (const codec of [jsonCodec, protoCodec]) {
            const bytes = encode(codec, { name }, form);
            expect(decodeArguments(codec, GreetRequestSchema, bytes, MAX_VALUES)).toMatchObject({ name });
          }
        },
      ),
    );
  });

  it("sends binary unchanged", () => {
    const message = create(GreetRequestSchema, { name: "Ada" });
    expect(encode(protoCodec, message, "array")).toEqual(greetRequest("Ada"));
  });
});
