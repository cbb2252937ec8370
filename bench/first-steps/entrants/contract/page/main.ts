import { createTransport } from "triple-es/json";
import { createHelloServiceClient } from "../src/gen/hello/v1/hello_triple.js";

const hello = createHelloServiceClient(createTransport({ baseUrl: location.origin }), { timeoutMs: 10_000 });
const form = document.querySelector("form") as HTMLFormElement;
const output = document.querySelector("output") as HTMLOutputElement;

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  const name = String(new FormData(form).get("name"));
  output.replaceChildren((await hello.sayHello({ name })).greeting);
  for await (const { greeting } of hello.greetEach({ names: ["Bob", "Eve"] })) output.append(greeting);
});
