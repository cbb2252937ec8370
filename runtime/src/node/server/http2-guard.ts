/**
 * The times of a server's HTTP/2 connection: who says nothing, sends too slowly or does not read is given up. What is counted
 * is counted by the connection itself.
 */
import type { Socket } from "node:net";
import { Code, Status } from "../../call/code.ts";
import { RpcError } from "../../call/error.ts";
import { ErrorCode } from "../../http2/codes.ts";
import type { ServerConnection } from "../../http2/server.ts";
import type { Stream } from "../../http2/stream.ts";
import type { IncomingBody } from "../io/http2-body.ts";
import type { Indexed, SwapList } from "../io/swap-list.ts";
import type { Limits } from "./guard.ts";

const MIB = 1024 * 1024;

/** A request that is not over. */
export interface WatchedRequest extends Indexed {
  readonly stream: Stream;
  readonly incoming: IncomingBody | undefined;
  /** Its response has been handed over in full. */
  readonly hasResponded: boolean;
  /** Made by the first look at the request; most do not live to see it. */
  progress?: Progress;
}

/** What the last look at a request has shown. */
interface Progress {
  readonly since: number;
  received: number;
  receivedAt: number;
  unsent: number;
  unsentAt: number;
}

export class ConnectionGuard {
  readonly #connection: ServerConnection;
  readonly #socket: Socket;
  readonly #requests: SwapList<WatchedRequest>;
  readonly #limits: Limits;
  readonly #leave: () => void;
  readonly #start: number = performance.now();
  #sweptAt: number = this.#start;
  #idleSince: number = this.#start;
  #requestsBefore = 0;
  /** Frames that had come by the last sweep, and when there was nothing to wait for the last time. */
  #framesBefore = 0;
  #wholeAt: number = this.#start;
  #heardAt: number = this.#start;
  /** When the client was asked whether it is there; `undefined`: it has not been, or has said something since. */
  #pingedAt: number | undefined;
  /** Bytes that the kernel had taken by the last sweep, and when that was more than before. */
  #written = 0;
  #writtenAt: number = this.#start;

  /** `leave` ends the connection after the calls that are open. */
  constructor(
    connection: ServerConnection,
    socket: Socket,
    requests: SwapList<WatchedRequest>,
    limits: Limits,
    leave: () => void,
  ) {
    this.#connection = connection;
    this.#socket = socket;
    this.#requests = requests;
    this.#limits = limits;
    this.#leave = leave;
  }

  /** Looks at the connection and its requests, and ends what has taken too long. */
  sweep(now: number): void {
    const connection = this.#connection;
    connection.tick(now - this.#sweptAt);
    this.#sweptAt = now;
    if (connection.isOver) return;
    for (const request of this.#requests) this.#sweepRequest(request, now);
    this.#sweepSocket(now);
    this.#sweepFrames(now);
    this.#sweepIdle(now);
  }

  /** A client that does not read what is written gets no more (CVE-2019-9517). */
  #sweepSocket(now: number): void {
    const { writableLength, bytesWritten } = this.#socket;
    const written = bytesWritten - writableLength;
    if (writableLength === 0 || written !== this.#written) this.#writtenAt = now;
    else if (now - this.#writtenAt > this.#limits.stallTimeoutMs) this.#socket.destroy();
    this.#written = written;
  }

  /** The preface, a header block and the acknowledgement of our SETTINGS have to come in time. */
  #sweepFrames(now: number): void {
    const connection = this.#connection;
    const { headersTimeoutMs, stallTimeoutMs, idleTimeoutMs } = this.#limits;
    const { framesReceived } = connection;
    if (framesReceived !== this.#framesBefore) {
      this.#heardAt = now;
      this.#pingedAt = undefined;
    }
    if (framesReceived !== this.#framesBefore || !connection.isMidway) this.#wholeAt = now;
    this.#framesBefore = framesReceived;
    if (now - this.#wholeAt > headersTimeoutMs) {
      connection.fail(ErrorCode.EnhanceYourCalm, "what has begun was not completed in time");
    } else if (connection.awaitsSettingsAck && now - this.#start > headersTimeoutMs) {
      connection.fail(ErrorCode.SettingsTimeout, "SETTINGS were not acknowledged in time");
    } else if (this.#pingedAt !== undefined) {
      if (now - this.#pingedAt > stallTimeoutMs) connection.fail(ErrorCode.Cancel, "a PING was not answered in time");
    } else if (this.#requests.size > 0 && now - this.#heardAt > idleTimeoutMs && connection.ping("keepalive")) {
      this.#pingedAt = now;
    }
  }

  #sweepIdle(now: number): void {
    const connection = this.#connection;
    const { firstCallTimeoutMs, idleTimeoutMs } = this.#limits;
    const { requests } = connection;
    if (this.#requests.size > 0 || requests !== this.#requestsBefore) this.#idleSince = now;
    this.#requestsBefore = requests;
    const idleFor = now - this.#idleSince;
    if (idleFor > idleTimeoutMs || (requests === 0 && idleFor > firstCallTimeoutMs)) this.#leave();
  }

  #sweepRequest(request: WatchedRequest, now: number): void {
    const { messageTimeoutMs, messageIdleMs, stallTimeoutMs } = this.#limits;
    const { stream, incoming } = request;
    request.progress ??= { since: now, received: 0, receivedAt: now, unsent: 0, unsentAt: now };
    const { progress } = request;
    if (incoming?.collecting) {
      if (incoming.received !== progress.received) {
        progress.received = incoming.received;
        progress.receivedAt = now;
      }
      const timeoutMs = messageTimeoutMs * (1 + Math.floor(incoming.received / MIB));
      if (now - progress.receivedAt > messageIdleMs) {
        incoming.failBytes(tooSlow(messageIdleMs, "no more of the message has"));
      } else if (now - progress.since > timeoutMs) incoming.failBytes(tooSlow(timeoutMs, "the message has not"));
    }
    // A stream of messages may be read as slowly as its reader likes: all that waits is one batch of them.
    const unsent = request.hasResponded ? stream.unsent : 0;
    if (unsent !== progress.unsent) {
      progress.unsent = unsent;
      progress.unsentAt = now;
    } else if (unsent > 0 && now - progress.unsentAt > stallTimeoutMs * Math.ceil(unsent / MIB)) {
      stream.reset(ErrorCode.Cancel);
    }
  }
}

function tooSlow(timeoutMs: number, what: string): RpcError {
  return new RpcError(Code.DeadlineExceeded, `${what} arrived within ${timeoutMs} ms`, {
    status: Status.ServerTimeout,
  });
}
