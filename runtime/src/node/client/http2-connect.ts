/**
 * Makes a client's HTTP/2 connections: the socket, TLS, and the server's connection preface, its first SETTINGS frame (RFC 9113,
 * section 3.4).
 */
import { AsyncResource } from "node:async_hooks";
import type { Socket } from "node:net";
import type { RpcError } from "../../call/error.ts";
import { onAbort, startTimer } from "../../call/timer.ts";
import { CLOSED_BY_PEER, closedSilently, connectionError, connectTimeout, isClosedByPeer } from "../io/error.ts";
import type { Connect, Connection, ConnectionOwner } from "./connection.ts";
import { Http2Connection } from "./http2-connection.ts";
import { openSocket, silenceOf, type Target } from "./socket.ts";

/**
 * The async context that sockets are made in. A socket keeps the context it is made in, AsyncLocalStorage included: that of the
 * call which happens to connect must not live as long as the connection.
 */
const root = new AsyncResource("TRIPLE_SOCKET", { requireManualDestroy: true });

/** Makes connections to a server. A connection may take `connectTimeoutMs` to be made, TLS included. */
export function connectHttp2(target: Target, connectTimeoutMs: number): Connect {
  /** True if the server is known to speak HTTP/2 in the way it is spoken to. */
  let answered = false;
  const connectOnce = async (owner: ConnectionOwner, signal: AbortSignal): Promise<Connection> => {
    const connection = await connectSocket(target, connectTimeoutMs, answered, owner, signal);
    answered = true;
    return connection;
  };
  return (owner, signal) =>
    connectOnce(owner, signal).catch((error: RpcError) => {
      // A server that closes a connection it has just accepted was shutting down, and may have a successor.
      if (signal.aborted || !isClosedByPeer(error.cause)) throw error;
      return connectOnce(owner, signal);
    });
}

function connectSocket(
  target: Target,
  connectTimeoutMs: number,
  answered: boolean,
  owner: ConnectionOwner,
  signal: AbortSignal,
): Promise<Connection> {
  return new Promise((resolve, reject) => {
    const { peer } = target;
    const socket: Socket = root.runInAsyncScope(openSocket, undefined, target, "h2");
    const closed = (): Error => {
      const silence = answered ? undefined : silenceOf(target, socket);
      return silence === undefined ? CLOSED_BY_PEER : closedSilently(silence);
    };
    const settle = (): void => {
      stopTimer();
      unlink();
    };
    const fail = (cause: unknown): void => {
      settle();
      reject(connectionError(cause, peer));
      socket.destroy();
    };
    socket.once("error", (error) => fail(isClosedByPeer(error) ? closed() : error));
    const stopTimer = startTimer(connectTimeoutMs, () => fail(connectTimeout(connectTimeoutMs, peer)));
    const unlink = onAbort(signal, fail);
    const connection = new Http2Connection(socket, target, owner, {
      // Not "connect", which does not depend on the server: its SETTINGS show that it speaks HTTP/2, and its limits.
      onReady: () => {
        settle();
        resolve(connection);
      },
      onFailed: (cause) => fail(cause ?? closed()),
    });
  });
}
