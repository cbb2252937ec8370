/**
 * Options of servers on Node.
 */
import type { RequestListener } from "node:http";
import type { TlsOptions } from "node:tls";
import type { ContextValues } from "../../call/call.ts";
import type { PeerConnection } from "../../call/peer.ts";
import type { HttpRequest } from "../../http/exchange.ts";
import type { RouterOptions } from "../../server/options.ts";
import type { ClientTlsOptions } from "../client/transport-options.ts";
import type { ConnectionLimits } from "./listener/limits.ts";
import type { TrustProxyOptions } from "./trusted-proxies.ts";

/** The address that a server listens on. */
export interface ListenOptions {
  /** Port to listen on, required unless `path` is set; 0 selects a free one. */
  readonly port?: number | undefined;
  /** Address to listen on. Default: all addresses of the machine. */
  readonly host?: string | undefined;
  /** Path of a Unix domain socket to listen on, instead of a port. Default: none. */
  readonly path?: string | undefined;
  /** Most connections that wait to be accepted. The system may have a lower maximum. Default: 511. */
  readonly backlog?: number | undefined;
}

/** Options of a router on Node. */
export interface NodeRouterOptions extends RouterOptions {
  /**
   * Serves a page at `/triple` on which developers call the methods of the router, with Swagger UI; it needs the package
   * `swagger-ui-dist`. Everybody who reaches the server can read the page, and it calls with the rights of its reader.
   * True: the page is not served if `NODE_ENV` is `production`; `always`: it is. Default: false.
   */
  readonly console?: boolean | "always" | undefined;
}

/**
 * An application that answers the requests that are not calls. A function is a listener of `node:http`, such as an
 * application of Express. An object with the function `fetch` answers a `Request` with a `Response`.
 */
export type FallbackApplication =
  | RequestListener
  | {
      /**
       * Answers a request. `env`, which is `c.env` in Hono, has its client, as in `context.peer`. A rejection is answered with
       * 500, and passed to `onError`.
       */
      fetch(request: Request, env: { readonly peer: PeerConnection | undefined }): Response | Promise<Response>;
    };

/** Options of a server: those of its router and those of its sockets. */
export interface ServerOptions extends NodeRouterOptions {
  /**
   * Creates the values of each call's context from the head of its request. Called when interceptors or the handler first
   * read `context.values`. If it throws, the call fails with `unknown`. Default: no values.
   */
  readonly values?:
    | ((request: Pick<HttpRequest, "path" | "headers" | "authority" | "peer">) => ContextValues)
    | undefined;
  /**
   * Trusted proxies. For a request from one of them, `context.peer.address` is the client's address in the proxy's header,
   * and the port is `undefined`; the other values still come from the connection. Default: none, so that such headers are
   * ignored.
   */
  readonly trustProxy?: TrustProxyOptions | undefined;
  /**
   * The application that answers all requests that are not calls: a function `(request, response)` as for `node:http`, such
   * as an application of Express, or an object with `fetch`, such as an application of Hono. A request is a call if its path
   * begins with the name of an added service, or if it has a content type of gRPC or the header `tri-protocol-version`. A
   * `node:http` function receives requests over HTTP/2 as if they were HTTP/1.1. Errors of the application are passed to
   * `onError`, and answered with 500. Default: none, so that these requests are answered as calls of unknown methods.
   */
  readonly fallback?: FallbackApplication | undefined;
  /**
   * Certificate and key, in the form that `node:tls` accepts, or their files, which `reload` reads for new connections. With
   * `spiffeIds`, the certificate of a client must have one of these as its only URI. Without `ciphers`, TLS 1.2 has only the
   * cipher suites that HTTP/2 allows. Default: no TLS.
   */
  readonly tls?:
    | (TlsOptions & Pick<ClientTlsOptions, "certFile" | "keyFile" | "caFile" | "reload" | "spiffeIds">)
    | undefined;
  /**
   * Called for TLS handshakes that fail: a client without a certificate, with an untrusted one, or that does not speak TLS.
   * For a certificate that does not verify, `code` of the error is the reason, such as `CERT_HAS_EXPIRED`, and the address is
   * `undefined`, because the connection is closed already. An error that the hook throws is printed. Clients can cause any
   * number of calls, so limit the rate of a log. Default: none.
   */
  readonly onTlsError?: ((error: Error, client: { readonly address: string | undefined }) => void) | undefined;
  /**
   * Accepts calls over HTTP/2 in WebSockets (subprotocol `h2ts`) at any path, from pages of its own host and of the origins
   * in `cors`. A proxy cannot see the headers of these calls, nor add any: only `cookie`, `origin`, `forwarded` and
   * `x-forwarded-for` come from the request of the WebSocket. Default: false.
   */
  readonly webSocket?: boolean | undefined;
  /** Most connections at a time. Further ones are closed at once. Default: 10,000. */
  readonly maxConnections?: number | undefined;
  /** Limits of one connection. Default: the defaults of the limits, which suit most servers. */
  readonly limits?: ConnectionLimits | undefined;
  /**
   * Memory budget of all connections together, in bytes. It includes received messages of calls without a response, and
   * written responses that clients have not received. Beyond the budget calls fail as unavailable (503 in HTTP RPC),
   * first those of clients that have stopped reading or sending for 5 s. Half of the budget is reserved for connections that
   * hold up to 16 KiB, so that small calls continue; a response larger than the other half is never sent. Must be at least
   * twice `maxMessageBytes`, otherwise a `RangeError` is thrown. Default: 256 MiB, or 4 times `maxMessageBytes` if that is
   * more.
   */
  readonly maxBufferedBytes?: number | undefined;
}
