/**
 * A server: a router that listens on a socket.
 */

import type { AddressInfo } from "node:net";
import { type CloseOptions, gracePeriod } from "../../call/context.ts";
import { reportFailure } from "../../call/error.ts";
import { assertFunctions, type MemberNames } from "../../call/option.ts";
import { now } from "../../call/platform.ts";
import { resolvedWithin } from "../../call/timer.ts";
import type { ServerState, Shown } from "../../http/channel-state.ts";
import type { Exchange } from "../../http/exchange.ts";
import { isMarkedCall } from "../../protocol/headers.ts";
import { resolveErrorHook } from "../../protocol/options.ts";
import { WebStreamSocket } from "../io/web-stream-socket.ts";
import type { ServedExchange } from "./adapter/adapter.ts";
import { fetchExchange } from "./fallback/fetch.ts";
import { nodeExchange } from "./fallback/node.ts";
import { Listener } from "./listener/listener.ts";
import type { ListenOptions, NodeRouterOptions, ServerOptions } from "./server-options.ts";
import { withTrustedProxies } from "./trusted-proxies.ts";

const SOCKET_OPTION_NAMES: MemberNames<Omit<ServerOptions, keyof NodeRouterOptions>> = {
  tls: true,
  onTlsError: true,
  maxConnections: true,
  limits: true,
  maxBufferedBytes: true,
  webSocket: true,
  values: true,
  trustProxy: true,
  fallback: true,
};

/** The names of the options of a server that routers do not have. */
export const SOCKET_OPTIONS: readonly string[] = Object.keys(SOCKET_OPTION_NAMES);

/** The functions that a server has in addition to those of its router. */
export interface SocketServer {
  /** Starts to listen on one port for HTTP/1.1 and HTTP/2. Resolves when the server listens, and rejects if it cannot. */
  readonly listen: (options: ListenOptions) => Promise<this>;
  /**
   * Serves a connection that the platform has accepted, as those of the port: HTTP/2 or HTTP/1.1 on two streams of bytes, such
   * as the socket that the handler `connect` of a Cloudflare Worker receives. Settles when the connection has closed, with or
   * without an error. A connection beyond `maxConnections`, or of a server that closes, is closed at once. In Workers, create the
   * server in the handler or in a Durable Object, because requests do not share timers. Rejects with a `TypeError` for what is
   * not a pair of streams.
   */
  readonly accept: (socket: {
    readonly readable: ReadableStream<Uint8Array>;
    readonly writable: WritableStream<Uint8Array>;
  }) => Promise<void>;
  /** The address that the server listens on. Throws an `Error` if there is none, or it is a Unix socket. */
  readonly address: AddressInfo;
  /**
   * Shuts down gracefully: stops listening, sends GOAWAY to HTTP/2 clients, and closes connections without a call. Running
   * calls, including streams, continue up to the grace period (default: 30 seconds). Then their signals fire and they fail as
   * unavailable; one second later the remaining connections are closed. Settles when all connections are closed. A second
   * call waits for the same shutdown, and its grace period has no effect. Rejects with a `TypeError`, without closing
   * anything, if the grace period is invalid.
   */
  readonly close: (options?: CloseOptions) => Promise<void>;
  /**
   * Registers a callback that runs when the server begins to close, while it still answers calls. End long streams in the
   * callback; otherwise they run until the grace period ends. If the callback returns a promise, the server continues to
   * accept calls until the promise settles, for half of the grace period at most.
   */
  readonly onClose: (callback: () => unknown) => void;
  /**
   * Lets all clients connect again, as `limits.maxConnectionAgeMs` does for one: sends GOAWAY to HTTP/2 clients, and
   * `connection: close` with the next response to each HTTP/1.1 client. Running calls continue, and the server accepts new
   * connections. A connection that has sent nothing yet is not ended. Clients with a list of servers that omits this one turn to
   * the others.
   */
  readonly drainConnections: () => void;
  /** Closes the server with the default grace period, for `await using`. */
  readonly [Symbol.asyncDispose]: () => Promise<void>;
}

/**
 * Adds the functions of a server to a router and returns it, so that `add` of the router returns the server. Throws a
 * `TypeError` or `RangeError` for an invalid option.
 */
export function withSockets<Router extends ServedExchange>(
  router: Router,
  options: ServerOptions,
): Router & SocketServer {
  const { values, trustProxy, onTlsError } = options;
  assertFunctions({ values, onTlsError });
  const calls = withTrustedProxies(withValues(router.exchange, values), trustProxy);
  const listener = new Listener(withFallback(router, calls, options), options);
  const closeHooks = new Set<() => unknown>();
  let closing: Promise<void> | undefined;
  const sockets: SocketServer = {
    async listen(listenOptions) {
      await listener.listen(listenOptions);
      return server;
    },
    accept: async (streams) => listener.accept(new WebStreamSocket(streams)),
    get address() {
      return listener.address;
    },
    onClose: (callback) => void closeHooks.add(callback),
    async close(closeOptions = {}) {
      // The grace period is validated first, because hooks must not be called for a shutdown that is refused.
      const graceMs = gracePeriod(closeOptions);
      closing ??= shutDown(graceMs);
      return closing;
    },
    drainConnections: () => listener.drainConnections(),
    [Symbol.asyncDispose]: () => server.close(),
  };
  const routed = (router as Partial<Shown<ServerState>>)["~state"];
  const shown: Shown<ServerState> | undefined = routed && { "~state": () => ({ ...routed(), ...listener.state }) };
  const server = Object.defineProperties(
    Object.assign(router, shown),
    Object.getOwnPropertyDescriptors(sockets),
  ) as Router & SocketServer;
  return server;

  async function shutDown(graceMs: number): Promise<void> {
    const startedAt = now();
    // The server still answers calls: a provider leaves its registry in such a hook, and clients learn of it later.
    const running = Array.from(closeHooks, async (hook) => hook()).map((one) =>
      one.catch((reason: unknown) => reportFailure("the hook onClose", reason)),
    );
    if (running.length > 0) await resolvedWithin(Promise.all(running), graceMs / 2);
    return listener.close(Math.max(0, graceMs - (now() - startedAt)));
  }
}

/** Lets the application of the option `fallback` answer the requests that are not calls. */
function withFallback(router: ServedExchange, calls: Exchange, options: ServerOptions): Exchange {
  const { fallback, trustProxy } = options;
  if (fallback === undefined) return calls;
  const onError = resolveErrorHook(options.onError);
  let others: Exchange;
  // Applications of `node:http` have their own option for proxies.
  if (typeof fallback === "function") others = nodeExchange(fallback, onError);
  else if (typeof fallback?.fetch === "function")
    others = withTrustedProxies(fetchExchange(fallback, onError), trustProxy);
  else throw new TypeError("fallback must be a function (request, response) as for node:http, or an object with fetch");
  return (request) => (router.serves(request) || isMarkedCall(request.headers) ? calls(request) : others(request));
}

function withValues(exchange: Exchange, values: ServerOptions["values"]): Exchange {
  if (values === undefined) return exchange;
  return (request) => exchange(Object.assign(request, { values: () => values(request) }));
}
