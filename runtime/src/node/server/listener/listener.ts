/**
 * The listener: one port for HTTP/1.1 and HTTP/2, and its graceful shutdown. Over TLS, ALPN selects the version if the client
 * offers it. Otherwise the first bytes of a connection select it.
 */

import type { AddressInfo, Server, Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { TLSSocket, TlsOptions, Server as TlsServer } from "node:tls";
import { Code } from "../../../call/code.ts";
import { callHook, RpcError } from "../../../call/error.ts";
import { assertAmount, assertMembers, assertOneOf } from "../../../call/option.ts";
import { defer, startBackgroundTimer, startTimer } from "../../../call/platform.ts";
import { ignore } from "../../../connection/error.ts";
import { MemoryBudget, resolveBudgetBytes } from "../../../connection/memory-budget.ts";
import type { ServerState, SocketState } from "../../../http/channel-state.ts";
import type { Exchange } from "../../../http/exchange.ts";
import { DEFAULT_FIELD_LIMITS, resolveHeaderLimits } from "../../../protocol/header-limits.ts";
import { createOriginPolicy } from "../../../server/cors.ts";
import { currentTls } from "../../io/tls-files.ts";
import { checkTlsOptions, spiffeProblem } from "../../io/tls-options.ts";
import { createSocketServer } from "../../platform.ts";
import { serveHttp1 } from "../http1/engine.ts";
import { serveHttp2 } from "../http2/engine.ts";
import type { ListenOptions, ServerOptions } from "../server-options.ts";
import type { ServedConnections, ServerEngineOptions } from "./engine.ts";
import { ABORT_GRACE_MS, type Limits, resolveLimits } from "./limits.ts";
import { handshakeError, resolveTlsOptions } from "./tls.ts";

/** The first bytes of every HTTP/2 connection. No HTTP/1.1 request begins with them. */
const HTTP2_PREFACE = Buffer.from("PRI * HTTP/2.0");
/** Time in which connections must send their first bytes after the server has begun to close, in milliseconds. */
const FIRST_BYTES_MS = 500;

/** The sockets of a server. */
export class Listener {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  /** The ends of accepted sockets, which the server of Node does not count, nor its maximum. */
  readonly #accepted = new Set<Promise<void>>();
  /** Sockets whose version of HTTP is not known yet. */
  readonly #undecided = new Set<Socket>();
  readonly #http1: ServedConnections;
  readonly #http2: ServedConnections;
  readonly #limits: Limits;
  /** Fires when the server begins to close. */
  readonly #draining = new AbortController();
  #closing: Promise<void> | undefined;

  constructor(exchange: Exchange, options: ServerOptions) {
    const { tls, maxBufferedBytes, maxMessageBytes, maxConnections = 10_000, onTlsError, webSocket = false } = options;
    assertAmount("maxConnections", maxConnections, true);
    assertOneOf("webSocket", webSocket, [true, false]);
    const limits = resolveLimits(options.limits);
    this.#limits = limits;
    const engineOptions: ServerEngineOptions = {
      exchange,
      limits,
      budget: new MemoryBudget(resolveBudgetBytes(maxBufferedBytes, maxMessageBytes)),
      maxHeaderBytes: resolveHeaderLimits(DEFAULT_FIELD_LIMITS, options.headerLimits).request.bytes,
      draining: this.#draining.signal,
      maxConnections,
      allowsWebSocket: webSocket ? createOriginPolicy(options.cors ?? { origins: [] }) : undefined,
    };
    this.#http2 = serveHttp2(engineOptions);
    this.#http1 = serveHttp1(engineOptions, this.#http2);
    this.#server = tls === undefined ? createSocketServer() : this.#createTlsServer(tls, onTlsError);
    this.#server.maxConnections = maxConnections;
    const sockets = this.#sockets;
    const undecided = this.#undecided;
    function forget(this: Socket): void {
      sockets.delete(this);
      undecided.delete(this);
    }
    this.#server.on("connection", (socket: Socket) => {
      if (sockets.size >= maxConnections) return void socket.destroy();
      sockets.add(socket);
      undecided.add(socket);
      socket.on("close", forget);
      // Socket errors are frequent and harmless here; the engine that takes the socket over adds its own listener.
      socket.on("error", ignore);
      if (tls === undefined) this.#detect(socket);
    });
  }

  /** Starts to listen. Rejects if the port is not available, and after the server has begun to close. */
  async listen(options: ListenOptions): Promise<void> {
    assertMembers("the options of listen", options, ["port", "host", "path", "backlog"]);
    const { port, host, path, backlog } = options;
    if (port === undefined && path === undefined)
      throw new TypeError("listen needs port (0 selects a free one) or path");
    return new Promise((resolve, reject) => {
      const server = this.#server;
      const onClose = (): void => reject(new Error("the server is closed and cannot listen again; create another one"));
      if (this.#closing !== undefined) return onClose();
      const settle = (): void => {
        server.off("error", onError);
        server.off("close", onClose);
      };
      const onError = (error: Error): void => {
        settle();
        reject(error);
      };
      server.on("error", onError);
      server.on("close", onClose);
      server.listen({ ...(path === undefined ? { port, host } : { path }), backlog }, () => {
        settle();
        // An error of a single connection, for example too many open files, must not end the process.
        server.on("error", () => {});
        resolve();
      });
    });
  }

  /** Serves a connection that is not one of the port. Settles when it has closed. */
  async accept(socket: Duplex): Promise<void> {
    const closed = new Promise<void>((resolve) => socket.on("close", resolve));
    if (this.#closing !== undefined || this.#sockets.size >= this.#server.maxConnections) socket.destroy();
    else this.#server.emit("connection", socket as Socket);
    this.#accepted.add(closed);
    await closed;
    this.#accepted.delete(closed);
  }

  /** The address on which the server listens. Throws before that, and for a Unix domain socket, which has none. */
  get address(): AddressInfo {
    const address = this.#server.address();
    if (typeof address === "object" && address !== null) return address;
    throw new Error("the server does not listen on a port");
  }

  /** The sockets, for channelz. */
  get state(): Pick<ServerState, "listening" | "sockets"> {
    const key = this.#server;
    const bound = key.address();
    const local = typeof bound === "string" ? { address: bound, port: undefined } : bound;
    const listening: SocketState[] =
      local === null ? [] : [{ key, local, remote: undefined, tls: undefined, http2: undefined }];
    return { listening, sockets: [...this.#http1, ...this.#http2].map((connection) => connection.state) };
  }

  /** Stops listening, and cancels calls that exceed the grace period. Always settles; another call waits for the same end. */
  close(graceMs: number): Promise<void> {
    this.#closing ??= this.#close(graceMs);
    return this.#closing;
  }

  async #close(graceMs: number): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    const reason = new RpcError(Code.Unavailable, "the server is shutting down");
    this.#draining.abort(reason);
    this.#http1.drain();
    this.#http2.drain();
    // First calls of clients that have just connected finish. After a block of the event loop, they are read before this runs.
    const destroyUndecided = (): void => {
      for (const socket of this.#undecided) socket.destroy();
    };
    const stopWaiting = startTimer(Math.min(graceMs, FIRST_BYTES_MS), () => defer(destroyUndecided));
    const stopAborting = startTimer(graceMs, () => {
      this.#http1.abort(reason);
      this.#http2.abort(reason);
    });
    const stopDestroying = startTimer(graceMs + ABORT_GRACE_MS, () => {
      for (const socket of this.#sockets) socket.destroy();
    });
    await Promise.all([closed, ...this.#accepted]);
    stopWaiting();
    stopAborting();
    stopDestroying();
  }

  /** Lets the clients of all connections connect again. */
  drainConnections(): void {
    this.#http1.drainConnections();
    this.#http2.drainConnections();
  }

  #createTlsServer(options: NonNullable<ServerOptions["tls"]>, onTlsError: ServerOptions["onTlsError"]): Server {
    const resolve = (current: TlsOptions): TlsOptions => resolveTlsOptions(current, this.#limits.headersTimeoutMs);
    let current = checkTlsOptions(options);
    const server = createSocketServer(resolve(current)) as TlsServer;
    // Before the listener of Node, which begins the handshake. The new context has its own keys of session tickets, so that no
    // session is resumed that another authority has verified.
    server.prependListener("connection", () => {
      const previous = current;
      current = currentTls(options);
      if (current !== previous) server.setSecureContext(resolve(current));
    });
    const report = (error: Error, { remoteAddress: address }: TLSSocket): void => {
      if (onTlsError !== undefined) callHook("the hook onTlsError", () => onTlsError(error, { address }));
    };
    const { spiffeIds } = options;
    if (spiffeIds !== undefined && !options.requestCert) throw new TypeError("tls.spiffeIds needs tls.requestCert");
    server.on("secureConnection", (socket: TLSSocket) => {
      socket.on("error", ignore);
      this.#decide(socket);
      // A certificate that was not verified, as `rejectUnauthorized: false` allows, may have any id.
      const verified = spiffeIds && socket.authorized ? socket.getPeerX509Certificate() : undefined;
      const refusal = spiffeIds && spiffeProblem(spiffeIds, verified?.subjectAltName);
      if (refusal !== undefined) {
        report(refusal, socket);
        return void socket.destroy();
      }
      // HTTP/2 over TLS is negotiated by ALPN (RFC 9113, section 3.2), but clients of Dubbo for Java do not offer ALPN.
      if (socket.alpnProtocol) return void (socket.alpnProtocol === "h2" ? this.#http2 : this.#http1).accept(socket);
      this.#undecided.add(socket);
      socket.on("close", () => this.#undecided.delete(socket));
      this.#detect(socket);
    });
    server.on("tlsClientError", (error, socket: TLSSocket) => report(handshakeError(error, socket), socket));
    // This listener runs after the hook, because a destroyed socket has no address.
    server.on("tlsClientError", (_error, socket) => socket.destroy());
    return server;
  }

  /**
   * Continues after a TLS handshake. Node keeps the socket below in `_parent`; on other platforms it is found by the address of the
   * peer, which accepted sockets and Unix sockets lack.
   */
  #decide({ _parent, remoteAddress, remotePort }: TLSSocket & { readonly _parent?: Socket | null }): void {
    if (_parent) return void this.#undecided.delete(_parent);
    for (const socket of this.#undecided) {
      if (socket.remoteAddress === remoteAddress && socket.remotePort === remotePort) this.#undecided.delete(socket);
    }
  }

  /**
   * Reads until the bytes are the HTTP/2 preface or differ from it, and returns them to the socket for the engine. No
   * listener of this method outlives it: the variables of its listeners would stay in memory as long as the connection.
   */
  #detect(socket: Socket): void {
    let head: Buffer = Buffer.alloc(0);
    // The timeout of the socket would remain in memory, with its listener, after it is removed.
    const stopTimer = startBackgroundTimer(this.#limits.headersTimeoutMs, () => socket.destroy());
    const onReadable = (): void => {
      const chunk: Buffer | null = socket.read();
      if (chunk === null) return;
      head = head.byteLength === 0 ? chunk : Buffer.concat([head, chunk]);
      const length = Math.min(head.byteLength, HTTP2_PREFACE.byteLength);
      const possible = head.subarray(0, length).equals(HTTP2_PREFACE.subarray(0, length));
      if (possible && length < HTTP2_PREFACE.byteLength) return;
      socket.off("readable", onReadable);
      socket.off("close", stopTimer);
      stopTimer();
      this.#undecided.delete(socket);
      socket.unshift(head);
      (possible ? this.#http2 : this.#http1).accept(socket);
    };
    socket.on("close", stopTimer);
    socket.on("readable", onReadable);
  }
}
