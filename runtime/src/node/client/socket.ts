/**
 * The sockets of a client, for HTTP/1.1 and HTTP/2: TCP, TLS and Unix domain sockets.
 */

import { AsyncResource } from "node:async_hooks";
import { isIP, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import { reportConnection } from "../../call/diagnostics.ts";
import { reportRejection } from "../../call/error.ts";
import { now, startBackgroundTimer, startTimer } from "../../call/platform.ts";
import { onAbort } from "../../call/timer.ts";
import {
  CLOSED_BY_PEER,
  CLOSED_BY_PROXY,
  closedSilently,
  connectionError,
  ignore,
  isClosedByPeer,
} from "../../connection/error.ts";
import { clientTls, DEFAULT_CIPHERS } from "../io/tls-options.ts";
import { WebStreamSocket } from "../io/web-stream-socket.ts";
import { connect } from "../platform.ts";
import { type HttpProxy, openTunnel } from "./proxy.ts";
import type { ClientTlsOptions, NodeTransportOptions } from "./transport-options.ts";

const connectionContext = new AsyncResource("TRIPLE_CONNECTION", { requireManualDestroy: true });

/**
 * Begins work in the asynchronous context of all connections. Sockets, timers and promises keep the context in which they are
 * created, including the values of AsyncLocalStorage. That of the call that starts a connection must not live as long as the
 * connection.
 */
export const inConnectionContext = <T>(begin: () => T): T => connectionContext.runInAsyncScope(begin);

/** The server that a transport connects to. */
export interface Target {
  /** Scheme, host and port. */
  readonly origin: URL;
  /** Path of the Unix domain socket to connect to, instead of the origin's host and port. */
  readonly socketPath: string | undefined;
  /** Address to connect to, if it is not the host and port of the origin. */
  readonly address?: { readonly host: string; readonly port: number } | undefined;
  /** For `https` origins: the options of TLS. */
  readonly tls: ClientTlsOptions | undefined;
  /** Makes connections in place of `node:net` and `node:tls`. */
  readonly connect?: NodeTransportOptions["connect"];
  /** The name of the server in error messages. */
  readonly peer: string;
  /** The proxy to connect through. Default: none. */
  readonly proxy?: HttpProxy | undefined;
}

/**
 * Begins to connect, or to negotiate TLS in a tunnel, and returns the socket at once: the tunnel itself if there is no TLS. The
 * socket keeps the error listener of {@link guardSocket}.
 */
function openSocket(target: Target, alpnProtocol: "h2" | "http/1.1", tunnel?: Socket): Socket {
  const { origin, socketPath, tls } = target;
  if (target.connect !== undefined) {
    const streams = target.connect(addressOf(target));
    reportRejection("the option connect", streams);
    return guardSocket(new WebStreamSocket(streams) as Duplex as Socket);
  }
  if (socketPath !== undefined) return guardSocket(connect({ path: socketPath }));
  if (origin.protocol !== "https:") return tunnel ?? guardSocket(connect(addressOf(target)));
  const options = {
    // The server name indication must not be an IP address (RFC 6066, section 3).
    servername: isIP(hostOf(origin)) === 0 ? hostOf(origin) : "",
    ciphers: DEFAULT_CIPHERS,
    ...withoutUndefined(tls && clientTls(tls)),
  };
  // Cloudflare Workers refuse the option, even without a protocol.
  const ALPNProtocols = usesAlpn(target) ? [alpnProtocol] : undefined;
  return guardSocket(connect(addressOf(target), { ...options, ALPNProtocols, ...(tunnel && { socket: tunnel }) }));
}

/** Reports whether the protocol of a connection is negotiated by ALPN: always over TLS, unless the options exclude it. */
export function usesAlpn({ origin, socketPath, tls, connect }: Target): boolean {
  const { length }: { readonly length?: number } = tls?.ALPNProtocols ?? {};
  return socketPath === undefined && connect === undefined && origin.protocol === "https:" && length !== 0;
}

/** Returns the host and port to connect to. */
export function addressOf({ origin, address }: Target): { readonly host: string; readonly port: number } {
  return address ?? { host: hostOf(origin), port: Number(origin.port || (origin.protocol === "https:" ? 443 : 80)) };
}

/** A connection to make. */
export interface Establishing {
  readonly version: "HTTP/1.1" | "HTTP/2";
  /** Time limit, TLS included, in milliseconds. */
  readonly timeoutMs: number;
  /** True if the server has answered before. */
  readonly hasAnswered: boolean;
  /** Signals that end the attempt. */
  readonly signals: readonly (AbortSignal | undefined)[];
}

/**
 * Makes a connection, TLS included. Rejects as unavailable after the time limit or an error, and with the reason of a signal
 * that fires. `begin` gets the socket at once, and calls one of the functions; `fail` without a cause if the server ended it.
 * It ends the socket before or after `fail` itself: a reason that it has written must reach the server.
 */
export function establish<T>(
  target: Target,
  { version, timeoutMs, hasAnswered, signals }: Establishing,
  begin: (socket: Socket, done: (connection: T) => void, fail: (cause?: Error) => void) => void,
): Promise<T> {
  const { proxy } = target;
  const peer = proxy === undefined ? target.peer : `${target.peer} through the proxy ${proxy.name}`;
  const startedAt = now();
  const report = (type: "connecting" | "connected" | "failed", text: string): void =>
    reportConnection("client", type, peer, () => text);
  report("connecting", `connecting to ${peer} over ${version}`);
  return new Promise((resolve, reject) => {
    const alpnProtocol = version === "HTTP/2" ? "h2" : "http/1.1";
    let socket: Socket;
    try {
      socket =
        proxy === undefined
          ? openSocket(target, alpnProtocol)
          : guardSocket(connect({ host: proxy.host, port: proxy.port }));
    } catch (cause) {
      const error = connectionError(cause, peer);
      report("failed", error.rawMessage);
      return reject(error);
    }
    /** True until the proxy has made the tunnel. */
    let isAtProxy = proxy !== undefined;
    const release: (() => void)[] = [];
    let isSettled = false;
    const settle = (): void => {
      isSettled = true;
      for (const stop of release) stop();
      socket.off("error", fail).off("close", onClose);
    };
    const fail = (cause: Error = CLOSED_BY_PEER): void => {
      // The end of the socket is reported by several events.
      if (isSettled) return;
      settle();
      const known = isClosedByPeer(cause) ? (isAtProxy ? CLOSED_BY_PROXY : CLOSED_BY_PEER) : cause;
      const error = connectionError(isAtProxy ? known : explainEnd(known, target, socket, hasAnswered), peer);
      report("failed", error.rawMessage);
      reject(error);
    };
    const onClose = (): void => fail();
    socket.on("error", fail).on("close", onClose);
    release.push(startTimer(timeoutMs, () => socket.destroy(new Error(`no connection within ${timeoutMs} ms`))));
    for (const signal of signals) release.push(onAbort(signal, (reason) => socket.destroy(reason)));
    const done = (connection: T): void => {
      settle();
      report("connected", `connected to ${peer} over ${version} in ${Math.round(now() - startedAt)} ms`);
      resolve(connection);
    };
    if (proxy === undefined) return begin(socket, done, fail);
    openTunnel(socket, proxy, addressOf(target), () => {
      isAtProxy = false;
      try {
        const opened = openSocket(target, alpnProtocol, socket);
        socket.off("error", fail).off("close", onClose);
        socket = opened.on("error", fail).on("close", onClose);
        begin(socket, done, fail);
      } catch (error) {
        socket.destroy(error as Error);
      }
    });
  });
}

/**
 * Time in which a response that has arrived is read after a write has failed, in milliseconds. It is in the receive buffer of
 * the kernel by then, so this only bounds the reading of it.
 */
const READ_MS = 1_000;

/**
 * Lets a socket read the bytes that have arrived before a write failed: a server or proxy may answer early, for example with 413,
 * and close the connection while the request is sent (RFC 9112, section 9.5). Node would destroy the socket, and the response with
 * it. Here the write never completes, and the end of the input, or a second, ends the socket.
 */
export function readAfterFailedWrite(socket: Socket, onFailed: (error: Error) => void): void {
  const { _write, _writev } = socket;
  const unlessFailed =
    (done: (error?: Error | null) => void) =>
    (error?: NodeJS.ErrnoException | null): void => {
      const isFailed = error?.syscall === "write" && (error.code === "EPIPE" || error.code === "ECONNRESET");
      if (isFailed && !socket.destroyed) {
        onFailed(error);
        startBackgroundTimer(READ_MS, () => socket.destroy(error));
      } else done(error);
    };
  socket._write = (chunk, encoding, done) => _write.call(socket, chunk, encoding, unlessFailed(done));
  if (_writev !== undefined && _writev !== null) {
    socket._writev = (chunks, done) => _writev.call(socket, chunks, unlessFailed(done));
  }
}

/** Returns the cause of a connection's end, with a hint if a server closed it that never sent more than a TLS handshake. */
export function explainEnd(cause: Error, target: Target, socket: Socket, hasAnswered: boolean): Error {
  const { origin, tls } = target;
  const overTls = origin.protocol === "https:";
  if (hasAnswered || !isClosedByPeer(cause) || (!overTls && socket.bytesRead > 0)) return cause;
  const hasCertificate = (tls?.cert ?? tls?.certFile ?? tls?.pfx) !== undefined;
  const objection = hasCertificate
    ? "refuses the client's certificate"
    : usesAlpn(target)
      ? undefined
      : "requires ALPN";
  return closedSilently(overTls, objection);
}

/** Returns the host of an origin in the form that `node:net` accepts: IPv6 addresses without brackets. */
export function hostOf({ hostname }: URL): string {
  return hostname.replace(/^\[|\]$/g, "");
}

/**
 * Adds a listener for "error" that is never removed, because an "error" event without a listener ends the process. Each owner
 * of a socket removes its listener when it releases the socket. A write that fails between two owners, or after the last one,
 * would otherwise have no listener.
 */
function guardSocket<S extends Socket>(socket: S): S {
  return socket.on("error", ignore);
}

/** Removes properties that are `undefined`: an explicit `servername: undefined` must not replace the default. */
function withoutUndefined<T extends object>(options: T | undefined): Partial<T> {
  return Object.fromEntries(Object.entries(options ?? {}).filter(([, value]) => value !== undefined)) as Partial<T>;
}
