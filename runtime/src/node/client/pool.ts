/**
 * The HTTP/2 connections of a transport to its origin: made when they are needed, asked whether they live after a rest,
 * left for new ones when they go away. What a server never looked at is sent again.
 */
import { Code } from "../../call/code.ts";
import { abortError, RpcError } from "../../call/error.ts";
import type { Connections, Exchange, HttpRequest } from "../../http/exchange.ts";
import { delay, repeat, startQuietTimer, unlessAborted } from "../io/timer.ts";
import type { BackOff } from "./backoff.ts";
import { type Connect, type Connection, type ConnectionOwner, isUnprocessed } from "./connection.ts";
import { ReplayBody } from "./replay.ts";

export interface PoolOptions {
  /** Connections that are open for new streams at a time. */
  readonly maxConnections: number;
  /** How long a connection may be without streams before it is closed, in milliseconds. */
  readonly idleTimeoutMs: number;
  /** After this long without streams, a connection has to answer a ping before it is used, in milliseconds. */
  readonly verifyAfterMs: number;
  /** How often a connection with open streams is asked for a sign of life, in milliseconds. `undefined`: never. */
  readonly pingIntervalMs: number | undefined;
  /** How long an answer to a ping may take, in milliseconds. */
  readonly pingTimeoutMs: number;
  /** When to leave the server alone. */
  readonly backOff: BackOff;
}

export interface Pool extends Connections {
  readonly exchange: Exchange;
}

/** A connection that uses this share of the streams it may have gets company. */
const NEARLY_FULL = 0.8;
/** How often a request is sent again, and how long to wait before each time, in milliseconds. */
const REPLAY_DELAYS_MS = [0, 20, 100, 500];
/** Connections that are lost before they are used; a call gives up after so many more than there may be at a time. */
const SPARE_TURNS = 5;

/** A connection that takes new streams. */
interface Member {
  readonly connection: Connection;
  /** Since when it has had no streams, or has answered a ping, whichever is later. */
  quietSince: number;
  verifying: Promise<void> | undefined;
  /** A call on one of the connections ran out of time: perhaps this one is dead and nobody has said so. */
  suspect: boolean;
  readonly stopTimers: () => void;
}

