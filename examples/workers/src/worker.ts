/**
 * A Worker that serves the shop to pages and other clients, and a Durable Object that keeps the shop's state. Every request
 * may reach another instance of a Worker, but all of them reach the same object.
 */
import { DurableObject } from "cloudflare:workers";
import {
  Code,
  createContextKey,
  createContextValues,
  createRouter,
  type HandlerContext,
  type Interceptor,
  RpcError,
} from "triple-es";
import { createTransport, fetchHandler } from "triple-es/fetch";
import { createServer } from "triple-es/node";
import {
  createShopServiceClient,
  type ShopServiceClient,
  ShopServiceDef,
  type ShopServiceHandler,
} from "../../gen/shop/v1/shop_triple.ts";
import { createShop } from "../../shop/shop.ts";

/** The bindings, which `workerd.capnp` declares. */
interface Env {
  readonly SHOP: DurableObjectNamespace<Shop>;
  readonly STAFF_TOKEN: string | null;
}

/** The state of the shop is in memory here. An application stores it with `this.ctx.storage`. */
export class Shop extends DurableObject<Env> {
  readonly #handle = fetchHandler(createRouter().add(ShopServiceDef, createShop()));

  override fetch(request: Request): Promise<Response> {
    return this.#handle(request);
  }
}

/** The bindings of a call, which the option `values` of `fetchHandler` sets. */
const bindings = createContextKey<Env | undefined>(undefined, "bindings");

function bindingsOf({ values }: HandlerContext): Env {
  const env = values.get(bindings);
  if (env === undefined) throw new Error("the option values has not set the bindings");
  return env;
}

/** A client of the Durable Object: its `fetch` replaces that of the network. */
function shopOf(context: HandlerContext): ShopServiceClient {
  const shop = bindingsOf(context).SHOP.getByName("main");
  const transport = createTransport({
    baseUrl: "http://shop",
    fetch: (url, init) => shop.fetch(url as string, init),
  });
  return createShopServiceClient(transport);
}

/** Compares digests in constant time, so that the time of an answer reveals neither the text nor its length. */
async function isSameText(a: string, b: string): Promise<boolean> {
  const digest = (text: string): Promise<ArrayBuffer> =>
    crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  return crypto.subtle.timingSafeEqual(await digest(a), await digest(b));
}

const service: ShopServiceHandler = {
  listProducts: (request, context) => shopOf(context).listProducts(request, { signal: context.signal }),

  // Errors of the Durable Object reach the caller unchanged.
  placeOrder: (request, context) => shopOf(context).placeOrder(request, { signal: context.signal }),

  async *watchOrders(request, context) {
    const token = bindingsOf(context).STAFF_TOKEN;
    const given = context.requestHeaders.get("authorization") ?? "";
    if (token === null || !(await isSameText(given, `Bearer ${token}`))) {
      throw new RpcError(Code.Unauthenticated, "the token of staff is required");
    }
    context.sendHeaders();
    yield* shopOf(context).watchOrders(request, { signal: context.signal });
  },
};
const router = createRouter({ cors: { origins: "*" } }).add(ShopServiceDef, service);

// biome-ignore lint/style/noDefaultExport: workerd loads the default export
export default {
  fetch: fetchHandler<[env: Env, context: ExecutionContext]>(router, {
    values: (_request, env) => createContextValues().set(bindings, env),
  }),

  /** Serves gRPC on a connection. Sockets belong to their request, so that each has a server of its own. */
  connect(socket: Socket, env: Env): Promise<void> {
    const withBindings: Interceptor = (next) => (request) => {
      request.context.values.set(bindings, env);
      return next(request);
    };
    return createServer({ interceptors: [withBindings] })
      .add(ShopServiceDef, service)
      .accept(socket);
  },
};
