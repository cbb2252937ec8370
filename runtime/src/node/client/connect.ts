/**
 * Makes a client's HTTP/2 connections on `node:http2`: the socket, TLS, and the server's first SETTINGS frame.
 */
import { connect } from "node:http2";
import type { RpcError } from "../../call/error.ts";
import { onAbort, startTimer } from "../../call/timer.ts";
import { CLOSED_BY_PEER, closedSilently, connectTimeout, handshakeError, isClosedByPeer } from "../io/error.ts";
import { CONNECTION_WINDOW_BYTES, MAX_HTTP2_FIELDS, STREAM_WINDOW_BYTES } from "../io/http2-limits.ts";
import type { Connect, Connection, ConnectionOwner } from "./connection.ts";
import { SessionConnection } from "./session.ts";
import { openSocket, silenceOf, type Target } from "./socket.ts";

/** Makes connections to a server. A connection may take `connectTimeoutMs` to be made, TLS included. */
export function connectSessions(target: Target, connectTimeoutMs: number): Connect {
  /** Whether the server is known to speak HTTP/2 in the way it is spoken to. */
  let answered = false;
  const connectOnce = async (owner: ConnectionOwner, signal: AbortSignal): Promise<Connection> => {
    const connection = await connectSession(target, connectTimeoutMs, answered, owner, signal);
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

function connectSession(
  target: Target,
  connectTimeoutMs: number,
  answered: boolean,
  owner: ConnectionOwner,
  signal: AbortSignal,
): Promise<Connection> {
  return new Promise((resolve, reject) => {
    const { origin, peer } = target;
    const socket = openSocket(target, "h2");
    const closed = (): Error => {
      const silence = answered ? undefined : silenceOf(target, socket);
      return silence === undefined ? CLOSED_BY_PEER : closedSilently(silence);
    };
    const fail = (cause: unknown): void => {
      settle();
      reject(handshakeError(cause, peer));
      session.destroy();
      socket.destroy();
    };
    // A TLS alert, such as the refusal of a certificate that TLS 1.3 sends after the handshake, is an error of the socket
    // only: Node 20 ends the session without one.
    socket.once("error", (error) => fail(isClosedByPeer(error) ? closed() : error));
    const session = connect(origin, {
      createConnection: () => socket,
      maxHeaderListPairs: MAX_HTTP2_FIELDS,
      settings: { enablePush: false, initialWindowSize: STREAM_WINDOW_BYTES },
    });
    const stopTimer = startTimer(connectTimeoutMs, () => fail(connectTimeout(connectTimeoutMs, peer)));
    const unlink = onAbort(signal, fail);
    const settle = (): void => {
      stopTimer();
      unlink();
    };
    // Never removed: a session may fail at any time, and its streams report that to the calls on it.
    session.on("error", fail);
    session.once("close", () => fail(closed()));
    const connection = new SessionConnection(session, socket, target, owner);
    // Not "connect", which does not depend on the server: its SETTINGS show that it speaks HTTP/2, and its limits.
    session.once("remoteSettings", () => {
      if (session.destroyed) return;
      settle();
      session.setLocalWindowSize(CONNECTION_WINDOW_BYTES);
      // An idle connection must not keep a program from ending.
      session.unref();
      resolve(connection);
    });
  });
}
