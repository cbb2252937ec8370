/**
 * How a client's HTTP/2 connection on `node:http2` comes about: the socket, TLS, and the first word of the server.
 */
import { type ClientSessionOptions, connect, type SecureClientSessionOptions } from "node:http2";
import { connect as connectSocket } from "node:net";
import type { RpcError } from "../../call/error.ts";
import { onAbort, startTimer } from "../../call/timer.ts";
import { CLOSED_BY_PEER, connectTimeout, handshakeError, MAX_HEADER_PAIRS } from "../io/error.ts";
import type { Connect, Connection, ConnectionOwner } from "./connection.ts";
import { SessionConnection } from "./session.ts";

export interface HandshakeOptions {
  /** Path of the Unix socket to connect to, instead of the origin's host and port. */
  readonly socketPath: string | undefined;
  /** How long a connection may take to be made, TLS included, in milliseconds. */
  readonly connectTimeoutMs: number;
  /** For `https` origins: what `node:tls` takes. */
  readonly tls: Omit<SecureClientSessionOptions, keyof ClientSessionOptions> | undefined;
}

/** Bytes the server may send ahead of what is read: on one stream, and on one connection. */
const STREAM_WINDOW_BYTES = 256 * 1024;
const CONNECTION_WINDOW_BYTES = 4 * 1024 * 1024;

/** Makes connections to an origin, such as `http://localhost:50051`. */
export function connectSessions(origin: URL, options: HandshakeOptions): Connect {
  const connectOnce: Connect = (owner, signal) => shakeHands(origin, options, owner, signal);
  return (owner, signal) =>
    connectOnce(owner, signal).catch((error: RpcError) => {
      // A server that closes a connection it has only just taken was about to go, and may have a successor.
      if (signal.aborted || !wasClosed(error.cause)) throw error;
      return connectOnce(owner, signal);
    });
}

function wasClosed(cause: unknown): boolean {
  return cause === CLOSED_BY_PEER || (cause as NodeJS.ErrnoException | undefined)?.code === "ECONNRESET";
}

function shakeHands(
  origin: URL,
  { socketPath, connectTimeoutMs, tls }: HandshakeOptions,
  owner: ConnectionOwner,
  signal: AbortSignal,
): Promise<Connection> {
  return new Promise((resolve, reject) => {
    const session = connect(origin, {
      ...tls,
      maxHeaderListPairs: MAX_HEADER_PAIRS,
      settings: { enablePush: false, initialWindowSize: STREAM_WINDOW_BYTES },
      ...(socketPath === undefined ? {} : { createConnection: () => connectSocket(socketPath) }),
    });
    const peer = socketPath ?? origin.host;
    const fail = (cause: unknown): void => {
      settle();
      reject(handshakeError(cause, peer));
      session.destroy();
    };
    const stopTimer = startTimer(connectTimeoutMs, () => fail(connectTimeout(connectTimeoutMs, peer)));
    const unlink = onAbort(signal, fail);
    const settle = (): void => {
      stopTimer();
      unlink();
    };
    // Stays for good: a session may fail at any time, and its streams tell the calls on it.
    session.on("error", fail);
    session.once("close", () => fail(CLOSED_BY_PEER));
    // A server that refuses a certificate does so when the client takes TLS to be done. Node destroys the session then
    // and tells nobody but a ping that is under way. Events come a turn late: a session that was given up in between
    // would throw.
    if (origin.protocol === "https:") {
      session.once("connect", () => {
        if (!session.destroyed) session.ping((error) => error && fail(error));
      });
    }
    const connection = new SessionConnection(session, origin, peer, owner);
    // Not "connect", which says nothing about the other end: only now is it known to speak HTTP/2, and how much it takes.
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
