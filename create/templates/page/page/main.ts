import { createTransport } from "triple-es/proto"; // proto
import { createTransport } from "triple-es/json"; // typescript
import { createHelloServiceClient } from "../src/gen/hello/v1/hello_triple.js";

const hello = createHelloServiceClient(createTransport({ baseUrl: location.origin }), { timeoutMs: 10_000 });
const form = document.querySelector("form") as HTMLFormElement;
const output = document.querySelector("output") as HTMLOutputElement;

form.addEventListener("submit", (event) => {
  event.preventDefault();
  const name = String(new FormData(form).get("name"));
  hello.sayHello({ name }).then(
    ({ greeting }) => output.replaceChildren(greeting),
    (error) => output.replaceChildren(error.message),
  );
});
