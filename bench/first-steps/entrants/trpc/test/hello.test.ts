import assert from "node:assert/strict";
import { test } from "node:test";
import { createCaller } from "../src/hello.js";

const hello = createCaller({});

test("greets by name, and refuses an empty one", async () => {
  assert.equal((await hello.sayHello({ name: "Ada" })).greeting, "Hello, Ada!");
  await assert.rejects(hello.sayHello({ name: "" }), { code: "BAD_REQUEST" });
});

test("greets each", async () => {
  const greetings = [];
  for await (const { greeting } of await hello.greetEach({ names: ["Bob"] })) greetings.push(greeting);
  assert.deepEqual(greetings, ["Hello, Bob!"]);
});
