/**
 * Validation of requests by a server of sub-protocol A.
 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { codecNameIn, formatMilliseconds } from "../../runtime/src/http-rpc/headers.ts";
import {
  type Fields,
  type GivenRequest,
  GREET,
  greetRequest,
  jsonOf,
  routeGreeter,
  rpcRequest,
} from "../support/greeter.ts";
import { greeter } from "../support/server.ts";

const { exchange } = routeGreeter();

/** The HTTP status and, for a failure, the status in the body. */
async function outcome(given: GivenRequest, send = exchange): Promise<readonly [number, number?]> {
  const answer = await send(rpcRequest(given));
  if (answer.status === 200) return [200];
  return [answer.status, ((await jsonOf(answer)) as { status: number }).status];
}

describe("the content type", () => {
  it.each([
    "application/json",
    "application/json; charset=utf-8",
    "application/json;charset=UTF-8",
    'application/json; charset="utf-8"',
    "application/json ; charset=utf8 ; version=1",
    "application/json; charset=us-ascii",
    "APPLICATION/JSON",
    " application/json ",
  ])("%j is JSON", async (type) => {
    const answer = await exchange(rpcRequest({ headers: { "content-type": type } }));
    expect([answer.status, answer.headers.get("content-type")]).toEqual([200, "application/json"]);
    expect(await jsonOf(answer)).toEqual({ greeting: "Hello, Ada!" });
  });

  it.each([
    ["application/proto", "application/proto"],
    ["application/protobuf", "application/protobuf"],
    ["application/x-protobuf", "application/x-protobuf"],
    ["Application/Proto; messageType=x", "application/proto"],
    ["application/X-Protobuf; messageType=x", "application/x-protobuf"],
  ])("%j is binary, and the response has the same: %s", async (type, expected) => {
    const answer = await exchange(rpcRequest({ headers: { "content-type": type }, body: greetRequest("Ada") }));
    expect([answer.status, answer.headers.get("content-type")]).toEqual([200, expected]);
  });

  it.each([
    undefined,
    "",
    "text/json",
    "application/yaml",
    "application/json; charset=utf-16",
    "application/json; charset=iso-8859-1",
    "application/jsonx",
    "application/",
    "json",
    "application/grpcx",
    "application/json, application/json",
  ])("%j is unsupported media, answered with what is supported", async (type) => {
    const answer = await exchange(rpcRequest({ headers: { "content-type": type } }));
    expect([answer.status, answer.headers.get("accept-post")]).toEqual([
      415,
      "application/proto, application/json, multipart/form-data, application/x-www-form-urlencoded, text/plain, application/xml",
    ]);
    expect(answer.headers.getAll("content-type")).toEqual(["application/json; charset=utf-8"]);
    expect(await jsonOf(answer)).toMatchObject({ status: 40 });
  });

  const space = "\t ".repeat(30_000);
  it.each([
    [`application/json${space};charset=utf-8`, "json"],
    [`application/json;${space}charset${space}=${space}"UTF-8"${space}`, "json"],
    [`application/json;charset=${space}x`, undefined],
    [`application/json;charset=utf-8${space}x`, undefined],
    [`application/json${space}x`, undefined],
    ["application/json; charset=utf-8=", undefined],
    ["application/json; charset=", "json"],
    ["application/json; charset", "json"],
    ["application/json; charsets=x", "json"],
  ])("of a response has a codec, whatever spaces it has", (type, expected) => {
    expect(codecNameIn(type)).toBe(expected);
  });

  it("is read without a throw, whatever it is", () => {
    fc.assert(fc.property(fc.string(), (text) => void codecNameIn(`application/${text}`)));
  });
});

describe("the method", () => {
  it.each(["GET", "PUT", "DELETE", "HEAD", "OPTIONS", "PATCH", "post"])("%s is not allowed", async (method) => {
    const answer = await exchange(rpcRequest({ method }));
    expect([answer.status, answer.headers.get("allow")]).toEqual([405, "POST"]);
    expect(await jsonOf(answer)).toMatchObject({ status: 40, code: "unimplemented" });
  });
});

