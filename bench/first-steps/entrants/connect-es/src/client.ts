import { createClient } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-node";
import { HelloService } from "./gen/hello/v1/hello_pb.js";

const baseUrl = process.env["SERVER_URL"] ?? "http://localhost:8080";
const hello = createClient(HelloService, createConnectTransport({ baseUrl, httpVersion: "1.1" }));
console.log((await hello.sayHello({ name: "Ada" })).greeting);
for await (const { greeting } of hello.greetEach({ names: ["Bob", "Eve"] })) console.log(greeting);
