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
  /** A session that takes new streams. Rejects as unavailable if none can be made, or when the signal fires first. */
  acquire(signal: AbortSignal | undefined): Promise<ClientHttp2Session>;
  /** Lets running streams finish and refuses new ones. */
  close(): Promise<void>;
}

/** Bytes the server may send ahead of what is read: on one stream, and on one connection. */
const STREAM_WINDOW_BYTES = 256 * 1024;
const CONNECTION_WINDOW_BYTES = 4 * 1024 * 1024;

/** Makes the pool of an origin, such as `http://localhost:50051`. No connection is made before the first call. */
export function createSessionPool(origin: URL, options: SessionOptions): SessionPool {
  const open = new Set<ClientHttp2Session>();
  let current: Promise<ClientHttp2Session> | undefined;
  let closed = false;

  function start(): Promise<ClientHttp2Session> {
    const starting = openSession(origin, options);
    current = starting;
    const forget = (): void => {
      if (current === starting) current = undefined;
    };
    starting.then((session) => {
      open.add(session);
      // A session that is going away serves its streams to the end; new ones go to the next session.
      session.once("goaway", forget);
      session.once("close", () => {
        open.delete(session);
        forget();
      });
      if (session.destroyed) forget();
    }, forget);
    return starting;
  }

  return {
    scheme: origin.protocol.slice(0, -1),
    authority: origin.host,
    async acquire(signal) {
      if (closed) throw new RpcError(Code.Unavailable, "the transport is closed");
      const session = await unlessAborted(current ?? start(), signal);
      // It may have been lost while this call was waiting for its turn.
      return session.closed || session.destroyed ? unlessAborted(current ?? start(), signal) : session;
    },
    async close() {
      closed = true;
      const starting = await current?.catch(() => undefined);
      if (starting !== undefined) open.add(starting);
      await Promise.all([...open].map(closeSession));
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
      holdProcessWhileBusy(session);
      session.setTimeout(options.idleTimeoutMs, () => session.close());
      resolve(session);
    });
  });
}

/** An idle connection must not keep a program from ending; one with calls on it must. */
function holdProcessWhileBusy(session: ClientHttp2Session): void {
  const request = session.request.bind(session);
  let streams = 0;
  session.unref();
  session.request = (...args) => {
    const stream = request(...args);
    if (streams++ === 0) session.ref();
    stream.once("close", () => {
      if (--streams === 0) session.unref();
    });
    return stream;
  };
}

function closeSession(session: ClientHttp2Session): Promise<void> {
  return new Promise((resolve) => {
    if (session.destroyed) resolve();
    else session.close(resolve);
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
