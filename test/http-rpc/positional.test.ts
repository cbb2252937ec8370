/** JSON arguments of methods without IDL in sub-protocol A: by position, by name, bare, and with overloads. */
import fc from "fast-check";
import { createInMemoryTransport, createRouter, Metadata } from "triple-es";
import { createTransport } from "triple-es/fetch";
import { hessian2 } from "triple-es-dubbo/hessian2";
import { type JavaType, jsonSerialization } from "triple-es-dubbo/java";
import { msgpack } from "triple-es-dubbo/msgpack";
import { describe, expect, it } from "vitest";
import { WholeBody } from "../../runtime/src/http/body.ts";
import { createShopClient, Everything, everything, ShopDef, type ShopHandler, shop } from "../support/shop.ts";

const serving = (handler: Partial<ShopHandler> = {}) => createRouter().add(ShopDef, { ...shop, ...handler });

interface Answer {
  readonly status: number;
  readonly headers: Metadata;
  readonly text: string;
}

async function post(
  path: string,
  body: string,
  headers: Readonly<Record<string, string>> = {},
  router = serving(),
): Promise<Answer> {
  const response = await router.exchange({
    method: "POST",
    path: `/com.acme.Shop/${path}`,
    version: "1.1",
    headers: new Metadata({ "content-type": "application/json", ...headers }),
    body: new WholeBody(Buffer.from(body)),
    signal: undefined,
  });
  return {
    status: response.status,
    headers: response.headers,
    text: Buffer.from(await response.body.bytes(2 ** 20)).toString(),
  };
}

const ANN = { friends: [], id: null, age: 2, name: "Ann" };

