/**
 * What a server does not let one HTTP/2 connection get away with: too many exchanges, too many resets, and silence in
 * the middle of something. `node:http2` has no such limits, or has them without an end to the connection.
 */
import { constants, type ServerHttp2Session, type ServerHttp2Stream } from "node:http2";
import type { Socket } from "node:net";
import { Code, Status } from "../../call/code.ts";
import { RpcError } from "../../call/error.ts";
import type { ReadableBody } from "../io/body.ts";
import { type Indexed, SwapList } from "../io/swap-list.ts";

/** What one HTTP/2 connection to a server may do. Times are in milliseconds, and kept to about a second. */
export interface ConnectionLimits {
  /** Calls that the client may have open at a time. Default: 100. */
  readonly maxStreams?: number | undefined;
  /** Handlers that may run at a time, those of cancelled calls included; calls beyond are refused. Default: 200. */
  readonly maxHandlers?: number | undefined;
  /**
   * Calls that the client may cancel at once, beyond those of `cancelsPerSecond`. Default: 900, which is as much as Node 20
   * can be told to take; more has an effect from Node 24 on.
   */
  readonly cancelBurst?: number | undefined;
  /** Calls that the client may cancel per second, in the long run. Beyond, the connection is closed. Default: 30. */
  readonly cancelsPerSecond?: number | undefined;
  /** How long a client may take to begin to speak HTTP/2, or to complete a header it has begun. Default: 10,000. */
  readonly headersTimeoutMs?: number | undefined;
  /** How long a connection may exist without a call. Default: 30,000. */
  readonly firstCallTimeoutMs?: number | undefined;
  /** How long the message of a unary call may take to arrive, for each MiB of it. Default: 60,000. */
  readonly messageTimeoutMs?: number | undefined;
  /** How long no byte of the message of a unary call may arrive. Default: 15,000. */
  readonly messageIdleMs?: number | undefined;
  /** How long a client may take to accept a whole response, for each MiB of it, or to answer a ping. Default: 60,000. */
  readonly stallTimeoutMs?: number | undefined;
  /** How long a connection may be without calls before it is closed. Default: 5 minutes. */
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

/** How often every connection is looked at: ten times in the shortest of the times, but not more than once a second. */
export function sweepIntervalMs(limits: Limits): number {
  const times = Object.entries(limits).flatMap(([name, value]) => (name.endsWith("Ms") ? [value] : []));
  return Math.max(5, Math.min(1_000, ...times.map((time) => time / 10)));
}

/** A connection that has been told to go has this long to do so by itself. */
const FAREWELL_MS = 1_000;
/** Bytes that say nothing: the answer to a ping, with what TLS adds. */
const QUIET_BYTES = 64;
const MIB = 1024 * 1024;

/** A stream that is open. */
export interface Watched extends Indexed {
  readonly stream: ServerHttp2Stream;
  readonly body: ReadableBody;
  /** Made by the first look at the stream; most streams do not live to see it. */
  progress?: Progress;
}

/** What the last look at a stream has shown. */
interface Progress {
  readonly since: number;
  received: number;
  receivedAt: number;
  unsent: number;
  unsentAt: number;
}

/** Watches over one connection. Calls only count; time is looked at when the server sweeps. */
export class SessionGuard {
  readonly session: ServerHttp2Session;
  readonly socket: Socket;
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
  #unanswered = false;
  #goingSince: number | undefined;

  constructor(session: ServerHttp2Session, socket: Socket, limits: Limits) {
    this.session = session;
    this.socket = socket;
    this.#limits = limits;
  }

  /** Whether the handler of a stream may start. Tell {@link finished} when it has. */
  admit(stream: ServerHttp2Stream): boolean {
    // Opened and reset in one go: nobody waits for the answer.
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

  /** A handler has ended, and its response has been handed over. */
  finished(): void {
    this.#handlers--;
  }

  /** Watches a stream, until it is told that the stream has {@link closed}. */
  watch(watched: Watched): void {
    this.#opened++;
    this.#watched.add(watched);
  }

  closed(watched: Watched): void {
    this.#watched.delete(watched);
    if (watched.stream.rstCode !== constants.NGHTTP2_NO_ERROR) this.#countCancel();
  }

  /** Lets nobody wait any more for the rest of a request. */
  abandon(reason: RpcError): void {
    for (const { body } of this.#watched) body.abandon(reason);
  }

  /** Looks at the connection and its streams, and ends what has taken too long. */
  sweep(now: number): void {
    if (this.session.destroyed) this.#sayFarewell(now);
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
   * Asks for a sign of life after bytes that led to nothing, which may be the beginning of a header: in the middle of one
   * a client cannot answer. And, once in a long while, whether there still is a client.
   */
  #probe(now: number): void {
    const { headersTimeoutMs, stallTimeoutMs, idleTimeoutMs } = this.#limits;
    const busy = this.#watched.size > 0;
    if (this.#unanswered) {
      // A client with calls may be at work on them for a while and not answer.
      if (now - this.#pingedAt > (busy ? stallTimeoutMs : headersTimeoutMs)) this.#end(constants.NGHTTP2_CANCEL);
      return;
    }
    const { bytesRead } = this.socket;
    const quiet = bytesRead - this.#bytesRead <= QUIET_BYTES || this.#opened !== this.#openedBefore;
    this.#bytesRead = bytesRead;
    const due = busy ? (quiet ? idleTimeoutMs : headersTimeoutMs) : quiet ? Number.POSITIVE_INFINITY : 0;
    if (now - this.#pingedAt <= due) return;
    this.#pingedAt = now;
    this.#unanswered = true;
    this.session.ping(() => {
      this.#unanswered = false;
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
    // A stream of messages may be read as slowly as its reader likes: all that waits is one batch of them.
    const unsent = stream.writableEnded ? stream.writableLength : 0;
    if (unsent !== progress.unsent) {
      progress.unsent = unsent;
      progress.unsentAt = now;
    } else if (unsent > 0 && now - progress.unsentAt > stallTimeoutMs * Math.ceil(unsent / MIB)) {
      stream.close(constants.NGHTTP2_CANCEL);
    }
  }

  /** Counts a stream that ended without need: cancelled by the client, or reset because of what the client did. */
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
    // Not from inside an event of a stream, where Node is still at work on the session.
    // Node forgets the code where there is no error to go with it.
    setImmediate(() => this.session.destroy(new Error("the client has broken the limits of a connection"), code));
  }

  /** Closes the socket of a session that is over: Node leaves some of them to the client. */
  #sayFarewell(now: number): void {
    this.#goingSince ??= now;
    if (now - this.#goingSince > FAREWELL_MS) this.socket.destroy();
  }
}

function tooSlow(timeoutMs: number, what: string): RpcError {
  return new RpcError(Code.DeadlineExceeded, `${what} arrived within ${timeoutMs} ms`, {
    status: Status.ServerTimeout,
  });
}
