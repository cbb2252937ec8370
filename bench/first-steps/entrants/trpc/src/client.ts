import { createTRPCClient, httpBatchStreamLink } from "@trpc/client";
import type { Router } from "./hello.js";

const url = process.env["SERVER_URL"] ?? "http://localhost:8080";
const hello = createTRPCClient<Router>({ links: [httpBatchStreamLink({ url })] });
console.log((await hello.sayHello.query({ name: "Ada" })).greeting);
for await (const { greeting } of await hello.greetEach.query({ names: ["Bob", "Eve"] })) console.log(greeting);
