import { createTransport } from "triple-es/node";
import { createHelloServiceClient } from "./gen/hello/v1/hello_triple.js";
import { registry } from "./registry.js"; // registry

const transport = createTransport({
  baseUrl: process.env["SERVER_URL"] ?? "http://localhost:8080", // no registry
  registry, // registry
});
const hello = createHelloServiceClient(transport, { timeoutMs: 10_000 });

const { greeting } = await hello.sayHello({ name: process.argv[2] ?? "world" });
console.log(greeting);

await transport.close();
await registry.close(); // registry
