/** The shop in workerd: a Worker, whose handlers read its bindings, and the Durable Object behind it. */
import { Code, findDetails } from "triple-es";
import { createTransport } from "triple-es/fetch";
import { createTransport as createNodeTransport } from "triple-es/node";
import { beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { BadRequestSchema } from "../../examples/gen/google/rpc/error_details_pb.ts";
import { createShopServiceClient } from "../../examples/gen/shop/v1/shop_triple.ts";
import { isExampleInstalled, prepareExample, startExample } from "../support/examples.ts";
import { freePort } from "../support/port.ts";
import { failureOf } from "../support/server.ts";

describe.skipIf(!isExampleInstalled("workers"))("the example workers", () => {
  beforeAll(() => prepareExample("workers"));

  it("takes orders, streams them to staff with the token of a binding, and passes errors on", async () => {
    const { url } = await startExample("workers", "start", { STAFF_TOKEN: "secret", GRPC_PORT: "0" });
    const shop = createShopServiceClient(createTransport({ baseUrl: url }));
    const place = (customer: string) =>
      shop.placeOrder({
        customer,
        items: [{ productId: 9_007_199_254_740_993n, quantity: 1 }],
        delivery: { case: "pickup", value: "Main street" },
      });
    expect((await shop.listProducts({})).products).toHaveLength(3);
    expect((await place("Ada")).order?.id).toBe(1n);

    const seen: unknown[] = [];
    const headers = { authorization: "Bearer secret" };
    for await (const { order } of shop.watchOrders({}, { headers, timeoutMs: 20_000 })) {
      seen.push([order?.id, order?.customer, order?.items[0]?.productId]);
      if (seen.length === 2) break;
      await place("Bob");
    }
    expect(seen).toEqual([
      [1n, "Ada", 9_007_199_254_740_993n],
      [2n, "Bob", 9_007_199_254_740_993n],
    ]);

    expect(await failureOf(shop.watchOrders({}))).toMatchObject({ code: Code.Unauthenticated });
    const invalid = await failureOf(place(""));
    expect(invalid.rawMessage).toBe("the order is invalid: customer");
    expect(findDetails(invalid, BadRequestSchema)[0]?.fieldViolations[0]?.field).toBe("customer");
    await place("Cleo");
    expect(await failureOf(place("Dan"))).toMatchObject({
      code: Code.FailedPrecondition,
      rawMessage: "only 0 of Green tea are left",
    });
  });

  it("answers over gRPC too, on a socket", async () => {
    const port = await freePort();
    await startExample("workers", "start", { STAFF_TOKEN: "secret", GRPC_PORT: String(port) });
    const transport = createNodeTransport({ baseUrl: `http://localhost:${port}` });
    onTestFinished(() => transport.close({ graceMs: 0 }));
    const shop = createShopServiceClient(transport);
    expect((await shop.listProducts({})).products).toHaveLength(3);
    const headers = { authorization: "Bearer secret" };
    const order = { items: [{ productId: 9_007_199_254_740_993n, quantity: 1 }] };
    const delivery = { case: "pickup", value: "Main street" } as const;
    await shop.placeOrder({ customer: "Ada", ...order, delivery });
    for await (const { order: seen } of shop.watchOrders({}, { headers, timeoutMs: 20_000 })) {
      expect(seen?.customer).toBe("Ada");
      break;
    }
    expect(await failureOf(shop.watchOrders({}))).toMatchObject({ code: Code.Unauthenticated });
    expect((await failureOf(shop.placeOrder({ delivery }))).rawMessage).toContain("the order is invalid");
  });
});
