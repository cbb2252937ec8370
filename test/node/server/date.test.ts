/** The field date of responses over HTTP/1.1 (RFC 9110, section 6.6.1). */
import type { RequestListener } from "node:http";
import { expect, it } from "vitest";
import { startServer } from "../../support/server.ts";

async function dateOf(port: number): Promise<string | null> {
  const response = await fetch(`http://127.0.0.1:${port}/greet.v1.GreetService/Greet`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: "{}",
  });
  expect(response.status).toBe(200);
  return response.headers.get("date");
}

it("is the time of the response, in seconds", async () => {
  const { port } = await startServer({ greet: () => ({}) });
  const before = Math.floor(Date.now() / 1_000) * 1_000;
  const date = (await dateOf(port)) ?? "";
  expect(date).toBe(new Date(date).toUTCString());
  expect(Date.parse(date)).toBeGreaterThanOrEqual(before);
  expect(Date.parse(date)).toBeLessThanOrEqual(Date.now());
});

it("is that of a fallback, if it sets one", async () => {
  const date = "Thu, 01 Jan 1970 00:00:00 GMT";
  const fallback: RequestListener = (_, response) => void response.setHeader("date", date).end();
  const { port } = await startServer({}, { fallback });
  const response = await fetch(`http://127.0.0.1:${port}/page`);
  expect(response.headers.get("date")).toBe(date);
});