describe("arguments in JSON", () => {
  it.each([
    ["by position", "sayHi", '["Ann","Hi"]', '"Hi, Ann!"'],
    ["by name", "sayHi", '{"greeting":"Hi","name":"Ann","other":1}', '"Hi, Ann!"'],
    ["a single parameter, in an array", "total", "[[1,2]]", "3"],
    ["a single parameter, by name", "total", '{"prices":[1,2]}', "3"],
    ["a single parameter, bare", "total", "[1,2]", "3"],
    ["a single parameter, bare, in an array of one", "total", "[1]", "1"],
    ["that are not there", "reset", "", "null"],
    ["that are not there, in an array", "reset", "[]", "null"],
    ["for a method without parameters", "reset", '{"a":1}', "null"],
    ["for the overload with that number", "find", "[3,7]", '{"friends":null,"id":null,"age":4,"name":"between"}'],
    [
      "for the overload with those names",
      "find",
      '{"to":7,"from":3}',
      '{"friends":null,"id":null,"age":4,"name":"between"}',
    ],
    ["for the overload with those types", "find", '["Ann"]', JSON.stringify(ANN)],
    ["for the overload that the path names", "find~S", '["5"]', '{"friends":[],"id":null,"age":2,"name":"5"}'],
  ])("are read %s", async (_how, path, body, text) => {
    expect(await post(path, body)).toMatchObject({ status: 200, text });
  });

  it.each([
    ["too few", "sayHi", '["Ann"]', 400, 40, "the body has 1 arguments; it must be a JSON array with 2"],
    ["too many", "sayHi", '["a","b","c"]', 400, 40, "the body has 3 arguments; it must be a JSON array with 2"],
    ["none", "sayHi", "", 400, 40, "the body is empty; it must be a JSON array of the arguments"],
    ["no array", "sayHi", '"Ann"', 400, 40, "the body has no array; it must be a JSON array with 2"],
    ["a type that is wrong", "sayHi", '["Ann",1]', 400, 25, 'argument "greeting": 1 is not a valid java.lang.String'],
    ["null for a primitive", "find~l", "[null]", 400, 25, 'argument "id": null is not a valid long'],
    ["more than a type holds", "find~ii", "[1,2147483648]", 400, 25, 'argument "to": 2147483648 is not a valid int'],
    ["no JSON", "sayHi", "[", 400, 25, "the arguments of /com.acme.Shop/sayHi"],
    ["JSON that is too deep", "echo", `[${'{"user":{"friends":['.repeat(60)}`, 400, 25, "more than 100 levels deep"],
    ["a number that no overload has", "find", "[1,2,3]", 404, 60, "has no overload with these arguments"],
    ["types that no overload has", "find", "[true]", 404, 60, "has no overload with these arguments"],
    ["too many for one", "find~l", "[1,2]", 400, 40, "the body has 2 arguments; it must be a JSON array with 1"],
    ["none for one", "find~l", "[]", 400, 40, "the body has 0 arguments; it must be a JSON array with 1"],
  ])("are refused with %s", async (_what, path, body, httpStatus, status, message) => {
    const answer = await post(path, body);
    expect(answer.status).toBe(httpStatus);
    expect(JSON.parse(answer.text)).toMatchObject({ status, message: expect.stringContaining(message) });
  });

  it.each(["application/proto", "application/yaml", "text/html"])("are not read as %s", async (contentType) => {
    const answer = await post("sayHi", "{}", { "content-type": contentType });
    expect(answer.status).toBe(415);
    expect(answer.headers.get("accept-post")).toBe(
      "application/json, multipart/form-data, application/x-www-form-urlencoded, text/plain, application/xml",
    );
  });

  it("are answered in JSON, and not in the server's other codecs", async () => {
    expect((await post("reset", "[]", { accept: "application/proto" })).status).toBe(406);
    expect((await post("reset", "[]", { "content-type": "Application/JSON; charset=utf-8" })).status).toBe(200);
  });

  it("decode or refuse any JSON, and do not change prototypes", async () => {
    // These handlers never fail, so that every rejection comes from the runtime.
    const router = serving({ total: () => 0, echo: () => everything, find: () => null, findBetween: () => null });
    const before = Object.getOwnPropertyNames(Object.prototype);
    await fc.assert(
      fc.asyncProperty(fc.json(), fc.constantFrom("echo", "sayHi", "find", "total"), async (body, path) => {
        expect([200, 400, 404]).toContain((await post(path, body, {}, router)).status);
      }),
      { numRuns: 300 },
    );
    await post("echo", '[{"__proto__":{"flag":true},"constructor":{"prototype":{"x":1}}}]', {}, router);
    expect(Object.getOwnPropertyNames(Object.prototype)).toEqual(before);
  });
});

