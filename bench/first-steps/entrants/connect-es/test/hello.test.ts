import assert from "node:assert/strict";
import { test } from "node:test";
import { Code, createClient, createRouterTransport } from "@connectrpc/connect";
import { HelloService } from "../src/gen/hello/v1/hello_pb.js";
import { routes } from "../src/hello.js";

const hello = createClient(HelloService, createRouterTransport(routes));

test("greets by name, and refuses an empty one", async () => {
  assert.equal((await hello.sayHello({ name: "Ada" })).greeting, "Hello, Ada!");
  await assert.rejects(hello.sayHello({ name: "" }), { code: Code.InvalidArgument });
});

test("greets each", async () => {
  const greetings = [];
  for await (const { greeting } of hello.greetEach({ names: ["Bob"] })) greetings.push(greeting);
  assert.deepEqual(greetings, ["Hello, Bob!"]);
});
