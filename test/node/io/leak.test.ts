/** Finished calls leave nothing in memory on connections that stay open, on both sides. */
import { queryObjects } from "node:v8";
import { Code, RpcError } from "triple-es";
import { describe, expect, it } from "vitest";
import { IncomingBody } from "../../../runtime/src/connection/incoming-body.ts";
import { arriving, connectGreeter, failureOf, greetings, startServer } from "../../support/server.ts";

const CALLS = 50;
/** Node keeps the last request and response of a connection, and one or two streams of a session. */
const KEPT = 10;

/** Returns the memory after a garbage collection. */
const bodies = (): number => queryObjects(IncomingBody, { format: "count" });

describe.each([
  { protocol: "grpc", httpVersion: "2" },
  { protocol: "http-rpc", httpVersion: "1.1" },
  { protocol: "http-rpc", httpVersion: "2" },
] as const)("over $protocol, HTTP/$httpVersion", (options) => {
  it("answered calls leave nothing in memory", async () => {
    const { baseUrl } = await startServer();
    const greeter = connectGreeter(baseUrl, options);
    for (let call = 1; call <= CALLS; call++) await greeter.greet({ name: "Ada" });
    expect(bodies()).toBeLessThan(KEPT);
  });

  it("failed calls leave nothing in memory", async () => {
    const { baseUrl } = await startServer({ greet: () => Promise.reject(new RpcError(Code.NotFound, "by the test")) });
    const greeter = connectGreeter(baseUrl, options);
    for (let call = 1; call <= CALLS; call++) await failureOf(greeter.greet({}));
    expect(bodies()).toBeLessThan(KEPT);
  });

  it("cancelled calls leave nothing in memory", async () => {
    const { baseUrl } = await startServer({
      greet: (_request, { signal }) =>
        new Promise((_, reject) =>
          signal.addEventListener("abort", () => reject(new RpcError(Code.Canceled, "as asked"))),
        ),
    });
    const greeter = connectGreeter(baseUrl, options);
    for (let call = 1; call <= CALLS; call++) await failureOf(greeter.greet({}, { signal: AbortSignal.timeout(5) }));
    await expect.poll(bodies).toBeLessThan(KEPT);
  });
});

it("streams leave nothing in memory", async () => {
  const { baseUrl } = await startServer();
  const greeter = connectGreeter(baseUrl);
  for (let call = 1; call <= CALLS; call++) await greetings(greeter.greetOnArrival(arriving("Ada", "Grace")));
  expect(bodies()).toBeLessThan(KEPT);
});
