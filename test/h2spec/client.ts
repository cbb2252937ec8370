/** The client that h2specd tests: makes one request to the address it is given, and ends however that turns out. */
import { createTransport } from "triple-es/node";
import { createGreetServiceClient } from "../../examples/gen/greet/v1/greet_triple.ts";

const [baseUrl = ""] = process.argv.slice(2);
const transport = createTransport({ baseUrl, tls: { rejectUnauthorized: false } });
const client = createGreetServiceClient(transport);
await client.greet({ name: "Ada" }, { timeoutMs: 3_000 }).catch(() => {});
await transport.close({ graceMs: 0 });
