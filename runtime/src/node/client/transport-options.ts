/**
 * Options of transports over sockets.
 */
import type { SecureContextOptions } from "node:tls";
import type { TransparentRetryEvent } from "../../call/attempt.ts";
import type { RetryOptions } from "../../client/attempt-policy.ts";
import type { Codec } from "../../codec/codec.ts";
import type { Compression } from "../../codec/compression.ts";
import type { Balancer } from "../../discovery/balancer.ts";
import type { EjectionOptions } from "../../discovery/ejection-options.ts";
import type { Resolver } from "../../discovery/endpoint.ts";
import type { Registry } from "../../discovery/registry.ts";
import type { TargetEvent } from "../../discovery/target-options.ts";
import type { HeaderLimitsInit } from "../../protocol/header-limits.ts";
import type { InMemoryTransportOptions } from "../../protocol/options.ts";

/** Trusted certificates and identity of a client, in the form that `node:tls` accepts. */
export interface ClientTlsOptions extends SecureContextOptions {
  /** The name that the server's certificate must contain. Default: the host of the base URL. */
  readonly servername?: string | undefined;
  /** True if servers with an untrusted certificate are refused. Default: true. */
  readonly rejectUnauthorized?: boolean | undefined;
  /**
   * An empty list, for servers that speak HTTP/2 over TLS without ALPN, such as those of Dubbo for Java: ALPN is neither
   * offered nor required. Default: the version of HTTP in use. Over HTTP/2 a server that does not select it is refused (RFC
   * 9113, section 3.2).
   */
  readonly ALPNProtocols?: readonly [] | undefined;
  /** Path of a PEM file with a certificate and those of its issuers, instead of `cert`; with `keyFile`. Default: none. */
  readonly certFile?: string | undefined;
  /** Path of the PEM file with the key of the certificate, instead of `key`. Default: none. */
  readonly keyFile?: string | undefined;
  /** Path of a PEM file with the trusted certificates, instead of `ca`. Default: none. */
  readonly caFile?: string | undefined;
  /**
   * SPIFFE ids, such as `spiffe://example.org/orders`: the server's certificate must have one of them as its only URI, and no
   * name is compared. Default: none, the host is compared.
   */
  readonly spiffeIds?: readonly string[] | undefined;
  /**
   * True if new connections use the current contents of the files (gRFC A29). If these are invalid, as a key that does not fit
   * its certificate, the previous ones stay in use, and the reason is printed once. Default: false, the files are read once.
   */
  readonly reload?: boolean | undefined;
}

