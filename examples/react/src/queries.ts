/** The client of the shop, and its calls as queries and mutations of TanStack Query. */
import { QueryClient, useMutation, useQuery } from "@tanstack/react-query";
import { Code, RpcError } from "triple-es";
import { createTransport } from "triple-es/proto";
import { createQueries } from "triple-es/query";
import type { Order } from "../../gen/shop/v1/shop_pb.ts";
import { createShopServiceClient, ShopServiceDef } from "../../gen/shop/v1/shop_triple.ts";

/** The server of the page also answers its calls: unary methods by HTTP RPC, the stream by gRPC-Web. */
const shop = createQueries(ShopServiceDef, createShopServiceClient(createTransport({ baseUrl: location.origin })));

/** The server cannot be reached, or is shutting down. Other errors are the same when the call is repeated. */
function isTemporary(error: unknown): boolean {
  return error instanceof RpcError && error.code === Code.Unavailable;
}

export const queryClient = new QueryClient({
  defaultOptions: { queries: { retry: (count, error) => isTemporary(error) && count < 3 } },
});

const products = shop.listProducts.queryOptions({});

export const useProducts = () => useQuery({ ...products, select: (response) => response.products });
export const useProduct = (id: bigint) =>
  useQuery({ ...products, select: (response) => response.products.find((product) => product.id === id) });

export const usePlaceOrder = () =>
  useMutation({
    ...shop.placeOrder.mutationOptions({ timeoutMs: 10_000 }),
    onSettled: () => queryClient.invalidateQueries(products),
  });

/** A query that runs as long as the page shows it. One second after the stream has ended, it continues after the last order. */
const liveOrders = shop.watchOrders.streamOptions(
  {},
  {
    initial: [] as readonly Order[],
    reduce: (orders, { order }) => (order === undefined ? orders : [...orders, order]),
    resume: (orders) => ({ afterId: orders.at(-1)?.id ?? 0n }),
  },
);

export const useLiveOrders = () => useQuery({ ...liveOrders, retry: false, refetchInterval: 1_000 });
