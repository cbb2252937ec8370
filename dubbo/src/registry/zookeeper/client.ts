/**
 * The client of a ZooKeeper ensemble: keeps one session, over one connection at a time.
 *
 *     connection lost    requests in flight fail; the client connects to the next server with the same session, and sets its
 *                        watches again: at once, or after a backoff if the connection was a short one
 *     session expired    its ephemeral nodes are gone; all watches fire, the session's signal fires, and a new session begins
 *     unreachable        for longer than a session lives, or from the start: `connected` rejects, and the outage is reported
 */
import { Code, RpcError } from "triple-es";
import { Backoff, delayInBackground, now, random, resolvedWithin } from "triple-es/internal";
import { type Deferred, deferred, registryClosed } from "../registration.ts";
import type { ServerAddress } from "../servers.ts";
import { type ConnectionSettings, ZooKeeperConnection } from "./connection.ts";
import type { JuteReader, JuteWriter } from "./jute.ts";
import { NEW_SESSION, Op, type SessionState } from "./protocol.ts";
import { Watches } from "./watches.ts";

/** Time for the server to confirm the end of a session, in milliseconds. */
const CLOSE_TIMEOUT_MS = 1_000;

interface ClientSettings extends Omit<ConnectionSettings, keyof ServerAddress> {
  readonly servers: readonly ServerAddress[];
}

/**
 * The first and the longest delay before another attempt to connect, in milliseconds. A connection that lasted for less than the
 * longest delay counts as a failed attempt: its server accepts sessions and does not serve them.
 */
const FIRST_RECONNECT_MS = 50;
const MAX_RECONNECT_MS = 1_000;
/**
 * The time that a change to another server may take, in milliseconds, for requests that must not wait for an outage to end: a
 * server that closes waits for the removal of its entries, which end with the session anyway.
 */
const CHANGE_MS = 500;

export class ZooKeeperClient {
  readonly watches: Watches = new Watches();
  readonly #settings: ClientSettings;
  readonly #closed = new AbortController();
  #state: SessionState = NEW_SESSION;
  #lastZxid = 0n;
  #connection: ZooKeeperConnection | undefined;
  /** The connection that is being made or is in use. */
  #current: ZooKeeperConnection | undefined;
  #session = new AbortController();
  /** The next connection. `undefined` while there is one, or no operation waits for it. */
  #next: Deferred<ZooKeeperConnection> | undefined;
  #outageListeners = new Set<(reason: Error) => void>();
  #server: number;
  /** The time at which the last connection was lost. */
  #lostAt = Number.NEGATIVE_INFINITY;
  #isRunning = false;

  constructor(settings: ClientSettings) {
    this.#settings = settings;
    this.#server = Math.floor(random() * settings.servers.length);
  }

