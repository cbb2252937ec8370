/** Routes and random requests: each is answered as a call or an error, and none reaches `onError`. */
import fc from "fast-check";
import { createRouter } from "triple-es";
import { addRest } from "triple-es/rest";
import { expect, it } from "vitest";
import { MessagingServiceDef } from "../../fixtures/gen/fixture/rest/v1/rest_triple.ts";
import { rpcRequest, textOf } from "../support/greeter.ts";
import { createMessaging } from "./messaging.ts";

const errors: unknown[] = [];
const router = createRouter({ onError: (error) => errors.push(error) }).add(
  MessagingServiceDef,
  createMessaging(() => {}),
);
addRest(router);

const segment = fc.oneof(
  fc.constantFrom("v1", "v2", "v4", "v5", "v6", "messages", "users", "files", "all", "struct", "a", "", ".", ".."),
  fc.constantFrom(
    "*",
    "**",
    "%",
    "%2F",
    "%zz",
    "%ff",
    "caf%C3%A9",
    "1:cancel",
    ":",
    "a:b:c",
    "messages:page",
    "{name}",
  ),
  fc.string({ maxLength: 6 }),
);
const name = fc.oneof(
  fc.constantFrom(
    "messageId",
    "revision",
    "sub",
    "sub.sub.subfield",
    "tags",
    "kind",
    "labels",
    "subs",
    "time",
    "limit",
  ),
  fc.constantFrom(
    "readMask",
    "message",
    "message.text",
    "__proto__",
    "constructor",
    "toString",
    "a.b",
    ".",
    "page_size",
  ),
);
const value = fc.oneof(
  fc.constantFrom("", "1", "-1", "1e999", "NaN", "true", "KIND_LETTER", "%", "+", "{}", "null"),
  fc.string(),
);
/** Paths of the routes, whose question marks stand for a segment, and other paths. */
const ROUTES = [
  "GET /v1/messages/?",
  "POST /v1/messages/?:cancel",
  "GET /v1/messages?",
  "POST /v1/shelves/?/messages:batchCreate",
  "GET /v2/messages/?",
  "GET /v2/messages/?/?",
  "GET /v2/revisions/?",
  "GET /v2/kinds/?",
  "GET /v2/times/?",
  "PATCH /v3/messages/?",
  "PUT /v3/shelves/?/messages/?",
  "PATCH /v4/messages/?",
  "POST /v4/subs/?/messages",
  "GET /v5/files/?/?",
  "DELETE /v6/any/?",
  "PUT /v6/struct",
  "PUT /?/?/?",
];
const target = fc
  .tuple(
    fc.constantFrom(...ROUTES),
    fc.array(segment, { minLength: 3 }),
    fc.array(fc.tuple(name, value), { maxLength: 3 }),
  )
  .map(([route, segments, query]) => {
    let used = 0;
    const path = route.replaceAll("?", () => segments[used++] ?? "x");
    return query.length === 0 ? path : `${path}?${query.map((pair) => pair.join("=")).join("&")}`;
  });
const body = fc.oneof(
  fc.constantFrom(
    "",
    "{}",
    "[]",
    "null",
    "1",
    "{",
    '{"sub":1}',
    '{"__proto__":{"text":1}}',
    '{"message_id":1,"text":"x"}',
  ),
  fc.json(),
);

it("answers every request with a call or an error of the client", async () => {
  const statuses = new Set<number>();
  const ask = async (line: string, text: string): Promise<void> => {
    const [method, path] = [line.slice(0, line.indexOf(" ")), line.slice(line.indexOf(" ") + 1)];
    const headers = { "content-type": text === "" ? undefined : "application/json" };
    const response = await router.exchange(rpcRequest({ method, path, headers, body: text }));
    statuses.add(response.status);
    expect(response.status === 500, `${line} ${text}: ${await textOf(response)}`).toBe(false);
  };
  await fc.assert(fc.asyncProperty(target, body, ask), { numRuns: 5_000 });
  expect(errors).toEqual([]);
  // The requests reach handlers, and the errors of each part.
  for (const status of [200, 400, 404, 405]) expect(statuses).toContain(status);
});
