import { createClient } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-web";
import { HelloService } from "../src/gen/hello/v1/hello_pb.js";

const hello = createClient(HelloService, createConnectTransport({ baseUrl: location.origin }));
const form = document.querySelector("form") as HTMLFormElement;
const output = document.querySelector("output") as HTMLOutputElement;
form.addEventListener("submit", async (event) => {
  event.preventDefault();
  const name = String(new FormData(form).get("name"));
  output.replaceChildren((await hello.sayHello({ name })).greeting);
  for await (const { greeting } of hello.greetEach({ names: ["Bob", "Eve"] })) output.append(greeting);
});
