import { HelloServiceDef } from "@acme/api/hello/v1/hello_triple.js";
import { createServer } from "triple-es/node";

const server = createServer().add(HelloServiceDef, {
  sayHello: ({ name }) => ({ greeting: `Hello, ${name}!` }),
});
await server.listen({ port: Number(process.env["PORT"] ?? 8080) });
console.log(server.address.port);
process.once("SIGTERM", () => server.close());
