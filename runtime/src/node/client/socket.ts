/**
 * The sockets of a client, for HTTP/1.1 and HTTP/2: TCP, TLS and Unix domain sockets.
 */

import { Agent, type ClientRequest } from "node:http";
import { Agent as TlsAgent } from "node:https";
import { isIP, type Socket } from "node:net";
import type { ConnectionOptions } from "node:tls";
import { abortError } from "../../call/error.ts";
import { startTimer } from "../../call/platform.ts";
import { onAbort } from "../../call/timer.ts";
import { CLOSED_BY_PEER, connectionError, connectTimeout, ignore, type Silence } from "../io/error.ts";
import { DEFAULT_CIPHERS } from "../io/tls-options.ts";
import { connect } from "../platform.ts";
import { connectionContext } from "./attempts.ts";
import { readAfterFailedWrite } from "./write-failure.ts";

/** The server that a transport connects to. */
export interface Target {
  /** Scheme, host and port. */
  readonly origin: URL;
  /** Path of the Unix domain socket to connect to, instead of the origin's host and port. */
  readonly socketPath: string | undefined;
  /** Address to connect to, if it is not the host and port of the origin. */
  readonly address?: { readonly host: string; readonly port: number } | undefined;
  /** For `https` origins: the options for `node:tls`. */
  readonly tls: ConnectionOptions | undefined;
  /** The name of the server in error messages. */
  readonly peer: string;
}

/** Begins to connect, and returns the socket at once. The socket keeps the error listener of {@link guardSocket}. */
export function openSocket(target: Target, alpnProtocol: "h2" | "http/1.1"): Socket {
  const { origin, socketPath, tls } = target;
  if (socketPath !== undefined) return guardSocket(connect({ path: socketPath }));
  if (origin.protocol !== "https:") return guardSocket(connect(addressOf(target)));
  const options = { servername: servernameOf(origin), ciphers: DEFAULT_CIPHERS, ...withoutUndefined(tls) };
  const ALPNProtocols = usesAlpn(target) ? [alpnProtocol] : [];
  return guardSocket(connect(addressOf(target), { ...options, ALPNProtocols }));
}

/** Reports whether the protocol of a connection is negotiated by ALPN: always over TLS, unless the options exclude it. */
export function usesAlpn({ origin, socketPath, tls }: Target): boolean {
  return socketPath === undefined && origin.protocol === "https:" && !isEmpty(tls?.ALPNProtocols);
}

function isEmpty(list: unknown): boolean {
  return Array.isArray(list) && list.length === 0;
}

/** Returns the host and port to connect to. */
export function addressOf({ origin, address }: Target): { readonly host: string; readonly port: number } {
  return address ?? { host: hostOf(origin), port: Number(origin.port || (origin.protocol === "https:" ? 443 : 80)) };
}

/** Returns the name for TLS's server name indication. IP addresses must not be sent (RFC 6066, section 3). */
function servernameOf(origin: URL): string {
  const host = hostOf(origin);
  return isIP(host) === 0 ? host : "";
}

/**
 * Makes a connection, TLS included, and closes it. Rejects as unavailable after `timeoutMs`, after an error, or if the signal
 * fires.
 */
export function probe(target: Target, timeoutMs: number, signal: AbortSignal): Promise<void> {
  const { origin, peer } = target;
  return new Promise<void>((resolve, reject) => {
    if (signal.aborted) return reject(abortError(signal));
    const socket = openSocket(target, "http/1.1");
    const settle = (how: () => void): void => {
      stopTimer();
      unlink();
      socket.destroy();
      how();
    };
    const fail = (cause: unknown): void => settle(() => reject(connectionError(cause, peer)));
    const stopTimer = startTimer(timeoutMs, () => fail(connectTimeout(timeoutMs, peer)));
    const unlink = onAbort(signal, fail);
    socket.once(origin.protocol === "https:" ? "secureConnect" : "connect", () => settle(resolve));
    socket.once("error", fail);
    socket.once("close", () => fail(CLOSED_BY_PEER));
  });
}

