/** The preset of options for calls to Dubbo for Java: the requests of a transport with these options. */
import { createServer as createHttpServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { createServer, createTransport } from "triple-es/node";
import { dubboJava, hessian2 } from "triple-es-dubbo/hessian2";
import { describe, expect, it, onTestFinished } from "vitest";
import { createThingsServiceClient } from "../../../fixtures/options/gen/expanded/fixture/options/v1/options_triple.ts";
import { failureOf } from "../../support/server.ts";
import { createShopClient, ShopDef, shop } from "../../support/shop.ts";

/** An HTTP server that records the path and body of each request and responds with 404. */
async function startRecorder(): Promise<{ readonly baseUrl: string; readonly requests: readonly string[] }> {
  const requests: string[] = [];
  const server = createHttpServer(async (request, response) => {
    requests.push(`${request.url} ${request.headers["content-type"]} ${await text(request)}`);
    response.writeHead(404).end();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return { baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, requests };
}

describe("the options of dubboJava", () => {
  it("make HTTP RPC send bare JSON objects to the Java names of methods", async () => {
    const { baseUrl, requests } = await startRecorder();
    const transport = createTransport({ baseUrl, ...dubboJava("http-rpc") });
    onTestFinished(() => transport.close());
    await failureOf(createThingsServiceClient(transport).find({}));
    await failureOf(createShopClient(transport).find(5n));
    await failureOf(createShopClient(transport).sayHi("Ada", "Hi"));
    expect(requests).toEqual([
      "/org.acme.options.ThingsService/find application/json {}",
      "/com.acme.Shop/find~l application/json 5",
      '/com.acme.Shop/sayHi application/json ["Ada","Hi"]',
    ]);
  });

  it("make gRPC carry the values of interface methods in Hessian 2", async () => {
    const server = createServer({ serializations: [hessian2] }).add(ShopDef, shop);
    await server.listen({ port: 0, host: "127.0.0.1" });
    onTestFinished(() => server.close());
    const transport = createTransport({ baseUrl: `http://127.0.0.1:${server.address.port}`, ...dubboJava() });
    onTestFinished(() => transport.close());
    expect(await createShopClient(transport).sayHi("Ada", "Hi")).toBe("Hi, Ada!");
  });

  it("refuse another protocol", () => {
    expect(() => dubboJava("rest" as "grpc")).toThrow('protocol must be in ["grpc","http-rpc"], not "rest"');
  });
});
