/**
 * Abuse limits of one HTTP/2 connection of a server. `node:http2` has no such limits, or does not close the connection.
 *
 * - Rapid Reset (CVE-2023-44487): `cancelBurst`, `cancelsPerSecond`, and `maxHandlers`, which counts handlers of cancelled calls.
 * - MadeYouReset (CVE-2025-8671): streams that the server has to reset count as cancelled.
 * - Responses that fail because of a tiny SETTINGS_MAX_HEADER_LIST_SIZE (CVE-2026-50560): the same.
 * - Slow CONTINUATION, a header block that never ends: `headersTimeoutMs`, enforced by a PING that such a client cannot answer.
 *   The flood of CONTINUATION frames (CVE-2024-27316, CVE-2024-27983) is limited by nghttp2.
 * - Slowloris, slow bodies: `messageTimeoutMs`, `messageIdleMs`. Idle connections: `firstCallTimeoutMs`, `idleTimeoutMs`.
 * - Slow read, data dribble (CVE-2019-9511, CVE-2019-9517): `stallTimeoutMs`, and the memory budget of all connections.
 */
import { constants, type ServerHttp2Session, type ServerHttp2Stream } from "node:http2";
import type { Socket } from "node:net";
import { Code, Status } from "../../call/code.ts";
import { RpcError } from "../../call/error.ts";
import type { ReadableBody } from "../io/body.ts";
import { type MemoryBudget, MemoryShare, outOfMemory, STALLED_MS } from "../io/memory-budget.ts";
import { type Indexed, SwapList } from "../io/swap-list.ts";

/**
 * Limits of one connection to a server. They are for HTTP/2, and `stallTimeoutMs` for HTTP/1.1 too. Times are in milliseconds,
 * and kept to about a second.
 */
export interface ConnectionLimits {
  /** Calls that the client may have open at a time (SETTINGS_MAX_CONCURRENT_STREAMS). Default: 100. */
  readonly maxStreams?: number | undefined;
  /**
   * Handlers that may run at a time, those of cancelled calls included; calls beyond are refused with REFUSED_STREAM.
   * Default: 200.
   */
  readonly maxHandlers?: number | undefined;
  /**
   * Stream resets in a burst, beyond those of `cancelsPerSecond`, before the connection is closed with ENHANCE_YOUR_CALM (Rapid
   * Reset, CVE-2023-44487). Default: 900, the most that Node 20 supports; more has an effect from Node 24 on.
   */
  readonly cancelBurst?: number | undefined;
  /** Stream resets per second in the long run, before the connection is closed with ENHANCE_YOUR_CALM. Default: 30. */
  readonly cancelsPerSecond?: number | undefined;
  /** Time for the settings of HTTP/2 to be acknowledged, and for a header block to be completed. Default: 10,000. */
  readonly headersTimeoutMs?: number | undefined;
  /** Age at which a connection that has never had a call is closed. Default: 30,000. */
  readonly firstCallTimeoutMs?: number | undefined;
  /** Time for the message of a unary call to arrive, for each MiB of it. Default: 60,000. */
  readonly messageTimeoutMs?: number | undefined;
  /** Longest pause between two bytes of the message of a unary call. Default: 15,000. */
  readonly messageIdleMs?: number | undefined;
  /** Time for a client to take a whole response, for each MiB of it, or to answer a PING (slow read). Default: 60,000. */
  readonly stallTimeoutMs?: number | undefined;
  /** Idle time after which a connection without calls is closed. Default: 5 minutes. */
  readonly idleTimeoutMs?: number | undefined;
}

export type Limits = { readonly [Name in keyof ConnectionLimits]-?: number };

export function resolveLimits(given: ConnectionLimits = {}): Limits {
  const limits = {
    maxStreams: given.maxStreams ?? 100,
    maxHandlers: given.maxHandlers ?? 200,
    cancelBurst: given.cancelBurst ?? 900,
    cancelsPerSecond: given.cancelsPerSecond ?? 30,
    headersTimeoutMs: given.headersTimeoutMs ?? 10_000,
    firstCallTimeoutMs: given.firstCallTimeoutMs ?? 30_000,
    messageTimeoutMs: given.messageTimeoutMs ?? 60_000,
    messageIdleMs: given.messageIdleMs ?? 15_000,
    stallTimeoutMs: given.stallTimeoutMs ?? 60_000,
    idleTimeoutMs: given.idleTimeoutMs ?? 5 * 60_000,
  };
  for (const [name, value] of Object.entries(limits)) {
    if (!(value > 0)) throw new RangeError(`limits.${name} must be more than 0, not ${value}`);
  }
  return limits;
}