/** Options of a transport to one server. Durations are in milliseconds. */
export interface NodeTransportOptions extends InMemoryTransportOptions {
  /** The version of HTTP. Default: `2` for `grpc`, which requires it; `1.1` for `http-rpc`. */
  readonly httpVersion?: "1.1" | "2" | undefined;
  /** The name of the compression of requests, such as `gzip`. Default: none. */
  readonly compression?: string | undefined;
  /** Supported compressions. Default: gzip, br, deflate, and zstd from Node 22.15 on. */
  readonly compressions?: readonly Compression[] | undefined;
  /** Messages with fewer bytes than this are not compressed. Default: 1,024. */
  readonly compressMinBytes?: number | undefined;
  /**
   * Limits of header blocks: `request` for the headers that are sent, with `fields` (default 100) and `bytes` (default
   * 16,384; each field adds 32 to its name and value, as in HTTP/2), and `response` for received headers and trailers,
   * separately (default and maximum 2,000 and 65,536). A call fails with `invalid_argument` if its metadata exceeds a
   * limit, and with `resource_exhausted` if its response does.
   */
  readonly headerLimits?: HeaderLimitsInit | undefined;
  /** Maximum size of a received message, in bytes. A larger one fails the call with `resource_exhausted`. Default: 4 MiB. */
  readonly maxMessageBytes?: number | undefined;
  /**
   * Maximum number of values of a received message, as of the server option. A message with more fails the call with
   * `resource_exhausted` before it is decoded. Default: 65,536.
   */
  readonly maxMessageValues?: number | undefined;
  /**
   * The JSON body of a message over `http-rpc`: the specification's array of one element, or the bare object. The option
   * also applies to a single argument of an interface method, of any type. Default: `array`.
   */
  readonly jsonBody?: "array" | "object" | undefined;
  /**
   * True if methods are called by their names in Dubbo for Java. Code generated with `java_names` contains the names. Java
   * servers require them over `http-rpc`, and over `grpc` for a service with several groups or versions. Default: false,
   * the names of the proto file.
   */
  readonly javaNames?: boolean | undefined;
  /**
   * The codec of responses over `http-rpc`, requested by the header `accept`. Default: the codec of requests, without the
   * header. If a call sets `accept` in its headers, it must allow this codec, which decodes the response.
   */
  readonly accept?: "proto" | "json" | Codec | undefined;
  /**
   * True if requests over `grpc` send the type of their messages in `grpc-message-type`, such as `greet.v1.GreetRequest`.
   * Default: false. A call can also set the header itself.
   */
  readonly messageType?: boolean | undefined;
  /**
   * The content type of the messages of interface methods over `grpc`. Default: `application/grpc+proto`, which known peers
   * use.
   */
  readonly wrapperContentType?: "application/grpc+proto" | "application/triple+wrapper" | undefined;
  /**
   * The policy for retries or hedging (gRFC A6). Methods are retried if they are idempotent by their `idempotency_level`,
   * unless the policy's option `applies` selects others; only methods with an `idempotency_level` are hedged. Interceptors
   * run once for each call, not for each attempt. Default: none.
   */
  readonly retry?: RetryOptions | undefined;
  /**
   * A service config in gRPC's JSON format, as text or parsed: timeouts, wait for ready, retries and hedging by method. It
   * excludes the option `retry`. Default: none.
   */
  readonly serviceConfig?: string | object | undefined;
  /**
   * Called for each further attempt of a call, by the option `retry`, if that has no hook of its own, or by a service
   * config. An error that it throws is printed. Default: none.
   */
  readonly onRetry?: RetryOptions["onRetry"];
  /**
   * The URL of the server: `http://` or `https://`, host, port and an optional path prefix; or `unix:` and the path of a
   * socket.
   */
  readonly baseUrl: string;
  /**
   * Certificates and keys, in the form that `node:tls` accepts. The base URL must begin with `https://`; connections to
   * endpoints of a resolver or a registry are encrypted. Default: the system's certificate authorities.
   */
  readonly tls?: ClientTlsOptions | undefined;
  /**
   * The HTTP proxy through which connections are tunnelled by CONNECT, in cleartext and over TLS: its URL, such as
   * `http://user:password@proxy.example:3128`; `env`: that of `HTTPS_PROXY`, except for servers in `NO_PROXY` by the rules of Go;
   * false: none. Endpoints of a resolver are connected by address. Default: `env` if the base URL begins with `https://`, as in
   * gRPC; otherwise none.
   */
  readonly proxy?: string | false | undefined;
  /**
   * Makes a connection: two streams of bytes, such as a socket of Cloudflare or a tunnel, which has TLS itself if the base URL
   * begins with `https://`. Excludes `tls` and `proxy`. Default: `connect` of `node:net` and `node:tls`.
   */
  readonly connect?:
    | ((address: { readonly host: string; readonly port: number }) => {
        readonly readable: ReadableStream<Uint8Array>;
        readonly writable: WritableStream<Uint8Array>;
      })
    | undefined;
  /** Time limit for making a connection, proxy and TLS included. Default: 20,000. */
  readonly connectTimeoutMs?: number | undefined;
  /** Time without calls after which a connection is closed; 0: at once. Default: 15 minutes, over HTTP/1.1 25 seconds. */
  readonly idleTimeoutMs?: number | undefined;
  /**
   * True if calls wait while the server cannot be reached, until their deadlines, instead of failing as unavailable: attempts
   * continue with exponential backoff while a call waits. The option `waitForReady` of a call takes precedence. This is
   * gRPC's wait for ready. Default: false, as in gRPC, so that a caller can try another server without delay.
   */
  readonly waitForReady?: boolean | undefined;
  /**
   * Upper bound of the exponential backoff between attempts to connect, as in gRPC's document "connection-backoff". Backoff
   * begins with one second after the second failure in a row; calls that do not wait for the server fail at once meanwhile,
   * with the reason. The bound is one second if this machine itself refuses the connection. 0 disables backoff. Over HTTP/1.1 it applies only to attempts for calls that wait; every other call makes one
   * attempt. Default: 120,000.
   */
  readonly maxBackoffMs?: number | undefined;
  /**
   * HTTP/2: most connections at a time. Another connection is made only when the open streams come close to the limit that
   * the server sets for each connection. Calls that exceed all limits queue. Default: 10.
   */
  readonly maxConnections?: number | undefined;
  /**
   * HTTP/2: time without calls after which a connection is verified by a PING before it is used again. If the PING is not
   * acknowledged within `pingTimeoutMs`, the call gets a new connection. Default: 30,000.
   */
  readonly verifyAfterMs?: number | undefined;
  /**
   * HTTP/2: interval of keepalive PINGs on connections with running calls (gRPC's keepalive time). If a PING is not
   * acknowledged, the calls on that connection fail as unavailable. Many servers close connections that send more than one
   * PING in five minutes; the interval is doubled then. Default: no keepalive PINGs.
   */
  readonly pingIntervalMs?: number | undefined;
  /** HTTP/2: time limit for the acknowledgement of a PING (gRPC's keepalive timeout). Default: 5,000. */
  readonly pingTimeoutMs?: number | undefined;
  /**
   * Called before a request is sent again because no server has processed it (transparent retry, gRFC A6). An error that it
   * throws is printed. Default: none.
   */
  readonly onTransparentRetry?: ((event: TransparentRetryEvent) => void) | undefined;
}