describe("values in JSON", () => {
  const read = (type: JavaType, text: string): unknown => jsonSerialization.decode(type, Buffer.from(text));
  const written = (type: JavaType, value: unknown): string =>
    Buffer.from(jsonSerialization.encode(type, value)).toString();

  it.each<[JavaType, string, unknown]>([
    ["long", "9223372036854775807", 9_223_372_036_854_775_807n],
    ["long", '"9223372036854775807"', 9_223_372_036_854_775_807n],
    ["long", "5", 5n],
    ["double", '"NaN"', Number.NaN],
    ["double", "0.1234567890123456", 0.1234567890123456],
    ["java.math.BigDecimal", "12345678901234567890.50", "12345678901234567890.50"],
    ["java.math.BigInteger", "123456789012345678901234567890", "123456789012345678901234567890"],
    ["java.util.Date", "5", new Date(5)],
    ["java.util.Date", '"1998-05-08T09:51:31.000Z"', new Date(894_621_091_000)],
    ["java.util.Date", '"1998-05-08 09:51:31"', new Date(1998, 4, 8, 9, 51, 31)],
    ["[B", "[1,-1]", Uint8Array.of(1, 255)],
    ["[B", '"Af8="', Uint8Array.of(1, 255)],
    [{ array: "char" }, '"hi"', ["h", "i"]],
    [{ array: "char" }, '["h","i"]', ["h", "i"]],
    [
      { map: ["java.lang.Integer", "int"] },
      "{1:2, 3 :4}",
      new Map([
        [1, 2],
        [3, 4],
      ]),
    ],
    [{ map: ["java.lang.Boolean", "int"] }, '{"true":2}', new Map([[true, 2]])],
    ["java.lang.Object", '{"a":[0.1,"1234567890123456 1:"]}', { a: [0.1, "1234567890123456 1:"] }],
    ["java.lang.String", '"\\"12345678901234567890\\":"', '"12345678901234567890":'],
  ])("are read as Java writes them: %j %s", (type, text, value) => {
    expect(read(type, text)).toEqual(value);
  });

  it.each<[JavaType, unknown, string]>([
    ["long", 5n, "5"],
    ["long", 2n ** 60n, '"1152921504606846976"'],
    ["double", Number.POSITIVE_INFINITY, '"Infinity"'],
    ["[B", Uint8Array.of(1, 255), "[1,-1]"],
    ["java.util.Date", new Date(5), "5"],
    [{ set: "int" }, new Set([1, 2]), "[1,2]"],
    [{ map: ["java.lang.Long", "int"] }, new Map([[2n ** 60n, 1]]), '{"1152921504606846976":1}'],
    ["java.lang.Object", { a: [1n, new Set(["x"]), null] }, '{"a":[1,["x"],null]}'],
  ])("are written as Java reads them: %j %s", (type, value, text) => {
    expect(written(type, value)).toBe(text);
  });

  it("leave missing fields as Java does, and ignore unknown ones", () => {
    const value = read({ class: () => Everything }, '{"int":5,"more":1}');
    expect(value).toMatchObject({ int: 5, long: 0n, flag: false, char: "\0", text: null, user: null });
  });

  it("are refused if they contain themselves", () => {
    const itself: unknown[] = [];
    itself.push(itself);
    expect(() => written("java.lang.Object", itself)).toThrow("more than 100 levels deep");
  });

  it.each([["json", jsonSerialization] as const, ["msgpack", msgpack] as const])(
    "survive a round trip through %s",
    (_name, serialization) => {
      const type: JavaType = { class: () => Everything };
      expect(serialization.decode(type, serialization.encode(type, everything))).toEqual(everything);
    },
  );

  it("are decoded or refused in MessagePack, for any bytes", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 100 }), (bytes) => {
        try {
          msgpack.decode("java.lang.Object", bytes);
        } catch (reason) {
          expect(reason).toBeInstanceOf(Error);
        }
      }),
      { numRuns: 2000 },
    );
  });
});

describe("a client of sub-protocol A", () => {
  it("sends the array of arguments as JSON with every codec", async () => {
    const sent: [string, string][] = [];
    const router = serving();
    const fetched = createTransport({
      baseUrl: "http://shop.example",
      fetch: async (url, init) => {
        const body = Buffer.from((init?.body ?? "") as Uint8Array).toString();
        sent.push([new URL(String(url)).pathname, body]);
        const answer = await post(String(url).slice("http://shop.example/com.acme.Shop/".length), body, {}, router);
        return new Response(answer.text, { headers: { "content-type": "application/json" } });
      },
    });
    const client = createShopClient(fetched);
    expect(await client.sayHi("Ann", "Hi")).toBe("Hi, Ann!");
    expect((await client.findByName("5"))?.name).toBe("5");
    expect(await client.total([1, 2])).toBe(3);
    expect(sent).toEqual([
      ["/com.acme.Shop/sayHi", '["Ann","Hi"]'],
      ["/com.acme.Shop/find~S", '["5"]'],
      ["/com.acme.Shop/total", "[[1,2]]"],
    ]);
  });

  it("learns that streams need the other sub-protocol", async () => {
    const transport = createInMemoryTransport(createRouter({ serializations: [hessian2] }), { protocol: "http-rpc" });
    const each = createShopClient(transport).count(1, 2)[Symbol.asyncIterator]();
    await expect(each.next()).rejects.toThrow("HTTP RPC is unary only");
  });
});