  /** The session's number, and the signal that fires when it has expired. */
  get session(): { readonly id: bigint; readonly lost: AbortSignal } {
    return { id: this.#state.id, lost: this.#session.signal };
  }

  /** Calls back when the ensemble has been unreachable for longer than a session lives. */
  onOutage(listener: (reason: Error) => void): () => void {
    this.#outageListeners.add(listener);
    return () => this.#outageListeners.delete(listener);
  }

  /** Resolves with the connection once there is one. Rejects if the ensemble is unreachable. */
  connected(): Promise<ZooKeeperConnection> {
    if (this.#closed.signal.aborted) return Promise.reject(this.#closed.signal.reason);
    if (this.#connection !== undefined) return Promise.resolve(this.#connection);
    this.#next ??= deferred();
    const { promise } = this.#next;
    if (!this.#isRunning) void this.#run();
    return promise;
  }

  /** Rejects if there is no connection, and none within {@link CHANGE_MS} of the loss of the last one. */
  async connectedSoon(): Promise<void> {
    const maxMs = Math.max(0, this.#lostAt + CHANGE_MS - now());
    if (await resolvedWithin(this.connected(), maxMs)) return;
    throw new RpcError(Code.Unavailable, "no server can be reached");
  }

  /**
   * Sends a request when there is a connection, as {@link ZooKeeperConnection.request} does, unless `lost` has fired by then: it
   * must not take effect in a later session.
   */
  async request<T>(
    type: number,
    path: string,
    write: (writer: JuteWriter) => unknown,
    read?: (reader: JuteReader, failure: number) => T,
    accepts?: readonly number[],
    lost?: AbortSignal,
  ): Promise<T> {
    const connection = await this.connected();
    lost?.throwIfAborted();
    return connection.request(type, path, write, read, accepts);
  }

  /** Ends the session, which removes its ephemeral nodes. Never rejects. */
  async close(): Promise<void> {
    if (this.#closed.signal.aborted) return;
    const reason = registryClosed();
    this.#closed.abort(reason);
    const connection = this.#connection;
    if (connection !== undefined) {
      const ended = connection.request(Op.CloseSession, "", () => {});
      await resolvedWithin(ended, CLOSE_TIMEOUT_MS);
    }
    this.#current?.destroy(reason);
    this.#reject(reason);
    this.#session.abort(reason);
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    const { servers, sessionTimeoutMs } = this.#settings;
    const { signal } = this.#closed;
    const retry = new Backoff({ initialMs: FIRST_RECONNECT_MS, maxMs: MAX_RECONNECT_MS });
    let outageAt = Number.NEGATIVE_INFINITY;
    let failures = 0;
    while (!signal.aborted) {
      try {
        const connection = await this.#connect();
        const connectedAt = now();
        if (outageAt === Number.NEGATIVE_INFINITY) outageAt = connectedAt;
        const reason = await connection.closed;
        this.#lostAt = now();
        this.#connection = undefined;
        this.#lastZxid = connection.lastZxid;
        if (now() - connectedAt < MAX_RECONNECT_MS) throw reason;
        retry.reset();
        failures = 0;
        outageAt = now();
      } catch (reason) {
        if (signal.aborted) return;
        const outageMs = now() - outageAt;
        failures++;
        if (outageMs > sessionTimeoutMs && failures >= servers.length) this.#reject(reason as Error);
        // A server that has lost its data refuses a client that has seen later transactions, and the session is over anyway.
        if (outageMs > 2 * sessionTimeoutMs && this.#state !== NEW_SESSION) this.#expire();
        // Without a session, each server is tried before the first delay.
        if (failures < servers.length && this.#state === NEW_SESSION) continue;
        await delayInBackground(retry.next(), signal);
      }
    }
  }

  /** Connects to the next server, and resumes the session or begins a new one. */
  async #connect(): Promise<ZooKeeperConnection> {
    const { servers } = this.#settings;
    const server = servers[this.#server++ % servers.length] as ServerAddress;
    const connection = new ZooKeeperConnection({ ...this.#settings, ...server }, (event) => this.watches.fire(event));
    this.#current = connection;
    const earlier = this.#state;
    try {
      const state = await connection.open(earlier, this.#lastZxid);
      this.#closed.signal.throwIfAborted();
      if (state.timeoutMs <= 0) {
        if (earlier === NEW_SESSION) throw new RpcError(Code.Unavailable, "the server refused to begin a session");
        connection.destroy(new Error("the session has expired"));
        this.#expire();
        return await this.#connect();
      }
      this.#state = state;
      for (const batch of this.watches.batches()) await connection.setWatches(this.#lastZxid, batch);
    } catch (reason) {
      connection.destroy(reason as Error);
      throw reason;
    }
    this.#connection = connection;
    this.#next?.resolve(connection);
    this.#next = undefined;
    return connection;
  }

  #expire(): void {
    const ended = this.#session;
    this.#session = new AbortController();
    this.#state = NEW_SESSION;
    this.#lastZxid = 0n;
    ended.abort(new RpcError(Code.Unavailable, "the session has expired"));
    this.watches.fireAll();
  }

  #reject(reason: Error): void {
    this.#next?.reject(reason);
    this.#next = undefined;
    for (const listener of [...this.#outageListeners]) listener(reason);
  }
}
