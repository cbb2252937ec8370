/** Arguments and results of methods without IDL in sub-protocol A, in bodies other than JSON. */
import fc from "fast-check";
import { createRouter, type ServiceOptions } from "triple-es";
import {
  type InterfaceMethod,
  interfacePayload,
  type JavaClass,
  type JavaType,
  jsonSerialization,
  type ServiceDef,
} from "triple-es-dubbo/java";
import { describe, expect, it } from "vitest";
import { type Bytes, type Fields, rpcRequest, textOf } from "../support/greeter.ts";
import { EVERY_BODY } from "../support/parameters.ts";
import { Color, Everything, everything, ShopDef, shop, User } from "../support/shop.ts";

const FORM = "application/x-www-form-urlencoded";
const MULTIPART = "multipart/form-data; boundary=x";
const XML = "application/xml";

/** Has a field whose name is invalid in XML. */
const Shoe: JavaClass = { name: "com.acme.Shoe", fields: { größe: "int" } };
const Odd: JavaClass = { name: "com.acme.Outer$Odd", fields: { $id: "int" } };

/** A method for each of these types, which returns its argument. */
const ECHOES: Readonly<Record<string, JavaType>> = {
  string: "java.lang.String",
  long: "long",
  boxed: "java.lang.Integer",
  bool: "boolean",
  char: "char",
  date: "java.util.Date",
  decimal: "java.math.BigDecimal",
  bytes: "[B",
  byteArray: { array: "byte" },
  chars: { array: "char" },
  strings: { list: "java.lang.String" },
  ints: { array: "int" },
  files: { list: "[B" },
  boxedBytes: { array: "java.lang.Byte" },
  boxedFiles: { list: { array: "java.lang.Byte" } },
  rows: { list: { list: "int" } },
  users: { list: { class: () => User } },
  counts: { map: ["java.lang.String", "int"] },
  color: { enum: Color },
  user: { class: () => User },
  shoe: { class: () => Shoe },
  odd: { class: () => Odd },
  any: "java.lang.Object",
};

function method(name: string, type: JavaType): InterfaceMethod {
  const signature = { parameters: [{ name: "value", type }], result: type };
  const [service, path] = ["com.acme.Echo", `/com.acme.Echo/${name}`];
  return { kind: "unary", service, name, path, payload: interfacePayload, signature };
}

const EchoDef: ServiceDef<object, Record<string, (value: never) => unknown>> = {
  typeName: "com.acme.Echo",
  methods: Object.fromEntries(Object.entries(ECHOES).map(([name, type]) => [name, method(name, type)])),
};

const echo = Object.fromEntries(Object.keys(ECHOES).map((name) => [name, (value: unknown) => value]));

/** Sends a body to a method, with the header that proves its origin. */
function open(options: ServiceOptions = { bodies: EVERY_BODY }) {
  const router = createRouter().add(ShopDef, shop, options).add(EchoDef, echo, options);
  return async (path: string, contentType: string, body: Bytes, headers: Fields = {}) => {
    const service = path.replace(/~.*/, "") in ECHOES ? "com.acme.Echo" : "com.acme.Shop";
    const fields = { "content-type": contentType, "tri-protocol-version": "1.0.0", ...headers };
    const response = await router.exchange(rpcRequest({ path: `/${service}/${path}`, headers: fields, body }));
    const { status } = response;
    return {
      status,
      type: response.headers.get("content-type"),
      text: await textOf(response),
      headers: response.headers,
    };
  };
}

const send = open();

const part = (name: string, type: string, value: string): string =>
  `--x\r\ncontent-disposition: form-data; name="${name}"\r\ncontent-type: ${type}\r\n\r\n${value}\r\n`;
const multipart = (...parts: string[]): string => `${parts.join("")}--x--\r\n`;

