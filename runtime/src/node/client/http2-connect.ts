/**
 * Creates a client's HTTP/2 connections: the socket, TLS, and the server's connection preface, which is its first SETTINGS
 * frame (RFC 9113, section 3.4).
 */

import type { Socket } from "node:net";
import type { TLSSocket } from "node:tls";
import { diagnostics } from "../../call/diagnostics.ts";
import { now, startTimer } from "../../call/platform.ts";
import { onAbort } from "../../call/timer.ts";
import { CLOSED_BY_PEER, connectionError, connectTimeout, isClosedByPeer } from "../io/error.ts";
import type { Connect, Connection, ConnectionOwner } from "./connection.ts";
import { Http2Connection } from "./http2-connection.ts";
import { explainEnd, openSocket, type Target, usesAlpn } from "./socket.ts";

/** The cause for a server that selects no protocol by ALPN. Servers of HTTP/1.1 do so, and few of HTTP/2. */
const NO_ALPN = new Error(
  "the server did not negotiate HTTP/2 by ALPN (if it speaks HTTP/2 nevertheless, set tls.ALPNProtocols to [])",
);

/** Creates a function that connects to a server. `connectTimeoutMs` limits the time for making a connection, TLS included. */
export function connectHttp2(target: Target, connectTimeoutMs: number): Connect {
  /** True if the server has answered, so that it is known to speak HTTP/2 with or without TLS as configured. */
  let answered = false;
  return async (owner, signal) => {
    const connection = await connectSocket(target, connectTimeoutMs, answered, owner, signal);
    answered = true;
    return connection;
  };
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
    const startedAt = now();
    diagnostics.write?.(`connecting to ${peer} over HTTP/2`);
    const socket: Socket = openSocket(target, "h2");
    const closed = (): Error => explainEnd(CLOSED_BY_PEER, target, socket, answered);
    let isSettled = false;
    const settle = (): void => {
      isSettled = true;
      stopTimer();
      unlink();
    };
    const fail = (cause: unknown): void => {
      socket.destroy();
      // The end of the socket is reported by several events.
      if (isSettled) return;
      settle();
      const error = connectionError(cause, peer);
      diagnostics.write?.(error.rawMessage);
      reject(error);
    };
    socket.once("error", (error) => fail(isClosedByPeer(error) ? closed() : error));
    // RFC 9113, section 3.2
    if (usesAlpn(target)) {
      socket.once("secureConnect", () => (socket as TLSSocket).alpnProtocol === false && fail(NO_ALPN));
    }
    const stopTimer = startTimer(connectTimeoutMs, () => fail(connectTimeout(connectTimeoutMs, peer)));
    const unlink = onAbort(signal, fail);
    const connection = new Http2Connection(socket, target, owner, {
      // The event "connect" shows only that the kernel accepted the connection. The SETTINGS frame shows that the server
      // speaks HTTP/2, and contains its limits.
      onReady: () => {
        settle();
        diagnostics.write?.(`connected to ${peer} over HTTP/2 in ${Math.round(now() - startedAt)} ms`);
        resolve(connection);
      },
      onFailed: (cause) => fail(cause ?? closed()),
    });
  });
}