describe("the path", () => {
  it("may have a query, which is ignored", async () => {
    expect(await outcome({ path: `${GREET}?x=1/2` })).toEqual([200]);
  });

  it.each([
    "/",
    "",
    "*",
    "/greet.v1.GreetService",
    "/greet.v1.GreetService/",
    "/greet.v1.GreetService/greet",
    "/Greet.v1.GreetService/Greet",
    "//greet.v1.GreetService/Greet",
    "/greet.v1.GreetService/Greet/",
    "/greet.v1.GreetService/__proto__",
  ])("%j selects no method", async (path) => {
    expect(await outcome({ path })).toEqual([404, 60]);
    expect(await outcome({ path, method: "GET" })).toEqual([404, 60]);
  });

  it("selects a method exactly if it is the path of the method, for any text and any query", async () => {
    const part = fc.constantFrom(
      "/",
      "greet.v1.GreetService",
      "Greet",
      "greet",
      ".",
      "..",
      "%2F",
      "%47",
      ";",
      "#",
      "\\",
      "é",
      "",
    );
    const path = fc.oneof(
      fc.string(),
      fc.webPath(),
      fc.array(part).map((parts) => parts.join("")),
    );
    const query = fc.option(
      fc.string().map((text) => `?${text}`),
      { nil: "" },
    );
    await fc.assert(
      fc.asyncProperty(path, query, async (target, rest) => {
        const mine = target === GREET || target.startsWith(`${GREET}?`);
        expect(await outcome({ path: target + rest })).toEqual(mine ? [200] : [404, 60]);
        expect(await outcome({ path: GREET + rest })).toEqual([200]);
      }),
    );
  });

  it.each(["GreetTogether", "GreetOnArrival"])("of %s is refused with a hint at sub-protocol B", async (name) => {
    const answer = await exchange(rpcRequest({ path: `/greet.v1.GreetService/${name}` }));
    expect([answer.status, answer.headers.get("accept-post")]).toEqual([
      415,
      expect.stringContaining("application/grpc"),
    ]);
    expect(await jsonOf(answer)).toMatchObject({ code: "unimplemented", message: expect.stringContaining("gRPC") });
  });
});

describe("tri-protocol-version", () => {
  const strict = routeGreeter({}, { requireProtocolVersion: true }).exchange;
  const version = (value: string | undefined): GivenRequest => ({ headers: { "tri-protocol-version": value } });

  it.each(["1", "1.0", "1.0.0"])("may be %s", async (value) => {
    expect(await outcome(version(value))).toEqual([200]);
    expect(await outcome(version(value), strict)).toEqual([200]);
  });

  it.each(["", "0.1.0", "2", "1.1", "1.0.1", "10", "1.", "v1", "1.0.0.0", "1, 1"])("may not be %j", async (value) => {
    expect(await outcome(version(value))).toEqual([400, 40]);
    expect(await outcome(version(value), strict)).toEqual([400, 40]);
  });

  it("may be absent unless the server requires it", async () => {
    expect(await outcome(version(undefined))).toEqual([200]);
    expect(await outcome(version(undefined), strict)).toEqual([400, 40]);
  });
});

describe("the timeout", () => {
  let seen: number | undefined;
  const timed = routeGreeter({
    greet: (request, context) => {
      seen = context.timeoutMs();
      return greeter.greet(request, context);
    },
  }).exchange;

  /** Returns the timeout in the handler, in whole milliseconds, or the outcome if the handler was not called. */
  async function timeout(headers: Fields): Promise<number | undefined | readonly [number, number?]> {
    seen = undefined;
    const result = await outcome({ headers }, timed);
    return result[0] === 200 ? seen && Math.ceil(seen / 1000) * 1000 : result;
  }

  it.each([
    ["the specification's", { "tri-service-timeout": "5000" }, 5000],
    ["its sample's", { "rest-service-timeout": "5000" }, 5000],
    ["dubbo-go's", { "triple-timeout-ms": "5000" }, 5000],
    ["none", {}, undefined],
    [
      "the smallest of several",
      { "tri-service-timeout": "9000", "rest-service-timeout": "7000", "triple-timeout-ms": "8000" },
      7000,
    ],
    ["with leading zeros", { "tri-service-timeout": "0000005000" }, 5000],
    ["the longest", { "tri-service-timeout": "9999999999" }, 9_999_999_999],
    ["Java's Long.MAX_VALUE", { "tri-service-timeout": "9223372036854775807" }, 9_999_999_999],
    ["a thousand digits", { "tri-service-timeout": "1".repeat(1_000) }, 9_999_999_999],
    ["a small one after many zeros", { "tri-service-timeout": "5000".padStart(30, "0") }, 5000],
    ["a small one beside a long one", { "tri-service-timeout": "9".repeat(19), "rest-service-timeout": "5000" }, 5000],
  ])("is read from its header: %s", async (_which, headers, expected) => {
    const read = await timeout(headers);
    if (expected === 9_999_999_999) expect(read).toBeGreaterThan(9_999_990_000);
    else expect(read).toBe(expected);
  });

  it("is a positive integer", async () => {
    const name = fc.constantFrom("tri-service-timeout", "rest-service-timeout", "triple-timeout-ms");
    const digits = fc.stringMatching(/^[0-9]{0,4}[1-9][0-9]{3}$/);
    await fc.assert(
      fc.asyncProperty(name, digits, async (header, value) => {
        expect(await outcome({ headers: { [header]: value } }, timed)).toEqual([200]);
      }),
    );
  });

  it("is nothing else", async () => {
    const complement = fc
      .oneof(
        fc.string(),
        fc.stringMatching(/^0{1,20}$/),
        fc.stringMatching(/^[0-9]{11,20}[a-z]$/),
        fc.stringMatching(/^[0-9]{1,8}[HMSmun]$/),
        fc.constant(`${"1".repeat(15_000)}x`),
        fc.constantFrom("", "-1", "+1", "1.5", "1e3", "0x10", " 1", "1 ", "1, 2", "１", "null"),
      )
      .filter((value) => !/^(?=.*[1-9])[0-9]+$/.test(value));
    await fc.assert(
      fc.asyncProperty(complement, async (value) => {
        expect(await outcome({ headers: { "tri-service-timeout": value } }, timed)).toEqual([400, 40]);
      }),
    );
  });

  it("is invalid if one of its headers is, even if another is valid", async () => {
    expect(await timeout({ "tri-service-timeout": "5000", "triple-timeout-ms": "x" })).toEqual([400, 40]);
  });

  it("is written in the grammar, and never shorter than requested", () => {
    fc.assert(
      fc.property(fc.double({ min: 0, max: 1e12, noNaN: true }), (ms) => {
        const value = formatMilliseconds(ms);
        expect(value).toMatch(/^[1-9][0-9]{0,9}$/);
        expect(Number(value)).toBeGreaterThanOrEqual(Math.min(ms, 9_999_999_999));
      }),
    );
  });
});

