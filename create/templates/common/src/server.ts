import { createServer } from "triple-es/node";
import { register } from "triple-es-dubbo"; // registry
import { HelloServiceDef } from "./gen/hello/v1/hello_triple.js";
import { helloService } from "./hello.js";
import { onRegistration } from "./on-registration.js"; // registry
import { page } from "./page.js"; // page
import { registry } from "./registry.js"; // registry

const server = createServer({
  fallback: page, // page
  onError: (error) => console.error(error),
});
server.add(HelloServiceDef, helloService);
await server.listen({ port: Number(process.env["PORT"] ?? 8080) });
console.log(`listening at http://localhost:${server.address.port}`);
register(server, registry, { application: "hello", onRegistration }); // registry

for (const signal of ["SIGINT", "SIGTERM"]) {
  process.once(signal, async () => {
    await server.close({ graceMs: 5_000 });
    await registry.close(); // registry
    process.exit();
  });
}
