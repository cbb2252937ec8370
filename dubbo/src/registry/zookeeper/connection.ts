/**
 * One connection to a ZooKeeper server: the handshake of a session, requests and their replies, watch events, and pings.
 */
import type { Socket } from "node:net";
import { now, repeat, startTimer } from "triple-es/internal";
import { connect, connectionError, currentTlsOptions } from "triple-es/internal/node";
import type { ClientTlsOptions } from "triple-es/node";
import { deferred } from "../registration.ts";
import type { ServerAddress } from "../servers.ts";
import { FrameSplitter, JuteReader, type JuteWriter } from "./jute.ts";
import {
  type NodeEvent,
  Op,
  readConnect,
  readNodeEvent,
  type SessionState,
  startRequest,
  writeConnect,
  Xid,
  ZooKeeperError,
} from "./protocol.ts";
import type { WatchBatch } from "./watches.ts";

/** The largest reply, in bytes: a list of all providers of a service may be large. */
const MAX_FRAME_BYTES = 64 * 1024 * 1024;
/** Time for a ping's answer beyond two thirds of the timeout, because timers of a busy process are late. */
const PING_ALLOWANCE_MS = 20;

export interface ConnectionSettings extends ServerAddress {
  readonly tls: ClientTlsOptions | undefined;
  readonly connectTimeoutMs: number;
  readonly sessionTimeoutMs: number;
  readonly auth: { readonly scheme: string; readonly credentials: string } | undefined;
}

/** A request that waits for its reply. */
interface Pending {
  readonly xid: number;
  /** Reads the reply. Runs before later replies and events are read. */
  readonly onReply: (reader: JuteReader, failure: number) => void;
  readonly onError: (error: unknown) => void;
}

export class ZooKeeperConnection {
  /** The last transaction that this connection has seen. */
  lastZxid = 0n;
  state: SessionState | undefined;
  readonly #answered = deferred<void>();
  readonly #closed = deferred<Error>();
  /** Resolves with the reason when the connection is lost or closed. */
  readonly closed: Promise<Error> = this.#closed.promise;
  readonly #peer: string;
  readonly #settings: ConnectionSettings;
  readonly #socket: Socket;
  readonly #frames = new FrameSplitter(MAX_FRAME_BYTES);
  readonly #pending: Pending[] = [];
  readonly #onEvent: (event: NodeEvent) => void;
  #xid = 0;
  #isClosed = false;
  #lastReceived = now();
  #stopPings = (): void => {};

