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
import type { Limits } from "./limits.ts";

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
