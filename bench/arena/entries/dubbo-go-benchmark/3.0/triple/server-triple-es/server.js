/** The server of the suite's Triple test, on its port, for references with `url: tri://HOST:20001`. */
import { createServer } from "triple-es/node";
import { GreeterDef } from "./gen/samples_api_triple.js";

await createServer()
  .add(GreeterDef, { sayHello: ({ name }) => ({ name: `Hello ${name}`, id: "12345", age: 21 }) })
  .listen({ port: Number(process.env.PORT ?? 20001) });