describe("arguments by name", () => {
  // One row for each way to select a parameter, and for each kind of type.
  it.each([
    ["sayHi", FORM, "greeting=Hi&name=Zo%C3%AB+%26+Co&other=1", '"Hi, Zoë & Co!"'],
    ["sayHi", FORM, "0=Ann&1=Hi", '"Hi, Ann!"'],
    ["find", FORM, "from=3&to=7", '{"friends":null,"id":null,"age":4,"name":"between"}'],
    ["find~S", FORM, "name=5", '{"friends":[],"id":null,"age":2,"name":"5"}'],
    ["reset", FORM, "a=b", "null"],
    ["total", FORM, "prices=1.5&prices=2", "3.5"],
    ["string", FORM, "value=", '""'],
    ["long", FORM, "value=9007199254740993", '"9007199254740993"'],
    ["boxed", FORM, "value=+", "null"],
    ["bool", FORM, "value=on", "true"],
    ["char", FORM, "value=%20", '" "'],
    ["date", FORM, "value=894621091000", "894621091000"],
    ["date", FORM, "value=1998-05-08T09%3A51%3A31Z", "894621091000"],
    ["decimal", FORM, "value=12.50", '"12.50"'],
    ["bytes", FORM, "value=AQID", "[1,2,3]"],
    ["chars", FORM, "value=hi", '"hi"'],
    ["strings", FORM, "value=a&value=", '["a",""]'],
    ["ints", FORM, "value=1&value=-1", "[1,-1]"],
    ["rows", FORM, "value=[1,2]&value=[]", "[[1,2],[]]"],
    ["color", FORM, "value=RED", '"RED"'],
    ["any", FORM, "value=1", '"1"'],
    ["counts", FORM, "a=1&__proto__=2", '{"a":1,"__proto__":2}'],
    ["counts", FORM, "", "{}"],
    ["counts", FORM, 'value={"a":1}', '{"a":1}'],
    ["user", FORM, "name=Ann&age=3&id=&other=1", '{"friends":null,"id":null,"age":3,"name":"Ann"}'],
    [
      "user",
      FORM,
      'value={"age":3,"id":9007199254740993}',
      '{"friends":null,"id":"9007199254740993","age":3,"name":null}',
    ],
    [
      "users",
      FORM,
      'value={"age":1}&value={"age":2}',
      '[{"friends":null,"id":null,"age":1,"name":null},{"friends":null,"id":null,"age":2,"name":null}]',
    ],
    [
      "sayHi",
      MULTIPART,
      multipart(part("name", "text/plain", "Zoë"), part("greeting", "application/json", '"Hi"')),
      '"Hi, Zoë!"',
    ],
    ["sayHi", MULTIPART, multipart(part("a", "text/plain", "Ann"), part("b", "text/plain", "Hi")), '"Hi, Ann!"'],
    [
      "total",
      MULTIPART,
      multipart(part("prices", "application/json", "[1,2]"), part("prices", "text/plain", "3")),
      "6",
    ],
    ["bytes", MULTIPART, multipart(part("value", "application/octet-stream", "abc")), "[97,98,99]"],
    ["byteArray", MULTIPART, multipart(part("value", "text/plain", "[1]")), "[91,49,93]"],
    ["files", MULTIPART, multipart(part("value", "image/png", "a"), part("value", "image/png", "b")), "[[97],[98]]"],
    ["boxedBytes", MULTIPART, multipart(part("value", "image/png", "aÿ")), "[97,-61,-65]"],
    ["boxedBytes", MULTIPART, multipart(part("value", "application/json", "[1]")), "[91,49,93]"],
    ["boxedBytes", FORM, "value=1&value=-1", "[1,-1]"],
    [
      "boxedFiles",
      MULTIPART,
      multipart(part("value", "image/png", "a"), part("value", "image/png", "b")),
      "[[97],[98]]",
    ],
    ["user", MULTIPART, multipart(part("value", FORM, "age=3")), '{"friends":null,"id":null,"age":3,"name":null}'],
    [
      "user",
      MULTIPART,
      multipart(part("value", XML, "<x><age>3</age></x>")),
      '{"friends":null,"id":null,"age":3,"name":null}',
    ],
    [
      "users",
      MULTIPART,
      multipart(part("value", "text/xml", "<x><age>1</age></x>"), part("value", FORM, "age=2")),
      '[{"friends":null,"id":null,"age":1,"name":null},{"friends":null,"id":null,"age":2,"name":null}]',
    ],
    ["counts", MULTIPART, multipart(part("value", FORM, "a=1&b=2")), '{"a":1,"b":2}'],
    ["string", MULTIPART, multipart(part("value", "text/plain; charset=utf-16", "\0A")), '"A"'],
    [
      "user",
      MULTIPART,
      multipart(part("value", "application/json", '{"age":3}')),
      '{"friends":null,"id":null,"age":3,"name":null}',
    ],
    ["user", MULTIPART, multipart(part("age", "text/plain", "3")), '{"friends":null,"id":null,"age":3,"name":null}'],
    ["string", "text/plain", "Zoë", '"Zoë"'],
    ["string", "text/plain; charset=utf-16", Uint8Array.of(0xfe, 0xff, 0, 65), '"A"'],
    ["string", "text/plain", "", '""'],
    ["find", "text/plain", "5", '{"friends":[],"id":null,"age":2,"name":"5"}'],
  ] as const)("are read for %s from %s: %s", async (path, contentType, body, text) => {
    expect(await send(path, contentType, body)).toMatchObject({ status: 200, type: "application/json", text });
  });

  it.each([
    ["sayHi", FORM, "a=1", 400, 40, "the body has 1 values of unknown names, and the method takes 2: name, greeting"],
    ["sayHi", FORM, "name=a&name=b", 400, 40, 'parameter "name" is given more than once'],
    ["sayHi", FORM, "name=%ff", 400, 25, "is not percent-encoded UTF-8"],
    ["sayHi", `${FORM}; charset=gbk`, "name=a", 415, 40, 'charset "gbk" is not supported in a form'],
    ["bool", FORM, "value=maybe", 400, 25, 'argument "value": "maybe" is not a boolean'],
    ["long", FORM, "value=", 400, 25, 'argument "value": null is not a valid long'],
    ["user", FORM, "value={", 400, 25, 'argument "value": '],
    ["user", FORM, `value=${'{"friends":['.repeat(60)}`, 400, 25, "more than 100 levels deep"],
    ["find", FORM, "id=x", 400, 25, 'argument "id": "x" is not a valid long'],
    ["find", FORM, "0=5", 404, 60, "has no overload with these arguments"],
    ["find", FORM, "id=5&name=a", 400, 40, "the arguments fit several overloads"],
    [
      "user",
      MULTIPART,
      multipart(part("value", "image/png", "")),
      415,
      40,
      'image/png is not supported for the part "value"',
    ],
    ["user", MULTIPART, "--x", 400, 40, "the body does not have parts"],
    ["long", "text/plain", "5", 400, 40, "text/plain is for methods with one parameter, a string"],
    ["sayHi", "text/plain", "5", 400, 40, "text/plain is for methods with one parameter, a string"],
    ["string", "text/plain; charset=nothing", "5", 415, 40, 'charset "nothing"'],
    [
      "sayHi",
      XML,
      "<a><b/></a>",
      400,
      40,
      "the body has 1 values of unknown names, and the method takes 2: name, greeting",
    ],
    ["user", XML, "<!DOCTYPE a><a/>", 400, 25, "document type"],
    ["user", XML, "<a><age><b/></age></a>", 400, 25, 'element "b" stands where text is expected'],
    ["counts", XML, "<a><entry/></a>", 400, 25, "has no key or no value"],
  ] as const)("are refused for %s in %s: %s", async (path, contentType, body, httpStatus, status, message) => {
    const answer = await send(path, contentType, body);
    expect(answer.status).toBe(httpStatus);
    expect(JSON.parse(answer.text)).toMatchObject({ status, message: expect.stringContaining(message) });
  });

  it("are read from the bodies that a service accepts, by default from all", async () => {
    const byDefault = await open({})("sayHi", FORM, "name=a&greeting=b");
    expect(byDefault.status).toBe(200);
    const none = await open({ bodies: [] })("sayHi", XML, "<a/>");
    expect([none.status, none.headers.get("accept-post")]).toEqual([415, "application/json"]);
  });

  it.each([FORM, MULTIPART, "text/plain"])("in %s are refused from a page of another site", async (contentType) => {
    const headers = { "tri-protocol-version": undefined, "sec-fetch-site": "cross-site" };
    expect((await send("string", contentType, "", headers)).status).toBe(403);
  });

  it("are decoded or refused for any body", async () => {
    const kinds = [FORM, MULTIPART, "text/plain", XML];
    const start = fc.constantFrom("", "value=", "--x\r\n", "<a>", "<a><value>");
    const paths = fc.constantFrom("sayHi", "find", "echo", ...Object.keys(ECHOES).filter((name) => name !== "odd"));
    await fc.assert(
      fc.asyncProperty(paths, fc.constantFrom(...kinds), start, fc.string(), async (path, kind, before, text) => {
        const answer = await send(path, kind, before + text);
        expect([200, 400, 404, 415], answer.text).toContain(answer.status);
      }),
      { numRuns: 1_000 },
    );
  });
});

