/** The error of a deadline says how long the deadline was, and what the call waited for. */
import { once } from "node:events";
import { createServer as createNetServer } from "node:net";
import { Code } from "triple-es";
import { type Balancer, fixed } from "triple-es/discovery";
import { createTransport } from "triple-es/node";
import { describe, expect, it, onTestFinished } from "vitest";
import { createGreetServiceClient } from "../../../examples/gen/greet/v1/greet_triple.ts";
import { connectGreeter, failureOf, startServer } from "../../support/server.ts";

const TRANSPORTS = [
  ["gRPC", {}],
  ["HTTP RPC over HTTP/1.1", { protocol: "http-rpc", codec: "json" }],
  ["HTTP RPC over HTTP/2", { protocol: "http-rpc", httpVersion: "2" }],
] as const;

describe.each(TRANSPORTS)("over %s, a deadline that passes", (_, options) => {
  it("before the response says so, and its error has the path of the method", async () => {
    const { baseUrl } = await startServer({ greet: ({ name }) => (name === "" ? new Promise(() => {}) : {}) });
    const client = connectGreeter(baseUrl, options);
    // Afterwards there is a connection.
    await client.greet({ name: "Ada" });
    const { code, message, method } = await failureOf(client.greet({}, { timeoutMs: 30 }));
    expect([code, method]).toEqual([Code.DeadlineExceeded, "/greet.v1.GreetService/Greet"]);
    // Either side may be first.
    expect(message).toMatch(/^\[deadline_exceeded\] the deadline of [\d.]+ ms has passed(?: before the response)?$/);
  });
});

it.each([
  ["gRPC", {}],
  ["HTTP RPC over HTTP/2", { protocol: "http-rpc", httpVersion: "2" }],
] as const)("over %s, a deadline that passes before the connection says so", async (_, options) => {
  // It accepts connections and never speaks HTTP/2.
  const server = createNetServer((socket) => void socket.on("error", () => {})).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  const { port } = server.address() as { port: number };
  const { message } = await failureOf(connectGreeter(`http://127.0.0.1:${port}`, options).greet({}, { timeoutMs: 50 }));
  expect(message).toBe("[deadline_exceeded] the deadline of 50 ms has passed before the connection");
});

it.each([
  ["picker", () => () => undefined],
  ["balancer", () => undefined],
])("a deadline that passes because a %s returns nothing says so", async (_, given) => {
  const { port } = await startServer();
  // A program without types.
  const balancer = given as unknown as Balancer;
  const transport = createTransport({ resolver: fixed([`127.0.0.1:${port}`]), balancer });
  onTestFinished(() => transport.close());
  const { message } = await failureOf(createGreetServiceClient(transport).greet({}, { timeoutMs: 200 }));
  expect(message).toBe("[deadline_exceeded] the deadline of 200 ms has passed before the pick of the balancer");
});

it("a deadline that passes in a stream says that no further message has come", async () => {
  const { baseUrl } = await startServer({
    async *greetEach() {
      yield { greeting: "one" };
      await new Promise(() => {});
    },
  });
  const { message } = await failureOf(connectGreeter(baseUrl).greetEach({}, { timeoutMs: 2_000 }));
  expect(message).toMatch(/^\[deadline_exceeded\] the deadline of [\d.]+ ms has passed(?: before the next message)?$/);
});
