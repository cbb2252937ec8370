/** The limit on the values of a message, in bodies of every format: at the limit they are accepted, above it refused. */
import { create, toBinary } from "@bufbuild/protobuf";
import type { RouterOptions } from "triple-es";
import { describe, expect, it } from "vitest";
import { AllParametersSchema } from "../../fixtures/gen/fixture/parameters/v1/parameters_pb.ts";
import { routeParameters } from "../support/parameters.ts";

const LIMIT = 500;
/** More values than the limit, however they count. */
const MANY = 2 * LIMIT;

const children = (count: number): string => JSON.stringify(Array.from({ length: count }, () => ({})));
const keys = (count: number): object => Object.fromEntries(Array.from({ length: count }, (_, i) => [`k${i}`, i]));
const multipart = (name: string, type: string, content: string | Uint8Array): Uint8Array =>
  Buffer.concat([
    Buffer.from(`--x\r\nContent-Disposition: form-data; name="${name}"\r\nContent-Type: ${type}\r\n\r\n`),
    Buffer.from(content as string),
    Buffer.from("\r\n--x--\r\n"),
  ]);
const FORM_DATA = "multipart/form-data; boundary=x";
const FORM = "application/x-www-form-urlencoded";
const proto = (count: number): Uint8Array =>
  toBinary(AllParametersSchema, create(AllParametersSchema, { children: Array.from({ length: count }, () => ({})) }));

/** Bodies of a number of values. */
const BODIES: readonly (readonly [name: string, contentType: string, body: (count: number) => string | Uint8Array])[] =
  [
    ["protobuf", "application/proto", proto],
    ["JSON, in messages", "application/json", (count) => `{"children":${children(count)}}`],
    ["JSON, in a map", "application/json", (count) => JSON.stringify({ counts: keys(count) })],
    ["JSON, in a Struct", "application/json", (count) => JSON.stringify({ anything: keys(count) })],
    ["JSON, in unknown members", "application/json", (count) => `{"unknown":${children(count)}}`],
    ["JSON, in a mask", "application/json", (count) => JSON.stringify({ mask: "a,".repeat(4 * count).slice(0, -1) })],
    ["a form, as JSON", FORM, (count) => `child=${encodeURIComponent(`{"children":${children(count)}}`)}`],
    ["XML", "application/xml", (count) => `<a>${"<children/>".repeat(count)}</a>`],
    ["XML, as JSON", "application/xml", (count) => `<a><anything>${JSON.stringify(keys(count))}</anything></a>`],
    ["multipart, as protobuf", FORM_DATA, (count) => multipart("child", "application/proto", proto(count))],
    ["multipart, as JSON", FORM_DATA, (count) => multipart("children", "application/json", children(count))],
    [
      "multipart, as XML",
      FORM_DATA,
      (count) => multipart("child", "text/xml", `<a>${"<children/>".repeat(count)}</a>`),
    ],
  ];

const PROBLEM =
  /the message has at least (\d+) values, more than the limit of 500 values \(option maxMessageValues of the receiver\)/;

describe.each(BODIES)("in %s", (_, contentType, body) => {
  it.each<[name: string, options: RouterOptions, limits: object]>([
    ["the server", { maxMessageValues: LIMIT }, {}],
    ["the service", {}, { maxMessageValues: LIMIT }],
  ])("the limit of %s holds, and one value more is refused", async (__, options, limits) => {
    const send = routeParameters({ limits }, options);
    const answerTo = (count: number) => send("all", contentType, body(count));
    let [accepted, refused] = [1, MANY];
    while (refused - accepted > 1) {
      const middle = Math.floor((accepted + refused) / 2);
      if ((await answerTo(middle)).status === 200) accepted = middle;
      else refused = middle;
    }
    expect(accepted).toBeGreaterThan(LIMIT / 20);
    const { status, body: answer } = await answerTo(refused);
    expect([status, (answer as { code?: string }).code]).toEqual([413, "resource_exhausted"]);
    const [, values] = PROBLEM.exec((answer as { message: string }).message) ?? [];
    // A message of many fields is more than one value.
    expect(Number(values)).toBeGreaterThan(LIMIT);
    expect(Number(values)).toBeLessThan(LIMIT + 10);
    expect((await routeParameters()("all", contentType, body(refused))).status).toBe(200);
  });
});