  constructor(settings: ConnectionSettings, onEvent: (event: NodeEvent) => void) {
    const { host, port, tls } = settings;
    this.#settings = settings;
    this.#onEvent = onEvent;
    this.#peer = `${host}:${port}`;
    this.#socket = connect({ host, port }, tls && currentTlsOptions(tls));
    this.#socket.setNoDelay(true);
    this.#socket.on("error", (error) => this.destroy(connectionError(error, this.#peer)));
    this.#socket.on("close", () =>
      this.destroy(connectionError(new Error("the server closed the connection"), this.#peer)),
    );
    this.#socket.on("data", (chunk: Buffer) => this.#receive(chunk));
  }

  /** Sends the connect request. Resolves with the session's new state. Rejects if there is no answer in time. */
  async open(state: SessionState, lastZxid: bigint): Promise<SessionState> {
    const { connectTimeoutMs, sessionTimeoutMs, tls, auth } = this.#settings;
    this.lastZxid = lastZxid;
    const stop = startTimer(connectTimeoutMs, () => {
      this.destroy(connectionError(new Error(`no session within ${connectTimeoutMs} ms`), this.#peer));
    });
    try {
      this.#socket.once(tls === undefined ? "connect" : "secureConnect", () => {
        this.#socket.write(writeConnect(state, lastZxid, sessionTimeoutMs));
      });
      const reason = await Promise.race([this.#answered.promise, this.closed]);
      if (reason !== undefined) throw reason;
      if (this.state === undefined) throw new Error("the server has not answered the connect request");
      if (this.state.timeoutMs > 0 && auth !== undefined) {
        const authenticate = startRequest(Xid.Auth, Op.Auth).int(0).string(auth.scheme);
        await this.#enqueue(Xid.Auth, authenticate.string(auth.credentials), "");
      }
    } finally {
      stop();
    }
    if (this.state.timeoutMs > 0) this.#keepAlive(this.state.timeoutMs);
    return this.state;
  }

  /**
   * Sends a request. Resolves with what `read` returns, which runs before later replies and events are read. Rejects with a
   * {@link ZooKeeperError}, unless `accepts` contains its code, and if the connection is lost.
   */
  request<T>(
    type: number,
    path: string,
    write: (writer: JuteWriter) => unknown,
    read?: (reader: JuteReader, failure: number) => T,
    accepts?: readonly number[],
  ): Promise<T> {
    this.#xid = (this.#xid + 1) & 0x7fffffff;
    const writer = startRequest(this.#xid, type);
    write(writer);
    return this.#enqueue(this.#xid, writer, path, read, accepts);
  }

  /** Sets watches again after a reconnection; the server reports changes since `lastZxid` at once. */
  setWatches(lastZxid: bigint, { data, exist, child }: WatchBatch): Promise<void> {
    const writer = startRequest(Xid.SetWatches, Op.SetWatches).long(lastZxid);
    return this.#enqueue(Xid.SetWatches, writer.strings(data).strings(exist).strings(child), "");
  }

  #enqueue<T>(
    xid: number,
    writer: JuteWriter,
    path: string,
    read: (reader: JuteReader, failure: number) => T = () => undefined as T,
    accepts: readonly number[] = [],
  ): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      if (this.#isClosed) {
        void this.closed.then(reject);
        return;
      }
      const onReply = (reader: JuteReader, failure: number): void => {
        try {
          if (failure !== 0 && !accepts.includes(failure)) reject(new ZooKeeperError(failure, path));
          else resolve(read(reader, failure));
        } catch (reason) {
          reject(reason);
          throw reason;
        }
      };
      this.#pending.push({ xid, onReply, onError: reject });
      // The process must not end while a reply is expected.
      this.#socket.ref();
      this.#socket.write(writer.frame());
    });
  }

  #receive(chunk: Buffer): void {
    this.#lastReceived = now();
    try {
      for (const body of this.#frames.push(chunk)) this.#handle(body);
    } catch (error) {
      this.destroy(connectionError(new Error(`the server sent ${(error as Error).message}`), this.#peer));
    }
  }

  #handle(body: Uint8Array): void {
    if (this.#isClosed) return;
    if (this.state === undefined) {
      this.state = readConnect(body);
      this.#answered.resolve();
      return;
    }
    const reader = new JuteReader(body);
    const [xid, zxid, failure] = [reader.int(), reader.long(), reader.int()];
    if (zxid > this.lastZxid) this.lastZxid = zxid;
    if (xid === Xid.Ping) return;
    if (xid === Xid.Watch) {
      this.#onEvent(readNodeEvent(reader));
      return;
    }
    const [pending] = this.#pending;
    if (pending === undefined) throw new RangeError("a reply without a request");
    if (pending.xid !== xid) throw new RangeError(`a reply to the request ${xid} instead of ${pending.xid}`);
    this.#pending.shift();
    if (this.#pending.length === 0) this.#socket.unref();
    pending.onReply(reader, failure);
  }

  /** Sends pings, and ends the connection if the server does not answer for two thirds of the session's timeout. */
  #keepAlive(timeoutMs: number): void {
    this.#lastReceived = now();
    this.#socket.unref();
    this.#stopPings = repeat(Math.max(10, timeoutMs / 3), () => {
      if (now() - this.#lastReceived > (timeoutMs * 2) / 3 + PING_ALLOWANCE_MS) {
        this.destroy(connectionError(new Error("the server does not answer"), this.#peer));
      } else {
        this.#socket.write(startRequest(Xid.Ping, Op.Ping).frame());
      }
    });
  }

  /** Ends the connection at once. */
  destroy(reason: Error): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#stopPings();
    this.#socket.destroy();
    for (const { onError } of this.#pending.splice(0)) onError(reason);
    this.#closed.resolve(reason);
  }
}
