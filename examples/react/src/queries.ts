/** The client of the shop, and its calls as queries and mutations of TanStack Query. */
import { QueryClient, type QueryKey, queryOptions, useMutation, useQuery } from "@tanstack/react-query";
import { Code, RpcError } from "triple-es";
import { createTransport } from "triple-es/proto";
import type { Order } from "../../gen/shop/v1/shop_pb.ts";
import { createShopServiceClient, type PlaceOrderRequestInit } from "../../gen/shop/v1/shop_triple.ts";

/** The server of the page also answers its calls: unary methods by HTTP RPC, the stream by gRPC-Web. */
const shop = createShopServiceClient(createTransport({ baseUrl: location.origin }));

/** TanStack Query hashes keys with `JSON.stringify`, which fails for the ids of messages: they are of the type `bigint`. */
function hashKey(key: QueryKey): string {
  return JSON.stringify(key, (_, value) => (typeof value === "bigint" ? `${value}n` : value));
}

/** The server cannot be reached, or is shutting down. Other errors are the same when the call is repeated. */
function isTemporary(error: unknown): boolean {
  return error instanceof RpcError && error.code === Code.Unavailable;
}

export const queryClient = new QueryClient({
  defaultOptions: {
    queries: { queryKeyHashFn: hashKey, retry: (count, error) => isTemporary(error) && count < 3 },
  },
});

const products = queryOptions({
  queryKey: ["products"],
  queryFn: async ({ signal }) => (await shop.listProducts({}, { signal })).products,
});

/** A query whose key contains the id of a product. */
const productById = (id: bigint) =>
  queryOptions({
    queryKey: ["product", { id }],
    queryFn: async ({ client }) =>
      (await client.ensureQueryData(products)).find((product) => product.id === id) ?? null,
  });

export const useProducts = () => useQuery(products);
export const useProduct = (id: bigint) => useQuery(productById(id));

export function usePlaceOrder() {
  return useMutation({
    mutationFn: (request: PlaceOrderRequestInit) => shop.placeOrder(request, { timeoutMs: 10_000 }),
    onSettled: () => queryClient.invalidateQueries(products),
  });
}

interface LiveOrders {
  readonly orders: readonly Order[];
  /** False while the connection is lost. */
  readonly isLive: boolean;
}

/**
 * A query that never ends: each message of the stream is written to the cache. After a lost connection the query is
 * repeated, and continues after the last order. When the last component that uses the query is unmounted, `signal`
 * cancels the call.
 */
const liveOrders = queryOptions({
  queryKey: ["orders"],
  queryFn: async ({ client, queryKey, signal }): Promise<LiveOrders> => {
    const update = (change: (data: LiveOrders) => LiveOrders) =>
      client.setQueryData<LiveOrders>(queryKey, (data = { orders: [], isLive: false }) => change(data));
    const last = client.getQueryData<LiveOrders>(queryKey)?.orders.at(-1);
    const onHeaders = () => void update((data) => ({ ...data, isLive: true }));
    try {
      for await (const { order } of shop.watchOrders({ afterId: last?.id ?? 0n }, { signal, onHeaders })) {
        if (order !== undefined) update((data) => ({ ...data, orders: [...data.orders, order] }));
      }
    } finally {
      if (!signal.aborted) update((data) => ({ ...data, isLive: false }));
    }
    throw new RpcError(Code.Unavailable, "the server has ended the stream");
  },
  retry: (_, error) => isTemporary(error),
  retryDelay: 1_000,
  staleTime: Number.POSITIVE_INFINITY,
});

export const useLiveOrders = () => useQuery(liveOrders);
