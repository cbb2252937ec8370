import { hc } from "hono/client";
import type { App } from "../src/hello.js";
import { readLines } from "../src/lines.js";

const client = hc<App>(location.origin);
const form = document.querySelector("form") as HTMLFormElement;
const output = document.querySelector("output") as HTMLOutputElement;
form.addEventListener("submit", async (event) => {
  event.preventDefault();
  const response = await client.hello.$post({ json: { name: String(new FormData(form).get("name")) } });
  if (!response.ok) return output.replaceChildren(await response.text());
  output.replaceChildren((await response.json()).greeting);
  const each = await client["greet-each"].$post({ json: { names: ["Bob", "Eve"] } });
  for await (const { greeting } of readLines<{ greeting: string }>(each)) output.append(greeting);
});