describe("XML", () => {
  const xml = (content: string): string => `<?xml version="1.0" encoding="UTF-8"?>${content}`;

  it.each([
    ["sayHi", "<any><greeting>Hi</greeting><name>Zoë</name></any>", '"Hi, Zoë!"'],
    [
      "user",
      "<user><age>3</age><friends><age>1</age></friends><friends/></user>",
      '{"friends":[{"friends":null,"id":null,"age":1,"name":null},{"friends":null,"id":null,"age":0,"name":null}],"id":null,"age":3,"name":null}',
    ],
    ["user", "<r><value><age>3</age></value></r>", '{"friends":null,"id":null,"age":3,"name":null}'],
    ["strings", "<list><item>a</item><item/></list>", '["a",""]'],
    ["strings", "<r><value>a</value><value>b</value></r>", '["a","b"]'],
    ["rows", "<r><item><item>1</item><item>2</item></item><item/></r>", "[[1,2],[]]"],
    ["rows", "<r><value><item>1</item></value></r>", "[[1]]"],
    ["counts", "<map><entry><key>a</key><value>1</value></entry></map>", '{"a":1}'],
    ["bool", "<r>false</r>", "false"],
  ])("is read for %s: %s", async (path, body, text) => {
    expect(await send(path, XML, body, { accept: "application/json" })).toMatchObject({ status: 200, text });
  });

  it.each([
    ["string", '"a < b"', "<string>a &lt; b</string>"],
    ["string", "[null]", "<string/>"],
    ["long", "[5]", "<long>5</long>"],
    ["bytes", "[[1]]", "<value>AQ==</value>"],
    ["chars", '"hi"', "<value>hi</value>"],
    ["strings", '[["a","b"]]', "<list><item>a</item><item>b</item></list>"],
    ["rows", "[[[1,2]]]", "<list><item><item>1</item><item>2</item></item></list>"],
    ["counts", '[{"a":1}]', "<map><entry><key>a</key><value>1</value></entry></map>"],
    ["user", '{"age":3}', "<user><age>3</age></user>"],
    ["shoe", '{"größe":42}', "<shoe><größe>42</größe></shoe>"],
    ["any", '[{"a":[1]}]', '<object>{"a":[1]}</object>'],
    ["reset", "[]", "<void/>"],
  ])("is written for %s: %s", async (path, body, content) => {
    expect(await send(path, "application/json", body, { accept: XML })).toMatchObject({
      status: 200,
      type: XML,
      text: xml(content),
    });
  });

  it("has no names for some fields", async () => {
    const answer = await send("odd", "application/json", '{"$id":1}', { accept: XML });
    expect(answer.status).toBe(500);
    expect(answer.text).toContain("cannot name an element of XML");
  });

  it("round-trips a value of every type", async () => {
    const values = [everything, { ...everything, double: Number.NEGATIVE_INFINITY, float: Number.NaN, text: "INF" }];
    for (const value of values) {
      const json = jsonSerialization.encode({ class: () => Everything }, value);
      const written = await send("echo", "application/json", json, { accept: XML });
      const read = await send("echo", XML, written.text, { accept: "application/json" });
      expect(read.text).toBe((await send("echo", "application/json", json)).text);
      expect((await send("echo", XML, written.text)).text).toBe(written.text);
    }
  });
});

it("a string is returned as text if the client accepts it", async () => {
  const answer = await send("string", "text/plain", "Zoë", { accept: "text/plain" });
  expect(answer).toMatchObject({ status: 200, type: "text/plain; charset=utf-8", text: "Zoë" });
  expect((await send("long", "application/json", "[1]", { accept: "text/plain" })).status).toBe(406);
});
