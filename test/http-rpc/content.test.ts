/** The content types of requests and responses of a method. */
import { createRouter, type ServiceOptions } from "triple-es";
import { describe, expect, it } from "vitest";
import { GreetServiceDef } from "../../examples/gen/greet/v1/greet_triple.ts";
import { ParametersServiceDef } from "../../fixtures/gen/fixture/parameters/v1/parameters_triple.ts";
import { routeGreeter, rpcRequest } from "../support/greeter.ts";
import { ECHO, EVERY_BODY, routeParameters } from "../support/parameters.ts";
import { greeter } from "../support/server.ts";

const JSON_BODY = '[{"fullName":"Ada"}]';
const XML_BODY = "<x><fullName>Ada</fullName></x>";
const MULTIPART = "multipart/form-data; boundary=b";
const MULTIPART_BODY = '--b\r\nContent-Disposition: form-data; name="fullName"\r\n\r\nAda\r\n--b--\r\n';

/** Spec: Additional request content types, in addition to those of the codecs. */
const BODIES: readonly (readonly [kind: string, contentType: string, body: string, response: string])[] = [
  ["multipart", MULTIPART, MULTIPART_BODY, "application/json"],
  ["form", "application/x-www-form-urlencoded", "fullName=Ada", "application/json"],
  ["xml", "application/xml", XML_BODY, "application/xml"],
];

describe("a method", () => {
  it.each(BODIES)("accepts %s if it is enabled", async (kind, contentType, body, expected) => {
    const bodies = [kind] as ServiceOptions["bodies"] & string[];
    const answer = await routeParameters({ bodies })("all", contentType, body);
    expect([answer.status, answer.contentType]).toEqual([200, expected]);
    expect(JSON.stringify(answer.body)).toContain("Ada");
  });

  it.each(BODIES)("refuses %s if it is not enabled, and names the supported types", async (kind, contentType, body) => {
    const bodies = EVERY_BODY.filter((one) => one !== kind);
    const { status, body: error, response } = await routeParameters({ bodies })("all", contentType, body);
    expect(status).toBe(415);
    expect(error).toMatchObject({ status: 40, message: expect.stringContaining(`${contentType} is not supported`) });
    expect(response.headers.get("accept-post")).toContain("application/json");
    expect(response.headers.get("accept-post")).not.toContain(contentType.replace(/;.*/, ""));
  });

  it("takes every kind of body by default", async () => {
    const send = routeParameters({ bodies: undefined });
    const statuses = await Promise.all(BODIES.map(async ([, type, body]) => (await send("all", type, body)).status));
    expect(statuses).toEqual([200, 200, 200]);
    expect((await send("text", "text/plain", "Ada")).status).toBe(200);
  });

  it("has the kinds of body that are set for the method", async () => {
    const send = routeParameters({ bodies: { map: ["xml"], text: [] } });
    const form = "application/x-www-form-urlencoded";
    expect((await send("map", form, "a=b")).status).toBe(415);
    expect((await send("all", form, "fullName=Ada")).status).toBe(200);
    expect((await send("all", "text/xml", XML_BODY)).status).toBe(200);
    expect((await send("text", "text/xml", "<x>Ada</x>")).status).toBe(415);
  });

  it("is not added with an unknown kind or method", () => {
    const add = (bodies: unknown) =>
      createRouter().add(ParametersServiceDef, ECHO, { bodies: bodies as readonly "form"[] });
    expect(() => add(["forms"])).toThrow('bodies: "forms" is not among: multipart, form, text, xml');
    expect(() => add({ Map: ["form"] })).toThrow('bodies: there is no "Map", did you mean "map"?');
    expect(() => add({ other: ["form"] })).toThrow('bodies: "other" is not among: all, map, struct, text, file');
  });
});

describe("accept", () => {
  const send = routeParameters();
  it.each([
    ["application/json", JSON_BODY, undefined, "application/json"],
    ["application/json", JSON_BODY, "*/*", "application/json"],
    ["application/json", JSON_BODY, "", "application/json"],
    ["application/json", JSON_BODY, "application/proto, application/json;q=0.1", "application/json"],
    ["application/json", JSON_BODY, "text/html,application/xml;q=0.9,*/*;q=0.8", "application/json"],
    ["application/json", JSON_BODY, "application/proto", "application/proto"],
    ["application/json", JSON_BODY, "application/x-protobuf", "application/x-protobuf"],
    ["application/json", JSON_BODY, "application/xml, application/proto;q=0.5", "application/xml"],
    ["application/json", JSON_BODY, "application/json;q=0, */*", "application/proto"],
    ["application/json", JSON_BODY, "text/*", "text/xml"],
    ["application/xml", XML_BODY, "application/json", "application/json"],
    ["application/xml", XML_BODY, undefined, "application/xml"],
    ["text/xml", XML_BODY, undefined, "text/xml"],
    ["text/xml; charset=utf-8", XML_BODY, undefined, "text/xml"],
    ["text/xml", XML_BODY, "application/xml", "application/xml"],
    ["text/xml", XML_BODY, "application/*", "application/xml"],
    ["text/xml", XML_BODY, "application/*, application/xml;q=0.5", "application/proto"],
    ["application/xml", XML_BODY, "text/*", "text/xml"],
    ["application/x-protobuf", "", undefined, "application/x-protobuf"],
    ["application/protobuf", "", "*/*;q=0.1", "application/protobuf"],
    ["application/protobuf", "", "application/proto", "application/proto"],
    ["application/x-www-form-urlencoded", "fullName=Ada", "application/xml", "application/xml"],
  ])(
    "selects the type of the response: a request in %s with %j and accept: %s gets %s",
    async (contentType, body, accept, expected) => {
      const answer = await send("all", contentType, body, { accept });
      expect([answer.status, answer.contentType]).toEqual([200, expected]);
    },
  );

  it("may ask for a text as text", async () => {
    const answer = await send("text", "text/plain", "Ada", { accept: "text/plain" });
    expect([answer.status, answer.contentType, answer.body]).toEqual([200, "text/plain; charset=utf-8", "Ada"]);
  });

  it("causes 406 with the supported types, before the method is called, if it names only unsupported types", async () => {
    const called: unknown[] = [];
    const greet = (message: object) => {
      called.push(message);
      return {};
    };
    const { exchange } = routeGreeter({ greet });
    const response = await exchange(rpcRequest({ headers: { accept: "text/html" } }));
    expect(response.status).toBe(406);
    expect(JSON.parse(new TextDecoder().decode(response.body.whole))).toEqual({
      status: 40,
      code: "invalid_argument",
      message:
        'nothing that "accept: text/html" names is supported; supported are: application/proto, application/json, text/plain, application/xml, text/xml',
    });
    expect(called).toEqual([]);
  });

  it("does not decide about errors, which are JSON", async () => {
    const answer = await send("all", "application/xml", "<x", { accept: "application/xml" });
    expect([answer.status, answer.contentType]).toEqual([400, "application/json"]);
  });
});

it("a streaming method takes no body at all", async () => {
  const router = createRouter().add(GreetServiceDef, greeter, { bodies: EVERY_BODY });
  const request = rpcRequest({ path: "/greet.v1.GreetService/GreetEach", headers: { "content-type": "text/plain" } });
  expect((await router.exchange(request)).status).toBe(415);
});
