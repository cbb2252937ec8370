/** Options for TanStack Query, in a real `QueryClient`, with clients of each form of generated code. */
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { InfiniteQueryObserver, MutationObserver, QueryClient, QueryObserver } from "@tanstack/query-core";
import {
  Code,
  createFakeClient,
  createInMemoryTransport,
  createRouter,
  type Method,
  RpcError,
  type ServiceDef,
} from "triple-es";
import { createQueries } from "triple-es/query";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import {
  createShopServiceClient,
  ShopServiceDef,
  type ShopServiceHandler,
} from "../../examples/gen/shop/v1/shop_triple.ts";
import { createShopClient, ShopDef, type ShopHandler } from "../../fixtures/contract/gen/shop_triple.ts";
import {
  FindRequest_FilterSchema,
  FindRequestSchema,
  FindResponseSchema,
} from "../../fixtures/options/gen/client/fixture/options/v1/options_pb.ts";
import {
  createFakeThingsService,
  type FindRequestInit,
  ThingsService_find,
  ThingsServiceDef,
} from "../../fixtures/options/gen/client/fixture/options/v1/options_triple.ts";
import {
  ThingsServiceDef as JsonThingsServiceDef,
  type ThingsServiceClient,
} from "../../fixtures/options/gen/json/fixture/options/v1/options_triple.ts";

function createQueryClient(): QueryClient {
  const queryClient = new QueryClient({ defaultOptions: { queries: { retry: false } } });
  onTestFinished(() => queryClient.clear());
  return queryClient;
}

function createShop(handler: Partial<ShopServiceHandler>) {
  const router = createRouter().add(ShopServiceDef, handler as ShopServiceHandler);
  return createQueries(ShopServiceDef, createShopServiceClient(createInMemoryTransport(router)));
}

function createContractShop(handler: Partial<ShopHandler>) {
  const router = createRouter().add(ShopDef, handler as ShopHandler);
  return createQueries(ShopDef, createShopClient(createInMemoryTransport(router, { codec: "json" })));
}

const things = createQueries(ThingsServiceDef, createFakeThingsService());

describe("a query", () => {
  it("has the response as its data, and is invalidated by service, method and request", async () => {
    let calls = 0;
    const shop = createShop({ listProducts: () => ({ products: [{ id: BigInt(++calls) }] }) });
    const queryClient = createQueryClient();
    const observer = new QueryObserver(queryClient, shop.listProducts.queryOptions({}));
    onTestFinished(observer.subscribe(() => undefined));
    const expectCalls = (count: number) =>
      expect.poll(() => observer.getCurrentResult().data?.products[0]?.id).toBe(BigInt(count));
    await expectCalls(1);
    await queryClient.invalidateQueries({ queryKey: [ShopServiceDef.typeName] });
    await expectCalls(2);
    await queryClient.invalidateQueries({ queryKey: shop.listProducts.key() });
    await expectCalls(3);
    await queryClient.invalidateQueries({ queryKey: shop.listProducts.key({}), exact: true });
    await expectCalls(4);
    await queryClient.invalidateQueries({ queryKey: shop.placeOrder.key() });
    await expectCalls(4);
  });

  it("is invalidated by a part of its request", async () => {
    const find = vi.fn(async () => ({}));
    const { find: queries } = createQueries(ThingsServiceDef, createFakeThingsService({ find }));
    const queryClient = createQueryClient();
    for (const after of [1n, 2n]) await queryClient.fetchQuery(queries.queryOptions({ name: "lamp", after }));
    await queryClient.invalidateQueries({ queryKey: queries.key({ after: 2n }) });
    const states = queryClient.getQueryCache().getAll();
    expect(states.map(({ state }) => state.isInvalidated)).toEqual([false, true]);
  });

  it("cancels its call when it is cancelled", async () => {
    const signals: AbortSignal[] = [];
    const shop = createShop({
      listProducts: (_, { signal }) => {
        signals.push(signal);
        return new Promise(() => undefined);
      },
    });
    const queryClient = createQueryClient();
    const options = shop.listProducts.queryOptions({});
    const stop = new QueryObserver(queryClient, options).subscribe(() => undefined);
    await expect.poll(() => signals.length).toBe(1);
    stop();
    await expect.poll(() => signals[0]?.aborted).toBe(true);
    expect(queryClient.getQueryState(options.queryKey)?.fetchStatus).toBe("idle");
  });

  it("fails with the RpcError of the call", async () => {
    const shop = createShop({
      listProducts: () => {
        throw new RpcError(Code.PermissionDenied, "closed");
      },
    });
    const failed = createQueryClient().fetchQuery(shop.listProducts.queryOptions({}));
    await expect(failed).rejects.toMatchObject({
      code: Code.PermissionDenied,
      message: expect.stringContaining("closed"),
    });
  });

  it("passes the options of the call", async () => {
    const headers: (string | undefined)[] = [];
    const shop = createShop({
      listProducts: (_, context) => {
        headers.push(context.requestHeaders.get("tenant"));
        return {};
      },
    });
    const options = shop.listProducts.queryOptions({}, { headers: { tenant: "a" } });
    await createQueryClient().fetchQuery(options);
    expect(headers).toEqual(["a"]);
  });

  it("calls clients of plain JSON and of contracts", async () => {
    const jsonThings = createFakeClient<ThingsServiceClient>(JsonThingsServiceDef, {
      find: async ({ name }: { readonly name: string }) => ({ "kebab-case": name }),
    });
    const json = createQueries(JsonThingsServiceDef, jsonThings);
    const queryClient = createQueryClient();
    expect(await queryClient.fetchQuery(json.find.queryOptions({ name: "lamp" }))).toEqual({ "kebab-case": "lamp" });
    const due = new Date(0);
    const shop = createContractShop({ stock: () => null, now: () => due, order: (order) => ({ id: 1n, order }) });
    expect(await queryClient.fetchQuery(shop.stock.queryOptions("lamp"))).toBe(null);
    expect(await queryClient.fetchQuery(shop.now.queryOptions({}))).toEqual(due);
    const order = { items: [{ thing: "lamp", count: 1 }], customer: "a@b.example", due, colour: "RED" } as const;
    expect((await queryClient.fetchQuery(shop.order.queryOptions(order))).id).toBe(1n);
    expect(shop.order.key(order).at(-1)).toEqual({ ...order, due: due.toJSON() });
  });
});

