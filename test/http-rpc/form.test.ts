import { type DescField, ScalarType } from "@bufbuild/protobuf";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { BodyJson } from "../../runtime/src/codec/bounded-codec.ts";
import { mapOfPairs, parseForm } from "../../runtime/src/http-rpc/body/form.ts";
import { routeParameters } from "../support/parameters.ts";

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);
const FORM = "application/x-www-form-urlencoded";
const send = routeParameters();

describe("a form", () => {
  it("is bound by name, by JSON name or name in the proto file", async () => {
    expect((await send("all", FORM, "fullName=Ada+L%C3%B6we&age=36")).body).toEqual({ fullName: "Ada Löwe", age: 36 });
    expect((await send("all", FORM, "full_name=Ada&other=x")).body).toEqual({ fullName: "Ada" });
  });

  it("is bound by position if no name matches", async () => {
    expect((await send("all", FORM, "a=Ada&b=36&c=7&d=0.5")).body).toEqual({
      fullName: "Ada",
      age: 36,
      big: "7",
      ratio: 0.5,
    });
    const { status, body } = await send("file", FORM, "a=1&b=&c=3");
    expect([status, body]).toMatchObject([
      400,
      {
        status: 40,
        message:
          "the body has 3 values of unknown names, and fixture.parameters.v1.FileParameters takes 2: name, content",
      },
    ]);
  });

  it("that is JSON, as curl sends it without a content type, is refused", async () => {
    for (const json of ['{"fullName":"Ada"}', ' [{"fullName":"a=b"}]']) {
      expect(await send("all", FORM, json)).toMatchObject({
        status: 400,
        body: {
          message: "the name of the first value begins like JSON; send JSON with content-type: application/json",
        },
      });
    }
  });

  it("is the map of a method that takes one", async () => {
    expect((await send("map", FORM, "a=1&b=%26&__proto__=x")).body).toEqual({
      labels: Object.fromEntries([
        ["a", "1"],
        ["b", "&"],
        ["__proto__", "x"],
      ]),
    });
    expect((await send("struct", FORM, "a=1&labels=")).body).toEqual({ a: "1", labels: "" });
    expect((await send("map", FORM, "")).body).toEqual({});
  });

  it("is refused as the map of bytes in base64 with a plus sign that is not escaped", () => {
    const map = { fieldKind: "map", scalar: ScalarType.BYTES } as DescField;
    const read = (form: string) => mapOfPairs({} as BodyJson, map, parseForm(bytesOf(form), 10));
    expect(read("a=%2B/8%3D")).toEqual({ a: "+/8=" });
    expect(() => read("a=+/8=")).toThrow("the base64 has a space; write + as %2B");
  });

  // One row for each type of field.
  it.each([
    ["big=-9223372036854775808", { big: "-9223372036854775808" }],
    ["unsigned=18446744073709551615", { unsigned: "18446744073709551615" }],
    ["ratio=1e3&share=-0.5", { ratio: 1000, share: -0.5 }],
    ["ratio=NaN&share=-Infinity", { ratio: "NaN", share: "-Infinity" }],
    ["active=true", { active: true }],
    ["active=on", { active: true }],
    ["active=false", {}],
    ["data=aGk%3D", { data: "aGk=" }],
    ["color=COLOR_RED", { color: "COLOR_RED" }],
    ["color=1", { color: "COLOR_RED" }],
    ["tags=a&tags=b&tags=", { tags: ["a", "b", ""] }],
    ["numbers=1&numbers=2", { numbers: [1, 2] }],
    ['counts={"a":1}', { counts: { a: 1 } }],
    ['child={"age":3}&children={"age":1}&children={}', { child: { age: 3 }, children: [{ age: 1 }, {}] }],
    [
      "time=2026-11-20T12:00:00Z&duration=1.5s&mask=fullName,age",
      { time: "2026-11-20T12:00:00Z", duration: "1.500s", mask: "fullName,age" },
    ],
    ["maybe=0", { maybe: 0 }],
    ['anything={"a":[1,null]}&value=[true]', { anything: { a: [1, null] }, value: [true] }],
    ["left=x", { left: "x" }],
    ["nickname=", { nickname: "" }],
    ["odd%20name=x", { "odd name": "x" }],
    ["age=&big=&active=&color=&time=&maybe=&child=&fullName=Ada", { fullName: "Ada" }],
    ["age", {}],
    ["&&fullName=Ada&", { fullName: "Ada" }],
  ])("%s is understood", async (form, message) => {
    const { status, body } = await send("all", FORM, form);
    expect([status, body]).toEqual([200, message]);
  });

  it.each([
    ["age=x", 25, 'parameter "age": "x" is not a number'],
    ["age=0x10", 25, "is not a number"],
    ["age=1.5", 25, "age"],
    ["age=99999999999", 25, "age"],
    ["active=maybe", 25, 'parameter "active": "maybe" is not a boolean; it must be true or false'],
    ["active=__proto__", 25, "is not a boolean"],
    ["color=BLUE", 25, "BLUE"],
    ["data=!", 25, "data"],
    ["data=+/8=", 25, 'parameter "data": the base64 has a space; write + as %2B'],
    ["files=AP8%3D&files=a+b", 25, "the base64 has a space"],
    ["child={", 25, 'parameter "child"'],
    ["counts=1", 25, "counts"],
    ["time=yesterday", 25, "google.protobuf.Timestamp"],
    ["left=a&right=aGk=", 25, "oneof"],
    ["fullName=a&fullName=b", 40, 'parameter "fullName" is given more than once'],
    ["fullName=a&full_name=b", 40, 'parameter "fullName" is given more than once'],
    ["fullName=%zz", 25, '"%zz" is not percent-encoded UTF-8'],
    ["fullName=%", 25, "is not percent-encoded UTF-8"],
    ["fullName=%ff", 25, "is not percent-encoded UTF-8"],
    ["%ff=a", 25, "is not percent-encoded UTF-8"],
    ["a=1&".repeat(1001), 40, "more than 1000 values"],
    [`child=${"[".repeat(500)}${"]".repeat(500)}`, 25, "more than 100 levels deep"],
  ])("%s is refused with the reason", async (form, errorStatus, message) => {
    const { status, body } = await send("all", FORM, form);
    expect([status, body]).toMatchObject([400, { status: errorStatus, message: expect.stringContaining(message) }]);
  });

  it("is one value for a method that takes one boxed value", async () => {
    expect((await send("text", FORM, "value=Ada")).body).toBe("Ada");
    expect((await send("text", FORM, "name=Ada")).body).toBe("Ada");
    expect((await send("text", FORM, "")).body).toBe("");
    expect((await send("text", FORM, "a=1&b=2")).status).toBe(400);
    expect((await send("text", FORM, "value=1&value=2")).status).toBe(400);
  });

  it("has no place in a method that takes any JSON", async () => {
    const multipart = '--b\r\nContent-Disposition: form-data; name="a"\r\n\r\n1\r\n--b--\r\n';
    expect((await send("struct", "multipart/form-data; boundary=b", multipart)).status).toBe(415);
  });

  it("is refused for a map if a key occurs twice", async () => {
    expect((await send("map", FORM, "a=1&a=2")).body).toMatchObject({
      status: 40,
      message: expect.stringContaining('"a"'),
    });
  });

  it("has at most as many values as bodyLimits.formValues", async () => {
    const few = routeParameters({}, { bodyLimits: { formValues: 2 } });
    expect((await few("all", FORM, "tags=a&tags=b")).status).toBe(200);
    expect((await few("all", FORM, "tags=a&tags=b&tags=c")).body).toMatchObject({
      message: "the form has more than 2 values",
    });
  });

  it("in another charset is unsupported media", async () => {
    expect((await send("all", `${FORM}; charset=utf-8`, "fullName=Ada")).status).toBe(200);
    expect((await send("all", `${FORM}; charset=gbk`, "fullName=Ada")).status).toBe(415);
  });

  it("agrees with URLSearchParams on everything that is well formed", () => {
    const pair = fc.tuple(fc.string({ unit: "grapheme", minLength: 1 }), fc.string({ unit: "grapheme" }));
    fc.assert(
      fc.property(fc.array(pair), (pairs) => {
        const parsed = parseForm(bytesOf(new URLSearchParams(pairs).toString()), 1_000);
        expect(parsed.map(({ name, value }) => [name, value])).toEqual(pairs);
      }),
    );
  });

  it("is parsed or refused", () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom(..."a=&%+2fé\0") }), (form) => {
        try {
          for (const { name, value } of parseForm(bytesOf(form), 1_000))
            expect([typeof name, typeof value]).toEqual(["string", "string"]);
        } catch (error) {
          expect((error as Error).message).toContain("percent-encoded");
        }
      }),
    );
  });

  it("leaves Object.prototype alone", async () => {
    const before = Object.getOwnPropertyNames(Object.prototype);
    for (const key of [
      "__proto__",
      "constructor",
      "prototype",
      "__proto__.x",
      "constructor[prototype][x]",
      "toString",
    ]) {
      for (const method of ["all", "map", "struct"] as const) {
        const body = `${encodeURIComponent(key)}=polluted&fullName=Ada`;
        expect((await send(method, FORM, body)).status).toBe(200);
      }
    }
    expect(Object.getOwnPropertyNames(Object.prototype)).toEqual(before);
    expect(({} as { x?: unknown }).x).toBeUndefined();
  });
});
