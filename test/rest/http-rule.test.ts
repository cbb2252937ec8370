/** The table of cases from the comment of google/api/http.proto: requests, and the calls that they are. */
import type { JsonValue } from "@bufbuild/protobuf";
import { createRouter } from "triple-es";
import { fetchHandler } from "triple-es/fetch";
import { addRest } from "triple-es/rest";
import { describe, expect, it } from "vitest";
import { MessagingServiceDef } from "../../fixtures/gen/fixture/rest/v1/rest_triple.ts";
import { createMessaging, type ReceivedCall } from "./messaging.ts";

const calls: ReceivedCall[] = [];
const router = createRouter().add(
  MessagingServiceDef,
  createMessaging((call) => calls.push(call)),
);
addRest(router);
const handle = fetchHandler(router);

interface Answer {
  readonly status: number;
  readonly body: JsonValue;
  readonly headers: Headers;
  readonly call: ReceivedCall | undefined;
}

/** Sends a request such as `GET /v1/messages`, with a JSON body if there is one. */
async function ask(line: string, body?: JsonValue): Promise<Answer> {
  const [method = "", target = ""] = line.split(" ");
  const json = { headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
  const init = { method, ...(body === undefined ? {} : json) };
  const response = await handle(new Request(`http://localhost${target}`, init));
  const text = await response.text();
  const parsed = text === "" ? null : JSON.parse(text);
  return { status: response.status, body: parsed, headers: response.headers, call: calls.pop() };
}

/** The requests that are calls: what they are, the request, the body, the method, and its message. */
const CALLS: readonly (readonly [string, string, JsonValue | undefined, string, JsonValue])[] = [
  // Paths.
  [
    "a variable of a literal and a wildcard",
    "GET /v1/messages/123456",
    undefined,
    "GetNamed",
    { name: "messages/123456" },
  ],
  ["another HTTP method of the path", "DELETE /v1/messages/1", undefined, "DeleteNamed", { name: "messages/1" }],
  ["a literal before a wildcard", "GET /v1/messages/latest", undefined, "GetLatest", {}],
  [
    "a wildcard after a literal without the HTTP method",
    "DELETE /v1/messages/latest",
    undefined,
    "DeleteNamed",
    { name: "messages/latest" },
  ],
  ["a variable of one segment", "GET /v2/messages/123456", undefined, "GetMessage", { messageId: "123456" }],
  [
    "an additional binding",
    "GET /v2/users/me/messages/123456",
    undefined,
    "GetMessage",
    { userId: "me", messageId: "123456" },
  ],
  [
    "a variable for a field of a message",
    "GET /v2/messages/1/foo",
    undefined,
    "GetMessage",
    { messageId: "1", sub: { subfield: "foo" } },
  ],
  [
    "a variable for an integer",
    "GET /v2/revisions/9007199254740993",
    undefined,
    "GetMessage",
    { revision: "9007199254740993" },
  ],
  ["a variable for an enum, by name", "GET /v2/kinds/KIND_LETTER", undefined, "GetMessage", { kind: "KIND_LETTER" }],
  ["a variable for an enum, by number", "GET /v2/kinds/2", undefined, "GetMessage", { kind: "KIND_PARCEL" }],
  [
    "a variable for a timestamp",
    "GET /v2/times/2026-01-02T03:04:05Z",
    undefined,
    "GetMessage",
    { time: "2026-01-02T03:04:05Z" },
  ],
  ["escapes in one segment", "GET /v2/messages/a%2Fb%20c%25", undefined, "GetMessage", { messageId: "a/b c%" }],
  [
    "escapes in several segments, without slashes",
    "GET /v5/files/a%2Fb%2fc%20d",
    undefined,
    "GetFile",
    { name: "files/a%2Fb%2fc d" },
  ],
  ["UTF-8 in a segment", "GET /v2/messages/caf%C3%A9", undefined, "GetMessage", { messageId: "café" }],
  ["an escaped literal", "GET /v5/caf%C3%A9/x", undefined, "GetFile", { name: "x" }],
  ["a literal with other escapes", "GET /v5/c%61f%c3%a9/x", undefined, "GetFile", { name: "x" }],
  ["a plus sign in the path", "GET /v2/messages/a+b", undefined, "GetMessage", { messageId: "a+b" }],
  ["many segments for **", "GET /v5/files/a/b/c", undefined, "GetFile", { name: "files/a/b/c" }],
  ["one segment for **", "GET /v5/files/a", undefined, "GetFile", { name: "files/a" }],
  ["no segment for **", "GET /v5/files", undefined, "GetFile", { name: "files" }],
  ["** outside of a variable", "GET /v5/all/of/them", undefined, "GetFile", {}],
  ["** and a verb", "GET /v5/files/a/b:download", undefined, "GetFile", { name: "files/a/b" }],
  ["a colon that is no verb", "GET /v5/files/a:b", undefined, "GetFile", { name: "files/a:b" }],
  ["the last of several colons", "GET /v5/files/a:b:download", undefined, "GetFile", { name: "files/a:b" }],
  ["an escaped colon", "GET /v5/files/a%3Adownload", undefined, "GetFile", { name: "files/a:download" }],
  // Custom verbs and methods.
  ["a verb with a body", "POST /v1/messages/1:cancel", {}, "CancelNamed", { name: "messages/1" }],
  ["a verb with an empty body", "POST /v1/messages/1:cancel", undefined, "CancelNamed", { name: "messages/1" }],
  ["a verb of a rule without a body", "POST /v1/messages/1:touch", undefined, "TouchNamed", { name: "messages/1" }],
  ["a verb after a literal", "GET /v1/messages:page?pageSize=3", undefined, "ListMessages", { pageSize: 3 }],
  ["a custom HTTP method", "LINK /v6/links/a", undefined, "Link", { name: "a" }],
  ["any HTTP method", "PROPFIND /v6/any/a", undefined, "Link", { name: "a" }],
  ["an HTTP method before any", "DELETE /v6/any/deleted?name=x", undefined, "Link", { name: "x" }],
  // Query parameters.
  ["a query parameter", "GET /v2/messages/1?revision=2", undefined, "GetMessage", { messageId: "1", revision: "2" }],
  [
    "one of a field of a message",
    "GET /v2/messages/1?revision=2&sub.subfield=foo",
    undefined,
    "GetMessage",
    { messageId: "1", revision: "2", sub: { subfield: "foo" } },
  ],
  [
    "one of a deeper field",
    "GET /v2/messages/1?sub.sub.sub.subfield=a",
    undefined,
    "GetMessage",
    { messageId: "1", sub: { sub: { sub: { subfield: "a" } } } },
  ],
  [
    "one beside a variable of the same message",
    "GET /v2/messages/1/foo?sub.sub.subfield=a",
    undefined,
    "GetMessage",
    { messageId: "1", sub: { subfield: "foo", sub: { subfield: "a" } } },
  ],
  ["a repeated one", "GET /v2/messages/1?tags=a&tags=b", undefined, "GetMessage", { messageId: "1", tags: ["a", "b"] }],
  [
    "a repeated one of an enum",
    "GET /v2/messages/1?kinds=KIND_LETTER&kinds=2",
    undefined,
    "GetMessage",
    { messageId: "1", kinds: ["KIND_LETTER", "KIND_PARCEL"] },
  ],
  ["the JSON name", "GET /v2/messages/1?userId=me", undefined, "GetMessage", { messageId: "1", userId: "me" }],
  [
    "the name in the proto file",
    "GET /v2/messages/1?user_id=me",
    undefined,
    "GetMessage",
    { messageId: "1", userId: "me" },
  ],
  [
    "a boolean with presence",
    "GET /v2/messages/1?full=false",
    undefined,
    "GetMessage",
    { messageId: "1", full: false },
  ],
  [
    "a floating-point number",
    "GET /v2/messages/1?score=-1.5e3",
    undefined,
    "GetMessage",
    { messageId: "1", score: -1500 },
  ],
  ["bytes in base64", "GET /v2/messages/1?key=AP8%3D", undefined, "GetMessage", { messageId: "1", key: "AP8=" }],
  ["bytes in base64url", "GET /v2/messages/1?key=-_8", undefined, "GetMessage", { messageId: "1", key: "+/8=" }],
  ["a duration", "GET /v2/messages/1?wait=1.5s", undefined, "GetMessage", { messageId: "1", wait: "1.500s" }],
  ["a wrapped scalar", "GET /v2/messages/1?limit=0", undefined, "GetMessage", { messageId: "1", limit: 0 }],
  [
    "a field mask",
    "GET /v2/messages/1?readMask=userId,sub.sub_field",
    undefined,
    "GetMessage",
    { messageId: "1", readMask: "userId,sub.subField" },
  ],
  [
    "a member of a oneof",
    "GET /v2/messages/1?authorNumber=7",
    undefined,
    "GetMessage",
    { messageId: "1", authorNumber: 7 },
  ],
  [
    "escapes and plus signs",
    "GET /v2/messages/1?tags=a+b%2Bc%26d%3De",
    undefined,
    "GetMessage",
    { messageId: "1", tags: ["a b+c&d=e"] },
  ],
  [
    "an unknown one, which is ignored",
    "GET /v2/messages/1?utm_source=x&sub.unknown=y",
    undefined,
    "GetMessage",
    { messageId: "1" },
  ],
  ["an empty number, which is ignored", "GET /v2/messages/1?revision=", undefined, "GetMessage", { messageId: "1" }],
  // Bodies.
  [
    "a field as the body",
    "PATCH /v3/messages/1",
    { text: "Hi!" },
    "UpdateMessage",
    { messageId: "1", message: { text: "Hi!" } },
  ],
  [
    "a field as the body, and parameters",
    "PATCH /v3/messages/1?update_mask=text",
    { text: "Hi!" },
    "UpdateMessage",
    { messageId: "1", message: { text: "Hi!" }, updateMask: "text" },
  ],
  [
    "a field as the body, and a variable in it",
    "PUT /v3/shelves/1/messages/2",
    { text: "Hi!", name: "x" },
    "UpdateMessage",
    { message: { text: "Hi!", name: "shelves/1/messages/2" } },
  ],
  [
    "all other fields as the body",
    "PATCH /v4/messages/1",
    { text: "Hi!", size: "5" },
    "ReplaceMessage",
    { messageId: "1", text: "Hi!", size: "5" },
  ],
  [
    "the path before the body, in both names",
    "PATCH /v4/messages/1",
    { message_id: "2", text: "Hi!" },
    "ReplaceMessage",
    { messageId: "1", text: "Hi!" },
  ],
  [
    "a deeper variable beside the body",
    "POST /v4/subs/1/messages",
    { sub: { sub: { subfield: "x" } } },
    "ReplaceMessage",
    { sub: { subfield: "subs/1", sub: { subfield: "x" } } },
  ],
  [
    "a JSON array as the body",
    "POST /v1/shelves/1/messages:batchCreate?validateOnly=true",
    [{ text: "a" }, { text: "b" }],
    "BatchCreate",
    { parent: "shelves/1", messages: [{ text: "a" }, { text: "b" }], validateOnly: true },
  ],
  ["a message of any JSON as the body", "PUT /v6/struct", { a: [1, null] }, "PutStruct", { a: [1, null] }],
  // Methods without a rule.
  [
    "GET for a method without side effects",
    "GET /fixture.rest.v1.MessagingService/Count?pageSize=3",
    undefined,
    "Count",
    { pageSize: 3 },
  ],
];

describe("a request is a call", () => {
  it("in at least 60 cases", () => {
    expect(CALLS.length).toBeGreaterThanOrEqual(60);
  });

  it.each(CALLS)("with %s: %s", async (_what, line, body, method, request) => {
    const { status, call } = await ask(line, body);
    expect({ status, method: call?.method, request: call?.request }).toEqual({ status: 200, method, request });
  });
});

/** The requests that are refused: the request, the body, the HTTP status, and the message. */
const REFUSALS: readonly (readonly [string, JsonValue | undefined, number, string])[] = [
  ["GET /v2/messages/1?revision=x", undefined, 400, 'query parameter "revision": "x" is not a number'],
  ["GET /v2/revisions/x", undefined, 400, '"revision" in the path: "x" is not a number'],
  [
    "GET /v2/messages/1?kind=KIND_BOX",
    undefined,
    400,
    'query parameter "kind": "KIND_BOX" is not among: KIND_UNSPECIFIED, KIND_LETTER, KIND_PARCEL',
  ],
  ["GET /v2/messages/1?revision=1&revision=2", undefined, 400, 'query parameter "revision" is given more than once'],
  ["GET /v2/messages/1?messageId=2", undefined, 400, 'query parameter "messageId" is a part of the path'],
  [
    "GET /v2/messages/1?sub=x",
    undefined,
    400,
    'query parameter "sub" is a message; name one of its fields, such as sub.subfield',
  ],
  [
    "GET /v2/messages/1?subs.subfield=x",
    undefined,
    400,
    'query parameter "subs.subfield" has a name after "subs", whose fields cannot be parameters',
  ],
  [
    "GET /v2/messages/1?subs=x",
    undefined,
    400,
    'query parameter "subs" is a list of messages, which cannot be written as text',
  ],
  ["GET /v2/messages/1?labels=x", undefined, 400, 'query parameter "labels" is a map, which cannot be written as text'],
  ["GET /v2/messages/1?key=+/8=", undefined, 400, 'query parameter "key": the base64 has a space; write + as %2B'],
  ["GET /v2/messages/1?readMask=line_1", undefined, 400, "path names must be lowerCamelCase"],
  ["GET /v2/messages/1?tags=%ff", undefined, 400, '"%ff" in the query is not percent-encoded UTF-8'],
  ["GET /v2/messages/%ff", undefined, 400, '"message_id" in the path is not percent-encoded UTF-8: "%ff"'],
  [
    "GET /v2/messages/1?author=a&authorNumber=1",
    undefined,
    400,
    "the request cannot be decoded as fixture.rest.v1.GetMessageRequest: cannot decode oneof",
  ],
  ["PATCH /v3/messages/1?message.text=x", {}, 400, 'query parameter "message.text" belongs in the body'],
  ["PATCH /v4/messages/1?text=x", {}, 400, 'query parameter "text" belongs in the body'],
  ["PATCH /v4/messages/1", [1], 400, "the body must be a JSON object, the fields of fixture.rest.v1.Message"],
  ["POST /v4/subs/1/messages", { sub: "x" }, 400, 'the member "sub" of the body must be an object'],
  [
    "PATCH /v4/messages/1",
    { size: "x" },
    400,
    "the request cannot be decoded as fixture.rest.v1.Message: cannot decode field fixture.rest.v1.Message.size",
  ],
  ["POST /v1/messages/1:touch", {}, 400, "POST /v1/{name=messages/*}:touch takes no body"],
  ["POST /v1/messages", {}, 405, "/v1/messages takes GET, HEAD, not POST"],
  [
    "PUT /fixture.rest.v1.MessagingService/Count",
    {},
    405,
    "/fixture.rest.v1.MessagingService/Count takes GET, HEAD, POST, not PUT",
  ],
  ["GET /v1/messages/", undefined, 404, "no method is served at /v1/messages/"],
  ["GET /v1/messages/1/2/3", undefined, 404, "no method is served at /v1/messages/1/2/3"],
  ["GET /v1/messages/1:cancelled:", undefined, 200, ""],
  ["GET /fixture.rest.v1.MessagingService/Internal", undefined, 405, "calls use the method POST, not GET"],
];

describe("a request is refused", () => {
  it.each(REFUSALS)("%s", async (line, body, status, message) => {
    const answer = await ask(line, body);
    expect([answer.status, (answer.body as { message?: string }).message ?? ""]).toEqual([
      status,
      expect.stringContaining(message),
    ]);
    if (status === 200) return;
    expect(answer.call).toBeUndefined();
    expect(Object.keys(answer.body as object)).toEqual(["status", "message", "code"]);
  });

  it("with 415 for a body that is not JSON", async () => {
    const init = { method: "PATCH", headers: { "content-type": "text/plain" }, body: "x" };
    const response = await handle(new Request("http://localhost/v4/messages/1", init));
    expect([response.status, response.headers.get("accept-post")]).toEqual([415, "application/json"]);
  });

  it("but not for a JSON media type of its own (RFC 6839, section 3.1)", async () => {
    const init = { method: "PATCH", headers: { "content-type": "application/a2a+json" }, body: '{"text":"a"}' };
    const response = await handle(new Request("http://localhost/v4/messages/1", init));
    expect([response.status, response.headers.get("content-type")]).toEqual([200, "application/json"]);
  });

  it("with 400 for a body that is not JSON in spite of its content type", async () => {
    const init = { method: "PATCH", headers: { "content-type": "application/json" }, body: "{" };
    const response = await handle(new Request("http://localhost/v4/messages/1", init));
    expect([response.status, await response.text()]).toEqual([400, expect.stringContaining("the body is not JSON")]);
  });
});

describe("a response", () => {
  it("is the message in JSON", async () => {
    const { body, headers } = await ask("GET /v1/messages:page");
    expect(body).toEqual({ messages: [{ text: "a" }, { text: "b" }], total: "2", first: { text: "a" } });
    expect(headers.get("content-type")).toBe("application/json");
  });

  it.each<[string, JsonValue]>([
    ["GET /v1/messages", [{ text: "a" }, { text: "b" }]],
    ["GET /v1/messages:total", "2"],
    ["GET /v1/messages:first", { text: "a" }],
    ["GET /v1/messages?pageToken=none", []],
    ["GET /v1/messages:total?pageToken=none", "0"],
    ["GET /v1/messages:first?pageToken=none", {}],
  ])("is the field of response_body: %s", async (line, body) => {
    expect((await ask(line)).body).toEqual(body);
  });

  it("to HEAD has no body", async () => {
    const { status, body, call } = await ask("HEAD /v1/messages/1");
    expect([status, body, call?.method]).toEqual([200, null, "GetNamed"]);
  });
});
