/**
 * Client sessions: the HTTP/2 connections of a transport to its origin, made when they are needed and replaced when they
 * are lost.
 */
import {
  type ClientHttp2Session,
  type ClientSessionOptions,
  connect,
  type SecureClientSessionOptions,
} from "node:http2";
import { Code } from "../code.ts";
import { onAbort, startTimer } from "../deadline.ts";
import { RpcError } from "../error.ts";
import { connectionError } from "./error.ts";

export interface SessionOptions {
  /** How long a connection may take to be made, TLS included, in milliseconds. */
  readonly connectTimeoutMs: number;
  /** How long a connection may be without calls before it is closed, in milliseconds. */
  readonly idleTimeoutMs: number;
  /** For `https` origins: what `node:tls` takes. */
  readonly tls: Omit<SecureClientSessionOptions, keyof ClientSessionOptions> | undefined;
}

export interface SessionPool {
  readonly scheme: string;
  readonly authority: string;
  /**
   * A session to open one stream on; it keeps the program running until it is released. Rejects as unavailable if none
   * can be made, or when the signal fires first.
   */
  acquire(signal: AbortSignal | undefined): Promise<ClientHttp2Session>;
  /** Tells that the stream for which the session was acquired has closed. */
  release(session: ClientHttp2Session): void;
  /** Lets running streams finish and refuses new ones. */
  close(): Promise<void>;
}

/** Bytes the server may send ahead of what is read: on one stream, and on one connection. */
const STREAM_WINDOW_BYTES = 256 * 1024;
const CONNECTION_WINDOW_BYTES = 4 * 1024 * 1024;

/** Makes the pool of an origin, such as `http://localhost:50051`. No connection is made before the first call. */
export function createSessionPool(origin: URL, options: SessionOptions): SessionPool {
  /** The sessions that are open, with the number of their streams. */
  const open = new Map<ClientHttp2Session, number>();
  let current: Promise<ClientHttp2Session> | undefined;
  let closed = false;

  function start(): Promise<ClientHttp2Session> {
    const starting = openSession(origin, options);
    current = starting;
    const forget = (): void => {
      if (current === starting) current = undefined;
    };
    starting.then((session) => {
      open.set(session, 0);
      // A session that is going away serves its streams to the end; new ones go to the next session.
      session.once("goaway", forget);
      session.setTimeout(options.idleTimeoutMs, () => {
        forget();
        session.close();
      });
      session.once("close", () => {
        open.delete(session);
        forget();
      });
    }, forget);
    return starting;
  }

  return {
    scheme: origin.protocol.slice(0, -1),
    authority: origin.host,
    async acquire(signal) {
      for (;;) {
        if (closed) throw new RpcError(Code.Unavailable, "the transport is closed");
        const starting = current ?? start();
        const session = await unlessAborted(starting, signal);
        if (!session.closed && !session.destroyed) {
          const streams = open.get(session) ?? 0;
          if (streams === 0) session.ref();
          open.set(session, streams + 1);
          return session;
        }
        // It was lost while this call was waiting for its turn.
        if (current === starting) current = undefined;
      }
    },
    release(session) {
      const streams = (open.get(session) ?? 1) - 1;
      if (streams === 0 && !session.closed && !session.destroyed) session.unref();
      if (open.has(session)) open.set(session, streams);
    },
    async close() {
      closed = true;
      await current?.catch(() => {});
      await Promise.all([...open.keys()].map(closeSession));
    },
  };
}

function openSession(origin: URL, options: SessionOptions): Promise<ClientHttp2Session> {
  return new Promise((resolve, reject) => {
    const session = connect(origin, {
      ...options.tls,
      settings: { enablePush: false, initialWindowSize: STREAM_WINDOW_BYTES },
    });
    const fail = (cause: unknown): void => {
      stopTimer();
      reject(connectionError(cause, origin.host));
      session.destroy();
    };
    const stopTimer = startTimer(options.connectTimeoutMs, () =>
      fail(new Error(`no connection within ${options.connectTimeoutMs} ms`)),
    );
    // Stays for good: a session may fail at any time, and its streams tell the calls on it.
    session.on("error", fail);
    session.once("close", () => fail(new Error("the server closed the connection")));
    session.once("connect", () => {
      stopTimer();
      session.setLocalWindowSize(CONNECTION_WINDOW_BYTES);
      // An idle connection must not keep a program from ending.
      session.unref();
      resolve(session);
    });
  });
}

function closeSession(session: ClientHttp2Session): Promise<void> {
  return new Promise((resolve) => {
    if (session.destroyed) return resolve();
    // Whoever waits for the end must not be left behind by a program that has nothing else to do.
    session.ref();
    session.close(resolve);
  });
}

/** Settles as the promise does, or rejects when the signal fires. */
function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return promise;
  return new Promise((resolve, reject) => {
    const unlink = onAbort(signal, reject);
    promise.then(resolve, reject).finally(unlink);
  });
}
