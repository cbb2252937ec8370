/**
 * Adapter for existing servers of `node:http` and `node:http2`, such as Express: each pair of request and response becomes an
 * exchange. Listening, limits and shutdown are left to the owner of the server.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Http2ServerRequest, Http2ServerResponse } from "node:http2";
import type { ContextValues } from "../../../call/call.ts";
import { Code, Status } from "../../../call/code.ts";
import { RpcError } from "../../../call/error.ts";
import { assertFunctions, assertMembers } from "../../../call/option.ts";
import { ignore } from "../../../connection/error.ts";
import type { Body } from "../../../http/body.ts";
import type { Exchange, HttpRequest, HttpResponse } from "../../../http/exchange.ts";
import { pathsBelow, removedPrefix } from "../../../http/path-prefix.ts";
import { type TrustProxyOptions, withTrustedProxies } from "../trusted-proxies.ts";
import { http1Request, respondHttp1 } from "./http1.ts";
import { failHttp2, http2Request, respondHttp2 } from "./http2.ts";

/** A request of `node:http` or `node:http2`. */
export type NodeRequest = IncomingMessage | Http2ServerRequest;
/** A response of `node:http` or `node:http2`. */
export type NodeResponse = ServerResponse | Http2ServerResponse;

/** Answers a request of `node:http` or `node:http2`, or calls `next`. */
export type NodeHandler = (request: NodeRequest, response: NodeResponse, next?: (error?: unknown) => void) => void;

/** An exchange, and the requests that it answers. A router is one. */
export interface ServedExchange {
  readonly exchange: Exchange;
  readonly serves: (request: Pick<HttpRequest, "method" | "path">) => boolean;
}

/** Options of {@link nodeHandler}. */
export interface NodeHandlerOptions {
  /**
   * The path prefix of methods, such as `/api`. Default: none. It is not needed in Express and Connect, which remove the
   * path that a handler is mounted at.
   */
  readonly prefix?: string | undefined;
  /**
   * Creates the values of each call's context from the server's request, including the properties that middleware has
   * added, such as `request.user`. Called when interceptors or the handler first read `context.values`. Default: no values.
   */
  readonly values?: ((request: NodeRequest) => ContextValues) | undefined;
  /** Trusted proxies, as in the option of `createServer`. Default: none. */
  readonly trustProxy?: TrustProxyOptions | undefined;
}

/**
 * Creates a handler that answers requests by calling the exchange. Other requests are passed to `next`, if there is
 * one. Throws a `TypeError` for an invalid option.
 */
export function createNodeHandler(served: ServedExchange, options: NodeHandlerOptions): NodeHandler {
  assertMembers("the options of nodeHandler", options, ["prefix", "values", "trustProxy"]);
  const { values, trustProxy } = options;
  assertFunctions({ values });
  const pathOf = pathsBelow(options.prefix);
  const exchange = withTrustedProxies(served.exchange, trustProxy);
  return (incoming, outgoing, next) => {
    const path = pathOf(incoming.url ?? "");
    if (next !== undefined && !served.serves({ method: incoming.method ?? "", path })) {
      next();
      return;
    }
    incoming.on("error", ignore);
    outgoing.on("error", ignore);
    const pair = pairOf(incoming, outgoing, path);
    const { request } = pair;
    // Another handler has read the body.
    if (incoming.readableDidRead) Object.assign(request, { body: CONSUMED });
    const prefix = removedPrefix((incoming as { originalUrl?: string }).originalUrl ?? incoming.url ?? "", path);
    if (prefix !== "") Object.assign(request, { prefix });
    if (values !== undefined) Object.assign(request, { values: () => values(incoming) });
    exchange(request)
      .then((response) => pair.respond(response))
      // Responding can fail, for example if Node refuses to send a header. The response is then aborted, so that the peer
      // does not wait for it.
      .catch(() => pair.fail());
  };
}

/** One request and its response, whichever version of HTTP they have. */
interface Pair {
  readonly request: HttpRequest;
  respond(response: HttpResponse): Promise<void> | void;
  /** Aborts the response. */
  fail(): void;
}

function pairOf(incoming: NodeRequest, outgoing: NodeResponse, path: string): Pair {
  if ("stream" in incoming && "stream" in outgoing) {
    return {
      request: http2Request(incoming, path),
      respond: (response) => respondHttp2(outgoing, response),
      fail: () => failHttp2(outgoing),
    };
  }
  const [request, response] = [incoming as IncomingMessage, outgoing as ServerResponse];
  return {
    request: http1Request(request, response, path),
    respond: (answer) => respondHttp1(response, answer),
    fail: () => outgoing.destroy(),
  };
}

const consumed = (): RpcError =>
  new RpcError(
    Code.Internal,
    "the body of the request has been read before the nodeHandler of triple-es could: " +
      "mount the handler before body parsers such as express.json()",
    { status: Status.ServerError },
  );

const CONSUMED: Body = {
  bytes: () => Promise.reject(consumed()),
  // biome-ignore lint/correctness/useYield: it fails before there is anything to yield
  async *[Symbol.asyncIterator]() {
    throw consumed();
  },
};
