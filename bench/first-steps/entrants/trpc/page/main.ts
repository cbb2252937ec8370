import { createTRPCClient, httpBatchStreamLink } from "@trpc/client";
import type { Router } from "../src/hello.js";

const hello = createTRPCClient<Router>({ links: [httpBatchStreamLink({ url: location.origin })] });
const form = document.querySelector("form") as HTMLFormElement;
const output = document.querySelector("output") as HTMLOutputElement;
form.addEventListener("submit", async (event) => {
  event.preventDefault();
  const name = String(new FormData(form).get("name"));
  output.replaceChildren((await hello.sayHello.query({ name })).greeting);
  for await (const { greeting } of await hello.greetEach.query({ names: ["Bob", "Eve"] })) output.append(greeting);
});
