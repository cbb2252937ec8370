/**
 * A connection of a pool that accepts new streams, and its timers: keepalive PINGs, closing when idle, and the verification
 * of a connection that has been quiet.
 */

import type { RpcError } from "../call/error.ts";
import { now, repeat, startBackgroundTimer } from "../call/platform.ts";
import { unlessAborted } from "../call/timer.ts";
import type { Connection } from "./connection.ts";

/** Times of a connection, in milliseconds. */
export interface ConnectionTimes {
  /** Time without streams after which a connection is closed. */
  readonly idleTimeoutMs: number;
  /** Time without streams after which a connection must acknowledge a PING before it is used again. */
  readonly verifyAfterMs: number;
  /** Interval of keepalive PINGs on connections with open streams. `undefined`: none. */
  readonly pingIntervalMs: number | undefined;
  /** Time limit for the acknowledgement of a PING. */
  readonly pingTimeoutMs: number;
}

export const DEFAULT_TIMES: ConnectionTimes = {
  idleTimeoutMs: 15 * 60_000,
  verifyAfterMs: 30_000,
  pingIntervalMs: undefined,
  pingTimeoutMs: 5_000,
};

/**
 * The PINGs without a response in between that gRPC servers accept, and the interval in milliseconds at which they accept more.
 * They end connections on which others arrive, with the calls that still run (gRFC A8, ping strikes).
 */
const MAX_PINGS = 2;
export const SPARSE_PING_MS = 330_000;

/** Sends a PING if the connection has streams, and destroys the connection if it is not acknowledged. Never rejects. */
export async function keepAlive(connection: Connection, timeoutMs: number): Promise<void> {
  if (connection.streams === 0) return;
  await connection.ping(timeoutMs).catch((error: RpcError) => connection.destroy(error));
}

/** Verifies the connections that must be, and resolves with the first that is over. Rejects when the signal fires. */
export function verifyFirst(pooled: readonly PooledConnection[], signal?: AbortSignal): Promise<Connection> {
  const unverified = pooled.filter((one) => one.mustBeVerified);
  return Promise.race(unverified.map((one) => unlessAborted(one.verify(), signal)));
}

export class PooledConnection {
  readonly connection: Connection;
  readonly #times: ConnectionTimes;
  readonly #retire: (connection: Connection) => void;
  readonly #stopPings: () => void;
  #stopIdle: () => void;
  #verifying: Promise<Connection> | undefined;
  /** True after {@link doubt}. */
  #isSuspect = false;
  #verifiedAt = 0;

  /** `retire` takes the connection out of the pool and closes it. */
  constructor(connection: Connection, times: ConnectionTimes, retire: (connection: Connection) => void) {
    const { idleTimeoutMs, pingIntervalMs, pingTimeoutMs } = times;
    this.connection = connection;
    this.#times = times;
    this.#retire = retire;
    this.#stopPings =
      pingIntervalMs === undefined ? () => {} : repeat(pingIntervalMs, () => keepAlive(connection, pingTimeoutMs));
    this.#stopIdle = startBackgroundTimer(idleTimeoutMs, () => this.#closeIfIdle());
  }

  get mustBeVerified(): boolean {
    if (this.#isSuspect) return true;
    return this.connection.streams === 0 && now() - this.connection.quietSince > this.#times.verifyAfterMs;
  }

  /** Handles a call of the pool that has exceeded its deadline: this connection may be dead and not closed. */
  doubt(): void {
    this.#isSuspect ||= this.connection.pings < MAX_PINGS || now() - this.#verifiedAt > SPARSE_PING_MS;
  }

  /** Sends a PING, and destroys the connection if it is not acknowledged. Resolves with the connection, and never rejects. */
  verify(): Promise<Connection> {
    const { connection } = this;
    this.#verifiedAt = now();
    this.#verifying ??= connection
      .ping(this.#times.pingTimeoutMs)
      .catch((error: RpcError) => connection.destroy(error))
      .then(() => {
        this.#isSuspect = false;
        this.#verifying = undefined;
        return connection;
      });
    return this.#verifying;
  }

  stopTimers(): void {
    this.#stopPings();
    this.#stopIdle();
  }

  #closeIfIdle(): void {
    const { connection } = this;
    const { idleTimeoutMs } = this.#times;
    const left = connection.streams > 0 ? idleTimeoutMs : connection.quietSince + idleTimeoutMs - now();
    if (left > 0) this.#stopIdle = startBackgroundTimer(left, () => this.#closeIfIdle());
    else this.#retire(connection);
  }
}
