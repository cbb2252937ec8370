import assert from "node:assert/strict";
import { test } from "node:test";
import { testClient } from "hono/testing";
import { app } from "../src/hello.js";
import { readLines } from "../src/lines.js";

const client = testClient(app);

test("greets by name, and refuses an empty one", async () => {
  const response = await client.hello.$post({ json: { name: "Ada" } });
  assert.deepEqual(await response.json(), { greeting: "Hello, Ada!" });
  assert.equal((await client.hello.$post({ json: { name: "" } })).status, 400);
});

test("greets each", async () => {
  const greetings = [];
  const response = await client["greet-each"].$post({ json: { names: ["Bob"] } });
  for await (const { greeting } of readLines<{ greeting: string }>(response)) greetings.push(greeting);
  assert.deepEqual(greetings, ["Hello, Bob!"]);
});