describe("an infinite query", () => {
  it("has the request of each page as its parameter", async () => {
    const client = createFakeThingsService({
      find: async ({ after }) => ({ names: { 1: `after ${after}` } }),
    });
    const { find } = createQueries(ThingsServiceDef, client);
    const next = (_: unknown, request: FindRequestInit) => {
      const after = BigInt(request.after ?? 0n) + 1n;
      return after < 3n ? { ...request, after } : undefined;
    };
    const observer = new InfiniteQueryObserver(createQueryClient(), find.infiniteOptions({ name: "lamp" }, next));
    onTestFinished(observer.subscribe(() => undefined));
    await expect.poll(() => observer.getCurrentResult().isSuccess).toBe(true);
    while (observer.getCurrentResult().hasNextPage) await observer.fetchNextPage();
    const { data } = observer.getCurrentResult();
    expect(data?.pages.map(({ names }) => names[1])).toEqual(["after 0", "after 1", "after 2"]);
    expect(data?.pageParams.at(-1)).toEqual({ name: "lamp", after: 2n });
  });
});

describe("a mutation", () => {
  it("has the request as its variables", async () => {
    const shop = createShop({ placeOrder: ({ customer }) => ({ order: { customer } }) });
    const mutation = new MutationObserver(createQueryClient(), shop.placeOrder.mutationOptions({ timeoutMs: 10_000 }));
    expect((await mutation.mutate({ customer: "Ada" })).order?.customer).toBe("Ada");
  });
});

