/** The example in NestJS: a microservice of `triple-es-nest`, and Nest's HTTP server. */
import { Code } from "triple-es";
import { describe, expect, it, onTestFinished } from "vitest";
import { createShopServiceClient } from "../../examples/gen/shop/v1/shop_triple.ts";
import { isExampleInstalled, prepareExample, runExample } from "../support/examples.ts";
import { startProgram } from "../support/program.ts";
import { openTransport, readUntilFailure } from "../support/server.ts";

describe.skipIf(!isExampleInstalled("nest"))("the example nest", () => {
  it("answers calls over each protocol, and closes its streams with the application", async () => {
    await prepareExample("nest");
    const program = startProgram("nest", ["npm", "run", "--silent", "start"], {
      PORT: "0",
      RPC_PORT: "0",
      NO_COLOR: "1",
    });
    onTestFinished(async () => void (await program.stop()));
    const [, http = ""] = await program.line(/HTTP at (.*)/);
    const [, rpc = ""] = await program.line(/RPC at (.*)/);
    const ports = { PORT: new URL(http).port, RPC_PORT: new URL(rpc).port };
    const output = await runExample("nest", "client", ports);
    expect(output.trim().split("\n")).toEqual([
      "[unauthenticated] a token of a customer is needed",
      "over gRPC: order 1 of Ann",
      "over HTTP RPC: order 2 of Bob",
      "over gRPC-Web: order 1 of Ann",
      "over gRPC-Web: order 2 of Bob",
      'over HTTP: {"orders":2}',
    ]);

    const body = JSON.stringify([{ items: [{ productId: "1", quantity: 0 }], delivery: {} }]);
    const headers = { "content-type": "application/json", authorization: "Bearer token-of-ann" };
    const response = await fetch(`${rpc}/shop.v1.ShopService/PlaceOrder`, { method: "POST", headers, body });
    expect([response.status, await response.json()]).toMatchObject([400, { code: "invalid_argument" }]);

    const client = createShopServiceClient(openTransport(rpc), { headers: { authorization: "Bearer token-of-ann" } });
    const watch = readUntilFailure(client.watchOrders({ afterId: 1n }));
    await watch.begun;
    const stopped = program.stop();
    expect((await watch.failed).code).toBe(Code.Unavailable);
    await stopped;
  });
});