/** Makes the pool of an origin. No connection is made before the first exchange. */
export function createPool(connect: Connect, options: PoolOptions): Pool {
  const { maxConnections, idleTimeoutMs, verifyAfterMs, pingIntervalMs, pingTimeoutMs, backOff } = options;
  const members: Member[] = [];
  /** All that are not closed yet, those that take no new streams included. */
  const alive = new Set<Connection>();
  let starting: Promise<void> | undefined;
  /** Exchanges without a response, which may need a connection yet. */
  let waiting = 0;
  let onNoneWaiting = (): void => {};
  let closing: Promise<void> | undefined;
  const abandoned = new AbortController();

  const owner: ConnectionOwner = {
    onUnusable(connection) {
      if (!remove(connection) || closing !== undefined || members.length > 0) return;
      // Whoever has calls running is about to make more: the next connection is made before it is asked for.
      if (connection.streams > 0) start().catch(() => {});
    },
    onIdle(connection) {
      const member = members.find((one) => one.connection === connection);
      if (member !== undefined) member.quietSince = performance.now();
      else alive.delete(connection);
    },
  };

  function remove(connection: Connection): boolean {
    const index = members.findIndex((one) => one.connection === connection);
    if (index < 0) return false;
    const [member] = members.splice(index, 1);
    member?.stopTimers();
    if (connection.streams === 0) alive.delete(connection);
    return true;
  }

  /** Begins to make one more connection, unless that is under way. Rejects at once while the server is left alone. */
  function start(): Promise<void> {
    if (starting !== undefined) return starting;
    const refusal = abandoned.signal.aborted ? abortError(abandoned.signal) : backOff.refusal();
    if (refusal !== undefined) return Promise.reject(refusal);
    starting = make().finally(() => {
      starting = undefined;
    });
    return starting;
  }

  async function make(): Promise<void> {
    backOff.started();
    try {
      const connection = await connect(owner, abandoned.signal);
      backOff.succeeded();
      if (abandoned.signal.aborted) return void connection.close();
      alive.add(connection);
      if (connection.open) members.push(createMember(connection));
    } catch (reason) {
      backOff.failed(RpcError.from(reason, Code.Unavailable));
      throw reason;
    }
  }

  function createMember(connection: Connection): Member {
    const stopPings = pingIntervalMs === undefined ? () => {} : repeat(pingIntervalMs, () => keepAlive(connection));
    let stopIdle = (): void => {};
    const member: Member = {
      connection,
      quietSince: performance.now(),
      verifying: undefined,
      suspect: false,
      stopTimers: () => {
        stopPings();
        stopIdle();
      },
    };
    const closeIfIdle = (): void => {
      const left = connection.streams > 0 ? idleTimeoutMs : member.quietSince + idleTimeoutMs - performance.now();
      if (left > 0) stopIdle = startQuietTimer(left, closeIfIdle);
      else retire(connection);
    };
    stopIdle = startQuietTimer(idleTimeoutMs, closeIfIdle);
    return member;
  }

  function retire(connection: Connection): void {
    remove(connection);
    void connection.close();
  }

  async function keepAlive(connection: Connection): Promise<void> {
    if (connection.streams === 0) return;
    await connection.ping(pingTimeoutMs).catch((error: RpcError) => connection.destroy(error));
  }

  /** A connection to open a stream on at once, if there is one. May begin to make another for those to come. */
  function pick(): Connection | undefined {
    let best: Connection | undefined;
    for (const member of members) {
      const { connection } = member;
      const { streams, maxStreams } = connection;
      if (isResting(member)) continue;
      // In order, so that connections which are not needed any more get no calls and become idle.
      if (streams < maxStreams * NEARLY_FULL) return connection;
      if (streams < maxStreams && (best === undefined || streams < best.streams)) best = connection;
    }
    if (best !== undefined && members.length < maxConnections) start().catch(() => {});
    return best;
  }

  function isResting({ connection, quietSince, suspect }: Member): boolean {
    return suspect || (connection.streams === 0 && performance.now() - quietSince > verifyAfterMs);
  }

  /** Makes an exchange on one of the connections. To choose and to open the stream must be one step, or all choose one. */
  function attempt(request: HttpRequest): ReturnType<Exchange> {
    const connection = pick();
    return connection === undefined ? attemptLater(request) : connection.exchange(request);
  }

  /** The same once there is a connection to choose. */
  async function attemptLater(request: HttpRequest): ReturnType<Exchange> {
    const { signal } = request;
    let full = false;
    for (let turn = 0; turn < maxConnections + SPARE_TURNS; turn++) {
      const connection = pick();
      if (connection !== undefined) return connection.exchange(request);
      const resting = members.find(isResting);
      if (resting !== undefined) {
        await unlessAborted(verify(resting), signal);
        continue;
      }
      if (members.length >= maxConnections || (full && members.length > 0)) return leastLoaded().exchange(request);
      try {
        await unlessAborted(start(), signal);
      } catch (error) {
        if (signal?.aborted || members.length === 0) throw error;
        full = true;
      }
    }
    throw new RpcError(Code.Unavailable, "the server closes every connection before it can be used");
  }

  /** Where all connections are full, streams wait in one of them for their turn. */
  function leastLoaded(): Connection {
    return members.map(({ connection }) => connection).reduce((a, b) => (b.streams < a.streams ? b : a));
  }

  /** Asks a connection that has rested whether it still lives; one that does not is left. Never rejects. */
  function verify(member: Member): Promise<void> {
    const { connection } = member;
    member.verifying ??= connection
      .ping(pingTimeoutMs)
      .then(
        () => {
          member.quietSince = performance.now();
          member.suspect = false;
        },
        (error: RpcError) => connection.destroy(error),
      )
      .finally(() => {
        member.verifying = undefined;
      });
    return member.verifying;
  }

  async function exchange(request: HttpRequest): ReturnType<Exchange> {
    const { signal, body } = request;
    if (closing !== undefined) throw new RpcError(Code.Unavailable, "the transport is closed");
    if (signal?.aborted) throw abortError(signal);
    const replay = body.whole === undefined ? new ReplayBody(body) : undefined;
    const sent = replay === undefined ? request : { ...request, body: replay };
    waiting++;
    try {
      for (let replays = 0; ; replays++) {
        try {
          return await attempt(sent);
        } catch (error) {
          if (signal?.aborted && abortError(signal).code === Code.DeadlineExceeded) {
            for (const member of members) member.suspect = true;
          }
          const delayMs = REPLAY_DELAYS_MS[replays];
          const mayRepeat = isUnprocessed(error) && (replay === undefined || replay.replayable);
          if (!mayRepeat || delayMs === undefined || signal?.aborted) throw error;
          if (delayMs > 0) await unlessAborted(delay(delayMs), signal);
        }
      }
    } finally {
      replay?.settle();
      waiting--;
      if (waiting === 0) onNoneWaiting();
    }
  }

  /** What has been asked for is still sent, over connections that may be yet to be made; all others are given up. */
  async function close(): Promise<void> {
    if (waiting > 0) {
      await new Promise<void>((resolve) => {
        onNoneWaiting = resolve;
      });
    }
    abandoned.abort(new RpcError(Code.Unavailable, "the transport is closed"));
    for (const { stopTimers } of members) stopTimers();
    // One that does not live any more is not worth waiting for.
    for (const connection of alive) void keepAlive(connection);
    await Promise.all([...alive].map((connection) => connection.close()));
  }

  return {
    exchange,
    close() {
      closing ??= close();
      return closing;
    },
    destroy(reason) {
      abandoned.abort(reason);
      for (const connection of [...alive]) connection.destroy(reason);
    },
  };
}
