/** The types of queries: TanStack Query infers data, errors and variables from options without type arguments. */
import { InfiniteQueryObserver, MutationObserver, QueryClient, QueryObserver } from "@tanstack/query-core";
import type { RpcError } from "triple-es";
import { createQueries } from "triple-es/query";
import { describe, expectTypeOf, it } from "vitest";
import type { ListProductsResponse, PlaceOrderResponse } from "../../examples/gen/shop/v1/shop_pb.ts";
import {
  type ListProductsRequestInit,
  type PlaceOrderRequestInit,
  type ShopServiceClient,
  ShopServiceDef,
} from "../../examples/gen/shop/v1/shop_triple.ts";
import { type ShopClient, ShopDef } from "../../fixtures/contract/gen/shop_triple.ts";

declare const client: ShopServiceClient;
declare const contractClient: ShopClient;
const queryClient = new QueryClient();
const shop = createQueries(ShopServiceDef, client);
const contract = createQueries(ShopDef, contractClient);

describe("options of a query", () => {
  it("have the types of the method", () => {
    expectTypeOf(shop.listProducts.queryOptions).parameter(0).toEqualTypeOf<ListProductsRequestInit>();
    expectTypeOf(shop.listProducts.key).parameter(0).toEqualTypeOf<ListProductsRequestInit | undefined>();
    expectTypeOf(
      queryClient.fetchQuery(shop.listProducts.queryOptions({})),
    ).resolves.toEqualTypeOf<ListProductsResponse>();
    expectTypeOf(queryClient.fetchQuery(contract.now.queryOptions({}))).resolves.toEqualTypeOf<Date>();
    expectTypeOf(queryClient.fetchQuery(contract.stock.queryOptions("lamp"))).resolves.toEqualTypeOf<number | null>();
    // @ts-expect-error: a required request
    shop.listProducts.queryOptions();
    // @ts-expect-error: TanStack Query passes the signal
    shop.listProducts.queryOptions({}, { signal: AbortSignal.abort() });
  });

  it("have RpcError as the type of errors", () => {
    const { data, error } = new QueryObserver(queryClient, shop.listProducts.queryOptions({})).getCurrentResult();
    expectTypeOf(data).toEqualTypeOf<ListProductsResponse | undefined>();
    expectTypeOf(error).toEqualTypeOf<RpcError | null>();
    const selected = {
      ...shop.listProducts.queryOptions({}),
      select: ({ products }: ListProductsResponse) => products.length,
    };
    expectTypeOf(new QueryObserver(queryClient, selected).getCurrentResult().data).toEqualTypeOf<number | undefined>();
    const pages = shop.listProducts.infiniteOptions({}, (page, request) =>
      page.products.length > 0 ? request : undefined,
    );
    const infinite = new InfiniteQueryObserver(queryClient, pages).getCurrentResult();
    expectTypeOf(infinite.data?.pages).toEqualTypeOf<ListProductsResponse[] | undefined>();
    expectTypeOf(infinite.error).toEqualTypeOf<RpcError | null>();
    const mutation = new MutationObserver(queryClient, shop.placeOrder.mutationOptions());
    expectTypeOf(mutation.mutate).parameter(0).toEqualTypeOf<PlaceOrderRequestInit>();
    expectTypeOf(mutation.mutate({})).resolves.toEqualTypeOf<PlaceOrderResponse>();
    expectTypeOf(mutation.getCurrentResult().error).toEqualTypeOf<RpcError | null>();
  });

  it("have the type of a reduction for a stream", () => {
    const options = shop.watchOrders.streamOptions(
      {},
      { initial: 0n, reduce: (_, { order }) => order?.id ?? 0n, resume: (afterId) => ({ afterId }) },
    );
    const { data, error } = new QueryObserver(queryClient, options).getCurrentResult();
    expectTypeOf(data).toEqualTypeOf<bigint | undefined>();
    expectTypeOf(error).toEqualTypeOf<RpcError | null>();
  });

  it("exist for the kinds of calls that they can make", () => {
    expectTypeOf<keyof typeof shop.watchOrders>().toEqualTypeOf<"key" | "streamOptions">();
    expectTypeOf(contract.total).toBeNever();
    expectTypeOf(contract.find).toBeNever();
  });
});