describe("the headers", () => {
  const many = (count: number): Fields => Object.fromEntries(Array.from({ length: count }, (_, i) => [`x-${i}`, "1"]));

  it("may have 100 fields, including the content type", async () => {
    expect(await outcome({ headers: many(99) })).toEqual([200]);
  });

  it("are too many from 101 fields on", async () => {
    const answer = await exchange(rpcRequest({ headers: many(100) }));
    expect([answer.status, await jsonOf(answer)]).toEqual([
      431,
      { status: 40, message: expect.stringContaining("101"), code: "resource_exhausted" },
    ]);
  });

  it("are too large beyond 16 KiB", async () => {
    expect(await outcome({ headers: { big: "x".repeat(16_000) } })).toEqual([200]);
    expect(await outcome({ headers: { big: "x".repeat(16_384) } })).toEqual([431, 40]);
  });

  it.each(["*", "A", "AQ=", "AQ==, *"])("have base64 in names that end in -bin, unlike %j", async (value) => {
    expect(await outcome({ headers: { "trace-bin": value } })).toEqual([400, 40]);
  });

  it.each([
    ["trace", "é"],
    ["trace", "a\tb"],
    ["trace", "\x7f"],
    ["tra!ce", "1"],
    ["tracé", "1"],
  ])("have the grammar of metadata, unlike %s: %j", async (name, value) => {
    expect(await outcome({ headers: { [name]: value } })).toEqual([400, 40]);
  });

  it.each(["cookie", "referer", "user-agent"])("may contain non-ASCII text in %s", async (name) => {
    expect(await outcome({ headers: { [name]: "grün; a=é" } })).toEqual([200]);
  });

  it("may have every name and value of the grammar", async () => {
    const name = fc.stringMatching(/^x-[0-9a-z_.-]{0,20}$/).filter((one) => !one.endsWith("-bin"));
    const value = fc.stringMatching(/^[ -~]{0,40}$/);
    await fc.assert(
      fc.asyncProperty(name, value, async (field, text) => {
        expect(await outcome({ headers: { [field]: text } })).toEqual([200]);
      }),
    );
  });

  it.each(["AQ", "AQ==", "AQ,AQ==", ""])("may have base64 like %j", async (value) => {
    expect(await outcome({ headers: { "trace-bin": value } })).toEqual([200]);
  });

  it("never cause the response to fail, for any values", async () => {
    const names = fc.constantFrom(
      "content-type",
      "accept-encoding",
      "content-encoding",
      "tri-protocol-version",
      "tri-service-version",
      "x-bin",
      "x",
    );
    await fc.assert(
      fc.asyncProperty(fc.dictionary(names, fc.string()), fc.string(), async (headers, body) => {
        const { errors, exchange } = routeGreeter();
        const answer = await exchange(rpcRequest({ headers, body }));
        expect(answer.status).toBeGreaterThanOrEqual(200);
        expect(errors).toEqual([]);
      }),
    );
  });
});

describe("version and group", () => {
  it("select one of several services of the same name", async () => {
    const one = routeGreeter({ greet: () => ({ greeting: "one" }) }, {}, { version: "1", group: "g" }).exchange;
    const selected = (version?: string, group?: string): GivenRequest => ({
      headers: { "tri-service-version": version, "tri-service-group": group },
    });
    expect(await outcome(selected("1", "g"), one)).toEqual([200]);
    expect(await outcome(selected("1"), one)).toEqual([404, 60]);
    expect(await outcome(selected("2", "g"), one)).toEqual([404, 60]);
    expect(await outcome(selected(), one)).toEqual([404, 60]);
    expect(await outcome(selected("1", "g"))).toEqual([404, 60]);
    expect(await outcome(selected("", ""))).toEqual([200]);
  });
});

it("a response of sub-protocol A has x-content-type-options: nosniff", async () => {
  for (const given of [{}, { path: "/nowhere" }, { method: "GET" }]) {
    expect((await exchange(rpcRequest(given))).headers.get("x-content-type-options")).toBe("nosniff");
  }
});