/** The interval of the checks of all connections: a tenth of the shortest of the times, but at most a second. */
export function sweepIntervalMs(limits: Limits): number {
  const times = Object.entries(limits).flatMap(([name, value]) => (name.endsWith("Ms") ? [value] : []));
  return Math.max(5, Math.min(1_000, ...times.map((time) => time / 10)));
}

/** After a session has ended, its client has so long to close the socket before the server does. */
const CLOSE_GRACE_MS = 1_000;
/** An acknowledged PING: a frame header of 9 bytes and 8 bytes of data (RFC 9113, section 6.7). */
const PING_ACK_BYTES = 17;
const MIB = 1024 * 1024;

/** An open stream. */
export interface Watched extends Indexed {
  readonly stream: ServerHttp2Stream;
  readonly body: ReadableBody;
  /** Made by the first sweep that finds the stream open; most streams end before. */
  progress?: Progress;
}

/** State of a stream at the last sweep, and since when it has been so. */
interface Progress {
  readonly since: number;
  received: number;
  receivedAt: number;
  unsent: number;
  unsentAt: number;
}

/** Enforces the limits of one connection. Calls only count; times are checked by the periodic sweep of the server. */
export class SessionGuard {
  readonly session: ServerHttp2Session;
  readonly socket: Socket;
  readonly memory: MemoryShare;
  readonly #limits: Limits;
  readonly #watched = new SwapList<Watched>();
  readonly #start = performance.now();
  #handlers = 0;
  #opened = 0;
  #openedBefore = 0;
  #cancels = 0;
  #cancelsAt = this.#start;
  #idleSince = this.#start;
  #bytesRead = 0;
  #pingedAt = this.#start;
  #pinging = false;
  /** Whether bytes have come since the last acknowledged PING: the last of them may be an incomplete header block. */
  #unproven = false;
  #endedSince: number | undefined;

