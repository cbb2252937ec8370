import assert from "node:assert/strict";
import { test } from "node:test";
import { Code, createInMemoryTransport, createRouter } from "triple-es";
import { createHelloServiceClient, HelloServiceDef } from "../src/gen/hello/v1/hello_triple.js";
import { helloService } from "../src/hello.js";

// Client, protocol and server in this process, without a network.
const router = createRouter().add(HelloServiceDef, helloService);
const hello = createHelloServiceClient(createInMemoryTransport(router));

test("greets by name", async () => {
  assert.equal((await hello.sayHello({ name: "Ada" })).greeting, "Hello, Ada!");
});

test("greets each", async () => {
  const greetings = [];
  for await (const { greeting } of hello.greetEach({ names: ["Bob"] })) greetings.push(greeting);
  assert.deepEqual(greetings, ["Hello, Bob!"]);
});

test("refuses an empty name", async () => {
  await assert.rejects(hello.sayHello({ name: "" }), { code: Code.InvalidArgument });
});
