/**
 * Time limits of a server's HTTP/2 connection. Limits on counts, such as stream resets, are enforced by the connection itself
 * (`http2/limits.ts`).
 *
 * - Dead clients: keepalive PINGs, `pingIntervalMs`. Old connections: `maxConnectionAgeMs`.
 * - Slow CONTINUATION, header blocks that never end, and SETTINGS that are not acknowledged: `headersTimeoutMs`.
 * - Slowloris and slow bodies: `messageTimeoutMs`, `messageIdleMs`. Idle connections: `firstCallTimeoutMs`, `idleTimeoutMs`.
 * - Slow read, data dribble (CVE-2019-9511, CVE-2019-9517): `stallTimeoutMs`, and the memory budget of all connections.
 */

import type { Socket } from "node:net";
import { Code, Status } from "../../../call/code.ts";
import { RpcError } from "../../../call/error.ts";
import { now } from "../../../call/platform.ts";
import type { IncomingBody } from "../../../connection/incoming-body.ts";
import { outOfMemory, STALLED_MS } from "../../../connection/memory-budget.ts";
import type { Indexed, SwapList } from "../../../connection/swap-list.ts";
import { ErrorCode } from "../../../http2/codes.ts";
import type { EngineConnection } from "../../../http2/connection.ts";
import type { Stream } from "../../../http2/stream.ts";
import type { ServedConnection } from "../listener/engine.ts";
import { ABORT_GRACE_MS, type Limits, MIB, oldAt, tooOld } from "../listener/limits.ts";

/** A request whose stream is open. */
export interface WatchedRequest extends Indexed {
  readonly stream: Stream;
  readonly incoming: IncomingBody | undefined;
  /** True if the complete response has been passed to the connection. */
  readonly isOver: boolean;
  /** Created by the first sweep that finds the request. Most requests end before a sweep. */
  progress?: Progress;
}

/** The state of a request at the last sweep, and the times of its last changes. */
interface Progress {
  readonly since: number;
  received: number;
  receivedAt: number;
  unsent: number;
  unsentAt: number;
  isOver: boolean;
}

/** The ways in which a guard ends its connection, other than at once. */
type GuardedConnection = Pick<ServedConnection, "leave" | "abort" | "aborted">;

/** Enforces the time limits of one connection. The periodic sweep of the server calls it. */
export class ConnectionGuard {
  readonly #connection: EngineConnection;
  readonly #socket: Socket;
  readonly #requests: SwapList<WatchedRequest>;
  readonly #limits: Limits;
  readonly #owner: GuardedConnection;
  /** Times are whole milliseconds, because an idle connection would hold an object for each fraction. */
  readonly #start: number = Math.floor(now());
  /** The time at which the connection takes no further calls. */
  readonly #oldAt: number;
  #sweptAt: number = this.#start;
  #idleSince: number = this.#start;
  #requestsBefore = 0;
  /** The number of frames received until the last sweep, and the last time when no frame or header block was incomplete. */
  #framesBefore = 0;
  #completeAt: number = this.#start;
  #receivedAt: number = this.#start;
  /** The time when a PING was sent to the client; `undefined` if a frame has been received since. */
  #pingedAt: number | undefined;
  /** The number of outputs that were written until the last sweep, one after the other, and the time of the last progress. */
  #takes = 0;
  #writtenAt: number = this.#start;

  constructor(
    connection: EngineConnection,
    socket: Socket,
    requests: SwapList<WatchedRequest>,
    limits: Limits,
    owner: GuardedConnection,
  ) {
    this.#connection = connection;
    this.#socket = socket;
    this.#requests = requests;
    this.#limits = limits;
    this.#owner = owner;
    this.#oldAt = oldAt(limits, this.#start);
  }

