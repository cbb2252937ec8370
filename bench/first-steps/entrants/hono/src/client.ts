import { hc } from "hono/client";
import type { App } from "./hello.js";
import { readLines } from "./lines.js";

const client = hc<App>(process.env["SERVER_URL"] ?? "http://localhost:8080");
const response = await client.hello.$post({ json: { name: "Ada" } });
if (!response.ok) throw new Error(await response.text());
console.log((await response.json()).greeting);
const each = await client["greet-each"].$post({ json: { names: ["Bob", "Eve"] } });
for await (const { greeting } of readLines<{ greeting: string }>(each)) console.log(greeting);