/** Options of a transport to the endpoints that a resolver finds. */
export interface BalancedTransportOptions extends Omit<NodeTransportOptions, "baseUrl"> {
  /** Absent: the resolver finds the servers. */
  readonly baseUrl?: undefined;
  /** Finds the endpoints, for example `fixed([...])` or `dns(...)` of `triple-es/discovery`. It replaces `baseUrl`. */
  readonly resolver: Resolver;
  /**
   * The `:authority` of requests, for example `greet.example.com`. Its host must be in the server's certificate, and appears
   * in errors. With `tls`, connections are encrypted. Default: the authority of the resolver, which is the name for `dns`;
   * otherwise the address of each endpoint.
   */
  readonly authority?: string | undefined;
  /** Chooses the endpoint of a call. Default: `p2c()`, which draws two endpoints by weight and takes the less loaded one. */
  readonly balancer?: Balancer | undefined;
  /**
   * Largest number of endpoints that this transport uses; if there are more, it chooses at random. Recommended for more than
   * 100 endpoints. Default: all.
   */
  readonly subset?: number | undefined;
  /**
   * Name of the zone in which this client runs, such as `eu-west-1a`: calls go to endpoints of this zone while it has as large a
   * share of the endpoints that take calls as of the listed ones, within 5 %. The overflow goes to the other zones by weight.
   * Below half of the listed endpoints, zones do not matter. Default: none, zones do not matter.
   */
  readonly zone?: string | undefined;
  /**
   * Maximum number of calls that run on an endpoint at once, with a `registry` of one service (gRFC A32). Default: no limit.
   */
  readonly maxRequestsPerEndpoint?: number | undefined;
  /**
   * Maximum number of calls that wait, first in, first out, while each endpoint that they may use has `maxRequestsPerEndpoint`
   * calls. Further calls fail at once as `unavailable`, also with `waitForReady`. Default: 0, none waits, as in gRPC.
   */
  readonly maxPendingRequests?: number | undefined;
  /**
   * Maximum time in milliseconds for which an endpoint takes calls after a list has left it out, because the registry may be
   * the only one that cannot reach it: while it is connected, answers PINGs and has sent no GOAWAY, and only if no listed
   * endpoint takes calls. 0: it takes none. Default: 5 minutes.
   */
  readonly keepUnlistedMs?: number | undefined;
  /**
   * Time in milliseconds over which the weight of an endpoint grows after its start, as in Dubbo, if it publishes the time of
   * its start; otherwise after it became ready (slow start). Default: 10 minutes after a published start, and none otherwise.
   */
  readonly warmUpMs?: number | undefined;
  /**
   * Outlier ejection (gRFC A50): an endpoint that fails more calls than the others gets no calls for a while. Default: the
   * service config's `outlier_detection`, or else the defaults of its members.
   */
  readonly ejection?: EjectionOptions | undefined;
  /**
   * Called for changes: lists of endpoints, states of endpoints, failures of the resolver. An error that it throws is
   * printed. Default: none.
   */
  readonly onEndpoint?: ((event: TargetEvent) => void) | undefined;
}

/** Options of a transport to the services of a registry. */
export interface RegistryTransportOptions extends Omit<BalancedTransportOptions, "resolver"> {
  /** Absent: the registry has a resolver for each service. */
  readonly resolver?: undefined;
  /**
   * Finds the endpoints of each service that is called, with its group and version, for example `zookeeper({ servers })`. The
   * transport does not close it.
   */
  readonly registry: Registry;
}
