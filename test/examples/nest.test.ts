/** The example in NestJS: a port of its own, and Nest's HTTP server. */
import { Code } from "triple-es";
import { createTransport as createFetchTransport } from "triple-es/fetch";
import { describe, expect, it, onTestFinished } from "vitest";
import { createShopServiceClient } from "../../examples/gen/shop/v1/shop_triple.ts";
import { isExampleInstalled, prepareExample, runExample } from "../support/examples.ts";
import { type Program, startProgram } from "../support/program.ts";
import { openTransport, readUntilFailure } from "../support/server.ts";

describe.skipIf(!isExampleInstalled("nest"))("the example nest", () => {
  interface Application {
    readonly program: Program;
    readonly http: string;
    readonly grpc: string;
  }

  async function start(): Promise<Application> {
    const program = startProgram("nest", ["npm", "run", "--silent", "start"], {
      PORT: "0",
      RPC_PORT: "0",
      NO_COLOR: "1",
    });
    onTestFinished(async () => void (await program.stop()));
    const [, http = ""] = await program.line(/HTTP at (.*)/);
    const [, grpc = ""] = await program.line(/gRPC at (.*)/);
    return { program, http, grpc };
  }

  it("prints what its README says, and closes its streams with the application", async () => {
    await prepareExample("nest");
    const { program, http, grpc } = await start();
    const output = await runExample("nest", "client", { PORT: new URL(http).port, RPC_PORT: new URL(grpc).port });
    expect(output.trim().split("\n")).toEqual([
      "[unauthenticated] a token of a customer is needed",
      "over gRPC: order 1 of Ann",
      "over HTTP RPC: order 2 of Bob",
      "over gRPC-Web: order 1 of Ann",
      "over gRPC-Web: order 2 of Bob",
      'from the controller: {"orders":2}',
    ]);

    const headers = { authorization: "Bearer token-of-ann" };
    const transports = [openTransport(grpc), createFetchTransport({ baseUrl: `${http}/rpc` })];
    const watches = transports.map((transport) =>
      readUntilFailure(createShopServiceClient(transport, { headers }).watchOrders({ afterId: 1n })),
    );
    await Promise.all(watches.map(({ begun }) => begun));
    const stopped = program.stop();
    for (const { failed } of watches) expect((await failed).code).toBe(Code.Unavailable);
    expect(await stopped).toContain("gRPC is closed");
  });

  it("serves its controllers and unknown paths itself", async () => {
    const { http } = await start();
    const sales = await fetch(`${http}/sales`);
    expect([sales.status, await sales.json()]).toEqual([200, { orders: 0 }]);
    expect((await fetch(`${http}/rpc/shop.v1.Other/List`, { method: "POST" })).status).toBe(404);
    const body = JSON.stringify([{ items: [{ productId: "1", quantity: 0 }], delivery: {} }]);
    const headers = { "content-type": "application/json", authorization: "Bearer token-of-ann" };
    const response = await fetch(`${http}/rpc/shop.v1.ShopService/PlaceOrder`, { method: "POST", headers, body });
    expect([response.status, await response.json()]).toMatchObject([400, { code: "invalid_argument" }]);
  });
});