  constructor(session: ServerHttp2Session, socket: Socket, limits: Limits, budget: MemoryBudget) {
    this.memory = new MemoryShare(budget, () => this.#reclaim());
    this.session = session;
    this.socket = socket;
    this.#limits = limits;
  }

  /** Whether the handler of a stream may start. Call {@link finished} when it has ended. */
  admit(stream: ServerHttp2Stream): boolean {
    // Opened and reset in one turn: nobody waits for the response.
    if (stream.destroyed || stream.closed) {
      this.#countCancel();
      return false;
    }
    if (this.#handlers >= this.#limits.maxHandlers) {
      stream.close(constants.NGHTTP2_REFUSED_STREAM);
      return false;
    }
    this.#handlers++;
    return true;
  }

  /** A handler has ended, and its response has been written. */
  finished(): void {
    this.#handlers--;
  }

  /** Enforces the times of a stream until {@link closed} is called. */
  watch(watched: Watched): void {
    this.#opened++;
    this.#watched.add(watched);
  }

  closed(watched: Watched): void {
    this.#watched.delete(watched);
    if (watched.stream.rstCode !== constants.NGHTTP2_NO_ERROR) this.#countCancel();
  }

  /** Fails all calls that wait for the rest of a request. */
  abandon(reason: RpcError): void {
    for (const { body } of this.#watched) body.abandon(reason);
  }

  /** Ends the streams, or the connection, that have exceeded their times. */
  sweep(now: number): void {
    if (this.session.destroyed) this.#forceClose(now);
    else this.#sweepSession(now);
  }

  #sweepSession(now: number): void {
    const { headersTimeoutMs, firstCallTimeoutMs, idleTimeoutMs } = this.#limits;
    if (this.session.pendingSettingsAck && now - this.#start > headersTimeoutMs) {
      this.#end(constants.NGHTTP2_SETTINGS_TIMEOUT);
    }
    for (const watched of this.#watched) this.#sweepStream(watched, now);
    if (this.#watched.size > 0 || this.#opened !== this.#openedBefore) this.#idleSince = now;
    const idleFor = now - this.#idleSince;
    if (idleFor > idleTimeoutMs || (this.#opened === 0 && idleFor > firstCallTimeoutMs)) {
      this.session.close();
    } else this.#probe(now);
    this.#openedBefore = this.#opened;
  }

  /**
   * Sends a PING when the bytes received last may be the beginning of a header block: inside of one, a client cannot answer
   * (RFC 9113, section 6.10). And, at the pace of `idleTimeoutMs`, to find out whether there still is a client.
   */
  #probe(now: number): void {
    const { headersTimeoutMs, stallTimeoutMs, idleTimeoutMs } = this.#limits;
    const busy = this.#watched.size > 0;
    const { bytesRead } = this.socket;
    const receiving = bytesRead !== this.#bytesRead;
    // Streams that open one after the other have complete header blocks.
    const opening = this.#opened !== this.#openedBefore;
    if (receiving || opening) this.#unproven = true;
    this.#bytesRead = bytesRead;
    if (this.#pinging) {
      // A client with calls may be busy with them for a while and not answer.
      if (now - this.#pingedAt > (busy ? stallTimeoutMs : headersTimeoutMs)) this.#end(constants.NGHTTP2_CANCEL);
      return;
    }
    const suspect = !opening && (busy ? receiving : this.#unproven);
    const due = suspect ? (busy ? headersTimeoutMs : 0) : busy ? idleTimeoutMs : Number.POSITIVE_INFINITY;
    if (now - this.#pingedAt <= due) return;
    this.#pingedAt = now;
    this.#pinging = true;
    this.#unproven = false;
    this.session.ping(() => {
      this.#pinging = false;
      this.#bytesRead += PING_ACK_BYTES;
    });
  }

  #sweepStream(watched: Watched, now: number): void {
    const { messageTimeoutMs, messageIdleMs, stallTimeoutMs } = this.#limits;
    const { stream, body } = watched;
    watched.progress ??= { since: now, received: 0, receivedAt: now, unsent: 0, unsentAt: 0 };
    const { progress } = watched;
    if (body.collecting) {
      if (body.received !== progress.received) {
        progress.received = body.received;
        progress.receivedAt = now;
      }
      const timeoutMs = messageTimeoutMs * (1 + Math.floor(body.received / MIB));
      if (now - progress.receivedAt > messageIdleMs)
        body.failBytes(tooSlow(messageIdleMs, "no more of the message has"));
      else if (now - progress.since > timeoutMs) body.failBytes(tooSlow(timeoutMs, "the message has not"));
    }
    const { writableLength: unsent } = stream;
    if (unsent !== progress.unsent) {
      progress.unsent = unsent;
      progress.unsentAt = now;
      return;
    }
    // A stream of messages may be read slowly: no more than one batch of them waits.
    const limited = unsent > 0 && stream.writableEnded;
    if (limited && now - progress.unsentAt > stallTimeoutMs * Math.ceil(unsent / MIB)) {
      stream.close(constants.NGHTTP2_CANCEL);
    }
  }

  /** Frees the memory of streams whose client has stopped to read or to send. */
  #reclaim(): void {
    const since = performance.now() - STALLED_MS;
    for (const { stream, body, progress } of this.#watched) {
      if (progress === undefined) continue;
      if (body.collecting && body.received > 0 && progress.receivedAt < since) body.failBytes(outOfMemory());
      else if (progress.unsent > 0 && progress.unsentAt < since) stream.close(constants.NGHTTP2_ENHANCE_YOUR_CALM);
    }
  }

  /** Counts a stream that the client cancelled, or made the server reset. */
  #countCancel(): void {
    const { cancelBurst, cancelsPerSecond } = this.#limits;
    this.#cancels++;
    if (this.#cancels <= cancelBurst) return;
    const now = performance.now();
    const forgiven = Math.floor(((now - this.#cancelsAt) / 1000) * cancelsPerSecond);
    this.#cancels = Math.max(0, this.#cancels - forgiven);
    this.#cancelsAt = now;
    if (this.#cancels > cancelBurst) this.#end(constants.NGHTTP2_ENHANCE_YOUR_CALM);
  }

  #end(code: number): void {
    // Not inside an event of a stream, when Node is still processing the session.
    // Node drops the code unless there is an error with it.
    setImmediate(() => this.session.destroy(new Error("the client has broken the limits of a connection"), code));
  }

  /** Closes the socket of a session that has ended: Node leaves some of them to the client. */
  #forceClose(now: number): void {
    this.#endedSince ??= now;
    if (now - this.#endedSince > CLOSE_GRACE_MS) this.socket.destroy();
  }
}

function tooSlow(timeoutMs: number, what: string): RpcError {
  return new RpcError(Code.DeadlineExceeded, `${what} arrived within ${timeoutMs} ms`, {
    status: Status.ServerTimeout,
  });
}