/** Creates an agent of `node:http` or `node:https` that keeps connections to the target alive, and guards their sockets. */
export function createAgent({ origin, address, tls }: Target, idleTimeoutMs: number): Agent {
  // The timeout applies to the agent's idle sockets only.
  const options = { keepAlive: true, timeout: idleTimeoutMs };
  const name = address === undefined ? {} : { servername: servernameOf(origin) };
  const agent =
    origin.protocol === "https:" ? new TlsAgent({ ...name, ...withoutUndefined(tls), ...options }) : new Agent(options);
  const createConnection = agent.createConnection.bind(agent);
  agent.createConnection = (...args) => {
    const socket = createConnection(...args);
    if (socket) {
      guardSocket(socket as Socket).on("data", closeIfIdle);
      readAfterFailedWrite(socket as Socket);
    }
    return socket;
  };
  reuseDirectly(agent as InternalAgent);
  return agent;
}

/** The part of Node's agents that has no types. Other agents for Node, such as those for proxies, use it as well. */
interface InternalAgent extends Agent {
  /** Passes a request to an idle socket, or to a new one. Deno and Bun may not have it. */
  addRequest?: (request: AssignableRequest, options: object) => void;
  readonly freeSockets: Record<string, Socket[]>;
}

/** A request that can be assigned to a socket. */
interface AssignableRequest extends ClientRequest {
  onSocket(socket: Socket): void;
}

/** A socket with the request that it was last assigned to. */
type AssignedSocket = Socket & { _httpMessage?: { readonly shouldKeepAlive: boolean } | null };

/**
 * Closes a connection on which bytes arrive while it has no request. They could otherwise be taken for a part of the next
 * response (RFC 9112, sections 6.3 and 11.1).
 */
function closeIfIdle(this: AssignedSocket): void {
  if (this._httpMessage === null) this.destroy();
}

/** The name of all connections of an agent: they have the same target. */
const NAME = "target";

/**
 * Replaces the choice of a socket by an agent. Node copies the options of each request and joins them to a name, under
 * which it looks for an idle socket; with one target, that is a fifth of the time of a request. New sockets are left to
 * Node, in the asynchronous context of all connections, because they are reused by other calls.
 */
function reuseDirectly(agent: InternalAgent): void {
  const addRequest = agent.addRequest?.bind(agent);
  if (addRequest === undefined) return;
  agent.getName = () => NAME;
  agent.addRequest = (request, options) => {
    for (;;) {
      const socket = agent.freeSockets[NAME]?.pop();
      if (socket === undefined) return connectionContext.runInAsyncScope(addRequest, undefined, request, options);
      if (!socket.writable) continue;
      agent.reuseSocket(socket, request);
      return request.onSocket(socket);
    }
  };
  // An idle socket is in both lists, `sockets` and `freeSockets`. When it closes, Node removes it from both.
  agent.removeAllListeners("free");
  agent.on("free", (socket: AssignedSocket) => {
    agent.freeSockets[NAME] ??= [];
    const idle = agent.freeSockets[NAME];
    const isReusable = socket.writable && socket._httpMessage?.shouldKeepAlive && idle.length < agent.maxFreeSockets;
    // Returns false, contrary to its type, if the server will close the connection soon.
    if (!isReusable || (agent.keepSocketAlive(socket) as unknown) === false) return void socket.destroy();
    socket._httpMessage = null;
    idle.push(socket);
  });
}

/**
 * Reports whether a connection ended before the server sent anything other than its TLS handshake. Call it only for a server
 * that has never answered.
 */
export function silenceOf({ origin, tls }: Target, socket: Socket): Silence | undefined {
  const overTls = origin.protocol === "https:";
  if (!overTls && socket.bytesRead > 0) return undefined;
  return { overTls, hasCertificate: (tls?.cert ?? tls?.pfx) !== undefined };
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