describe("a query of a stream", () => {
  const reduction = {
    initial: [] as readonly bigint[],
    reduce: (ids: readonly bigint[], { order }: { order?: { id: bigint } | undefined }) => [...ids, order?.id ?? 0n],
  };

  it("is successful from the response headers on, and shows each message while it runs", async () => {
    const messages = new TransformStream<bigint, bigint>();
    const writer = messages.writable.getWriter();
    const shop = createShop({
      async *watchOrders(_, context) {
        context.sendHeaders();
        for await (const id of messages.readable) yield { order: { id } };
      },
    });
    const observer = new QueryObserver(createQueryClient(), shop.watchOrders.streamOptions({}, reduction));
    onTestFinished(observer.subscribe(() => undefined));
    for (const data of [[], [1n], [1n, 2n]]) {
      const id = data.at(-1);
      if (id !== undefined) await writer.write(id);
      await expect.poll(() => observer.getCurrentResult().data).toEqual(data);
      expect(observer.getCurrentResult()).toMatchObject({ status: "success", fetchStatus: "fetching" });
    }
    await writer.close();
    await expect.poll(() => observer.getCurrentResult().fetchStatus).toBe("idle");
    expect(observer.getCurrentResult().data).toEqual([1n, 2n]);
  });

  it.each([
    [
      "continues after the cached data",
      (ids: readonly bigint[]) => ({ afterId: ids.at(-1) ?? 0n }),
      [0n, 2n],
      [1n, 2n, 3n, 4n],
    ],
    ["begins again without resume", undefined, [0n, 0n], [1n, 2n]],
  ] as const)("%s when it is repeated", async (_, resume, requests, data) => {
    const received: bigint[] = [];
    const shop = createShop({
      async *watchOrders({ afterId }) {
        received.push(afterId);
        yield { order: { id: afterId + 1n } };
        yield { order: { id: afterId + 2n } };
        if (received.length === 1) throw new RpcError(Code.Unavailable, "restarted");
      },
    });
    const queryClient = createQueryClient();
    const options = shop.watchOrders.streamOptions({ afterId: 0n }, { ...reduction, resume });
    await expect(queryClient.fetchQuery(options)).rejects.toMatchObject({ code: Code.Unavailable });
    expect(queryClient.getQueryData(options.queryKey)).toEqual([1n, 2n]);
    expect(await queryClient.fetchQuery(options)).toEqual(data);
    expect(received).toEqual(requests);
  });

  it("keeps its data and cancels its call when nothing observes it", async () => {
    const signals: AbortSignal[] = [];
    const shop = createShop({
      async *watchOrders(_, { signal }) {
        signals.push(signal);
        yield { order: { id: 1n } };
        await new Promise(() => undefined);
      },
    });
    const observer = new QueryObserver(createQueryClient(), shop.watchOrders.streamOptions({}, reduction));
    const stop = observer.subscribe(() => undefined);
    await expect.poll(() => observer.getCurrentResult().data).toEqual([1n]);
    stop();
    await expect.poll(() => signals[0]?.aborted).toBe(true);
    expect(observer.getCurrentQuery().state).toMatchObject({ data: [1n], fetchStatus: "idle" });
  });
});

describe("the key of a query", () => {
  it("is the same for a message and its init shape", () => {
    const init: FindRequestInit = {
      limit: 0,
      after: 7n,
      token: new Uint8Array([1, 2, 3]),
      score: Number.NaN,
      since: { seconds: 5n },
      by: { case: "filter", value: { pattern: "a", anyOf: [{ pattern: "" }] } },
    };
    const message = create(FindRequestSchema, {
      ...init,
      by: { case: "filter", value: create(FindRequest_FilterSchema, { pattern: "a", anyOf: [{}] }) },
    });
    const key = {
      limit: 0,
      after: "7",
      token: "AQID",
      score: "NaN",
      since: { seconds: "5" },
      filter: { pattern: "a", anyOf: [{}] },
    };
    expect(things.find.key(init)).toEqual([ThingsServiceDef.typeName, "find", key]);
    expect(things.find.key(message)).toEqual(things.find.key(init));
    expect(things.find.key(create(FindRequestSchema))).toEqual(things.find.key({}));
    expect(things.find.infiniteOptions(init, () => undefined).queryKey).toEqual([...things.find.key(init), "infinite"]);
    expect(things.watch.key({ by: { case: "query", value: { fields: [], n: 0 } } }).at(-1)).toEqual({
      query: { fields: [], n: 0 },
    });
  });

  it("has the entries of maps", () => {
    const method = { ...ThingsService_find, input: FindResponseSchema } as Method;
    const client = { find: async (request: MessageInitShape<typeof FindResponseSchema>) => request };
    const { find } = createQueries(
      { typeName: "test", methods: { find: method } } as ServiceDef<typeof client, object>,
      client,
    );
    const request = { byName: { a: { title: "", size: 0n } }, names: { 1: "" }, chunks: {} };
    expect(find.key(request).at(-1)).toEqual({ byName: { a: {} }, names: { 1: "" } });
  });

  it("begins with the prefix", () => {
    const tenant = createQueries(ThingsServiceDef, createFakeThingsService(), ["tenant", 1]);
    expect(tenant.find.key()).toEqual(["tenant", 1, ThingsServiceDef.typeName, "find"]);
    expect(tenant.find.mutationOptions().mutationKey).toEqual(tenant.find.key());
  });
});

it("a client of another service is an error", () => {
  expect(() => createQueries(ThingsServiceDef, {} as never)).toThrow(
    new TypeError("the client of fixture.options.v1.ThingsService has no method find"),
  );
});