  /** Ends the requests, or the connection, that have exceeded their time limits. */
  sweep(time: number): void {
    const now = Math.floor(time);
    const connection = this.#connection;
    connection.tick(now - this.#sweptAt);
    this.#sweptAt = now;
    if (connection.isOver) return;
    for (const request of this.#requests) this.#sweepRequest(request, now);
    this.#sweepSocket(now);
    this.#sweepFrames(now);
    this.#sweepIdle(now);
    this.#sweepAge(now);
  }

  #sweepAge(now: number): void {
    if (now < this.#oldAt) return;
    this.#owner.leave();
    const expiredMs = now - this.#oldAt - this.#limits.maxConnectionAgeGraceMs;
    if (expiredMs < 0) return;
    if (this.#owner.aborted === undefined) this.#owner.abort(tooOld());
    else if (expiredMs > ABORT_GRACE_MS) this.#connection.fail(ErrorCode.NoError, "the connection is old");
  }

  /** Frees the memory of requests whose client has stopped reading or sending, and of connections that are not read. */
  reclaim(): void {
    const since = now() - STALLED_MS;
    for (const { incoming, progress, stream } of this.#requests) {
      if (progress === undefined) continue;
      if (incoming?.collecting && incoming.received > 0 && progress.receivedAt < since) {
        incoming.stop(outOfMemory());
      } else if (incoming?.isKept && progress.receivedAt < since) incoming.stop(outOfMemory());
      else if (progress.unsent > 0 && progress.unsentAt < since) stream.reset(ErrorCode.EnhanceYourCalm);
    }
    if (this.#socket.writableLength > 0 && this.#writtenAt < since) this.#socket.destroy();
  }

  /** Disconnects a client that does not read what is written (CVE-2019-9517). */
  #sweepSocket(now: number): void {
    const { takes } = this.#connection;
    if (this.#socket.writableLength === 0 || takes !== this.#takes) this.#writtenAt = now;
    else if (now - this.#writtenAt > this.#limits.stallTimeoutMs) this.#socket.destroy();
    this.#takes = takes;
  }

  /** Enforces the time limits for the preface, frames, header blocks, the acknowledgement of our SETTINGS, and PINGs. */
  #sweepFrames(now: number): void {
    const connection = this.#connection;
    const { headersTimeoutMs, pingIntervalMs, pingTimeoutMs } = this.#limits;
    const { completed: framesReceived, isMidway } = connection.receiver;
    if (framesReceived !== this.#framesBefore) {
      this.#receivedAt = now;
      this.#pingedAt = undefined;
    }
    if (framesReceived !== this.#framesBefore || !isMidway) this.#completeAt = now;
    this.#framesBefore = framesReceived;
    if (now - this.#completeAt > headersTimeoutMs) {
      connection.fail(ErrorCode.EnhanceYourCalm, "a frame or header block was not completed in time");
    } else if (connection.awaitsSettingsAck && now - this.#start > headersTimeoutMs) {
      connection.fail(ErrorCode.SettingsTimeout, "SETTINGS were not acknowledged in time");
    } else if (this.#pingedAt !== undefined) {
      if (now - this.#pingedAt > pingTimeoutMs) connection.fail(ErrorCode.Cancel, "a PING was not answered in time");
    } else if (this.#requests.size > 0 && now - this.#receivedAt > pingIntervalMs && connection.ping("keepalive")) {
      this.#pingedAt = now;
    }
  }

  #sweepIdle(now: number): void {
    const connection = this.#connection;
    const { firstCallTimeoutMs, idleTimeoutMs } = this.#limits;
    const requests = connection.streams.opened;
    if (this.#requests.size > 0 || requests !== this.#requestsBefore) this.#idleSince = now;
    this.#requestsBefore = requests;
    const idleFor = now - this.#idleSince;
    if (idleFor > idleTimeoutMs || (requests === 0 && idleFor > firstCallTimeoutMs)) this.#owner.leave();
  }

  #sweepRequest(request: WatchedRequest, now: number): void {
    const { messageTimeoutMs, messageIdleMs, stallTimeoutMs } = this.#limits;
    const { stream, incoming } = request;
    request.progress ??= { since: now, received: 0, receivedAt: now, unsent: 0, unsentAt: now, isOver: false };
    const { progress } = request;
    if (incoming !== undefined && incoming.received !== progress.received) {
      progress.received = incoming.received;
      progress.receivedAt = now;
    }
    if (incoming?.collecting) {
      const timeoutMs = messageTimeoutMs * (1 + Math.floor(incoming.received / MIB));
      if (now - progress.receivedAt > messageIdleMs) {
        incoming.stop(tooSlow(messageIdleMs, "no more of the message has"));
      } else if (now - progress.since > timeoutMs) incoming.stop(tooSlow(timeoutMs, "the message has not"));
    }
    const { unsent } = stream;
    const { isOver } = request;
    if (unsent !== progress.unsent || isOver !== progress.isOver) {
      progress.unsent = unsent;
      progress.unsentAt = now;
      progress.isOver = isOver;
    } else if (
      // A streaming response that is still being produced may be read slowly, because at most one batch of its messages
      // waits.
      isOver &&
      unsent > 0 &&
      now - progress.unsentAt > stallTimeoutMs * Math.ceil(unsent / MIB)
    ) {
      stream.reset(ErrorCode.Cancel);
    }
  }
}

function tooSlow(timeoutMs: number, what: string): RpcError {
  return new RpcError(Code.DeadlineExceeded, `${what} arrived within ${timeoutMs} ms`, {
    status: Status.ServerTimeout,
  });
}
