/** Errors of both protocols quote the invalid part of a request, but at a limited length. */
import { createRouter } from "triple-es";
import { expect, it } from "vitest";
import { ParametersServiceDef } from "../../fixtures/gen/fixture/parameters/v1/parameters_triple.ts";
import { type Bytes, envelope, type Fields, grpcRequest, rpcRequest } from "../support/greeter.ts";
import { ECHO, routeParameters } from "../support/parameters.ts";

const LONG = "x".repeat(5_000);
const FORM = "application/x-www-form-urlencoded";
const MULTIPART = "multipart/form-data; boundary=b";
const XML = "application/xml";
/** The longest justified error of the table below: a few names, and 300 characters of a reason. */
const MAX_ERROR_BYTES = 600;

const part = (headers: string, content = "1"): string => `--b\r\n${headers}\r\n\r\n${content}\r\n--b--\r\n`;
const json = (value: unknown): string => JSON.stringify([value]);

it.each<[string, string, Bytes, Fields?]>([
  ["the type of an Any", "application/json", json({ any: { "@type": `type.googleapis.com/${LONG}` } })],
  ["a string for a number", "application/json", json({ age: LONG })],
  ["a timestamp", "application/json", json({ time: LONG })],
  ["a key of a map", "application/json", json({ byNumber: { [LONG]: {} } })],
  ["malformed JSON", "application/json", LONG],
  ["a number of a form", FORM, `age=${LONG}`],
  ["a boolean of a form", FORM, `active=${LONG}`],
  ["an enum of a form", FORM, `color=${LONG}`],
  ["an escape of a form", FORM, `age=${LONG}%zz`],
  ["a charset", `text/plain; charset=${"x".repeat(900)}`, "a"],
  ["a charset of a form", `${FORM}; charset=${"x".repeat(900)}`, "a"],
  ["a name of a part", MULTIPART, part(`content-disposition: form-data; name="${LONG}"\r\ncontent-type: x`)],
  [
    "a type of a part",
    MULTIPART,
    part(`content-disposition: form-data; name="age"\r\ncontent-type: a/${"x".repeat(900)}`),
  ],
  ["a name of an element", XML, `<x><child><${LONG}><age>x</age></${LONG}></child></x>`],
  ["an element in a text", XML, `<x><age><${LONG}/></age></x>`],
  ["a text of an element", XML, `<x><age>${LONG}</age></x>`],
  ["a content type", `application/${LONG}`, "{}"],
  ["an accept", "application/json", "[{}]", { accept: `application/${LONG}` }],
  ["a content encoding", "application/json", "[{}]", { "content-encoding": LONG }],
  ["a timeout", "application/json", "[{}]", { "tri-service-timeout": LONG }],
  ["a version of the protocol", "application/json", "[{}]", { "tri-protocol-version": LONG }],
  ["a name of metadata", "application/json", "[{}]", { [`${LONG}!`]: "" }],
  ["a name of binary metadata", "application/json", "[{}]", { [`${LONG}-bin`]: "!" }],
  ["an origin", FORM, "a=1", { "tri-protocol-version": undefined, origin: `https://${LONG}` }],
])("%s is quoted in part", async (_, contentType, body, headers = {}) => {
  const { status, response } = await routeParameters()("all", contentType, body, headers);
  if (!contentType.startsWith(XML) && !contentType.startsWith(FORM)) expect(status).not.toBe(200);
  expect(response.body.whole?.byteLength).toBeLessThan(MAX_ERROR_BYTES);
});

it("a duplicate key of a form is quoted in part", async () => {
  const { status, response } = await routeParameters()("map", FORM, `${LONG}=1&${LONG}=2`);
  expect(status).toBe(400);
  expect(response.body.whole?.byteLength).toBeLessThan(MAX_ERROR_BYTES);
});

it("a path is quoted in part", async () => {
  const response = await createRouter().exchange(rpcRequest({ path: `/${LONG}` }));
  expect(response.status).toBe(404);
  expect(response.body.whole?.byteLength).toBeLessThan(MAX_ERROR_BYTES);
});

it.each<[string, string, Fields?]>([
  ["the type of an Any", JSON.stringify({ any: { "@type": `type.googleapis.com/${LONG}` } })],
  ["a string for a number", JSON.stringify({ age: LONG })],
  ["an encoding", "{}", { "grpc-encoding": LONG }],
  ["a timeout", "{}", { "grpc-timeout": LONG }],
  ["a name of metadata", "{}", { [`${LONG}!`]: "" }],
])("over gRPC, %s is quoted in part", async (_, message, headers = {}) => {
  const router = createRouter().add(ParametersServiceDef, ECHO);
  const path = "/fixture.parameters.v1.ParametersService/All";
  const fields = { "content-type": "application/grpc+json", ...headers };
  const response = await router.exchange(grpcRequest({ path, headers: fields, body: envelope(message) }));
  expect(response.headers.get("grpc-status")).toMatch(/^[1-9]/);
  expect(response.headers.get("grpc-message")?.length).toBeLessThan(MAX_ERROR_BYTES);
});
