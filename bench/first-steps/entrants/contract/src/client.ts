import { createTransport } from "triple-es/node";
import { createHelloServiceClient } from "./gen/hello/v1/hello_triple.js";

const transport = createTransport({
  baseUrl: process.env["SERVER_URL"] ?? "http://localhost:8080",
});
const hello = createHelloServiceClient(transport, { timeoutMs: 10_000 });

const { greeting } = await hello.sayHello({ name: process.argv[2] ?? "world" });
console.log(greeting);
for await (const { greeting } of hello.greetEach({ names: ["Bob", "Eve"] })) console.log(greeting);

await transport.close();
