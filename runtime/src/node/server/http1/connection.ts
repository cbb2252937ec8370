/**
 * One HTTP/1.1 connection of a server: sequential processing of pipelined requests, the memory they hold, and the limit on
 * slow reads.
 */

import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { RpcError } from "../../../call/error.ts";
import type { Metadata } from "../../../call/metadata.ts";
import { now } from "../../../call/platform.ts";
import type { ReadableBody } from "../../io/body.ts";
import { type MemoryBudget, type MemoryHolder, MemoryShare, outOfMemory, STALLED_MS } from "../../io/memory-budget.ts";
import type { ConnectionAge } from "../listener/connection-age.ts";
import { MIB } from "../listener/limits.ts";
import { type ErrorResponse, writeErrorResponse } from "./errors.ts";
import { RequestLines } from "./request-lines.ts";

/** Memory of a pipelined request that waits for its turn: Node's objects for it and its headers. */
const WAITING_REQUEST_BYTES = 8 * 1024;

/** The property of a socket that holds its connection. */
const CONNECTION = Symbol("connection");
type Carrier = Socket & { [CONNECTION]?: Http1Connection };

export class Http1Connection implements MemoryHolder {
  readonly socket: Socket;
  readonly memory: MemoryShare;
  readonly age: ConnectionAge;
  /** Body of the request whose response is pending. */
  body: ReadableBody | undefined;
  /** The last two responses. Responses are sent in order, so that earlier ones do not matter. */
  #last: ServerResponse | undefined;
  #beforeLast: ServerResponse | undefined;
  #waiting = 0;
  readonly #lines = new RequestLines();
  #failed = false;
  /** True if no request after the last one is processed. */
  #isLast = false;
  // The progress at the last sweep.
  #unsent = 0;
  #received = 0;
  #stalledSince = 0;

  constructor(socket: Socket, budget: MemoryBudget, age: ConnectionAge) {
    this.socket = socket;
    this.age = age;
    this.memory = new MemoryShare(budget, this);
    (socket as Carrier)[CONNECTION] = this;
  }

  /** Returns the connection of an accepted socket. */
  static of(socket: Socket): Http1Connection {
    return (socket as Carrier)[CONNECTION] as Http1Connection;
  }

  /**
   * Reads the socket by events; called after `node:http` has added its listeners. Otherwise the parser would read the socket
   * itself, and hide the request lines. Over TLS, Node passes decrypted data to such a parser in a loop that does not stop
   * when the parser is paused: it fails with "Parse Error: Paused", and pipelined requests are lost (seen with Node 20 to
   * 26, with plain `node:https` too).
   */
  attach(): void {
    // The parser is another listener, between these two.
    this.socket.prependListener("data", (chunk: Buffer) => {
      this.#lines.begin(chunk, this.#last === undefined || this.#last.req.complete);
    });
    this.socket.on("data", () => {
      if (this.#lines.end()) this.#closeAfterLast();
    });
  }

  /** Validates the line of a request that `node:http` emits. Returns the response to an invalid one. */
  validateLine(request: IncomingMessage, headers: Metadata): ErrorResponse | undefined {
    return this.#lines.validate(request, headers);
  }

  /**
   * Starts to process a request: at once, or, if it is pipelined, after the client has received the previous response (RFC
   * 9112, section 9.3.2). No further requests are read meanwhile. Ignores the request if the connection ends after the
   * one before it.
   */
  schedule(response: ServerResponse, start: () => void): void {
    if (this.#isLast) return;
    const before = this.#last;
    this.#beforeLast = before;
    this.#last = response;
    if (before === undefined || before.closed) {
      start();
      return;
    }
    if (!this.memory.take(WAITING_REQUEST_BYTES)) {
      this.socket.destroy();
      return;
    }
    this.socket.pause();
    this.#waiting++;
    before.once("close", () => {
      this.#waiting--;
      this.memory.release(WAITING_REQUEST_BYTES);
      // The previous response has ended the connection, or this request has turned out to be malformed.
      if (!this.socket.writable || (this.#failed && !response.req.complete)) return;
      if (this.#waiting === 0) this.#resume();
      start();
    });
  }

  /**
   * Ends the connection after the response to the last request, because `node:http` drops the bytes that follow a request with
   * the field Upgrade in the same read. The response to a later request would be taken for that to a dropped one.
   */
  #closeAfterLast(): void {
    const last = this.#last;
    if (this.#isLast || last === undefined) return;
    this.#isLast = true;
    if (!last.headersSent) last.shouldKeepAlive = false;
    onClosed(last, () => this.socket.end());
  }

  /**
   * Resumes reading, unless Node's private flag shows that Node itself has paused the socket and its parser until responses
   * have been sent.
   */
  #resume(): void {
    if (!(this.socket as { _paused?: boolean })._paused) this.socket.resume();
  }

  /** Sends an error response to invalid input, after the responses to the previous requests, and ends the connection. */
  fail(error: ErrorResponse): void {
    const { socket } = this;
    if (!socket.writable) socket.destroy();
    // Node reports the same bytes again with all bytes that follow.
    if (this.#failed) return;
    this.#failed = true;
    // If the last request is incomplete, it is the request that failed. Its early response, if there is one, remains its
    // response.
    const own = this.#last !== undefined && !this.#last.req.complete ? this.#last : undefined;
    const before = own === undefined ? this.#last : this.#beforeLast;
    const end = (): void => {
      if (own?.headersSent) onClosed(own, () => socket.end());
      else writeErrorResponse(socket, error);
    };
    if (before === undefined) end();
    else onClosed(before, end);
  }

  /**
   * Limits slow reads: ends a connection whose client does not receive the response within `stallTimeoutMs` for each MiB of
   * it. Also ends connections that have exceeded their maximum age. Called about once a second.
   */
  sweep(now: number, stallTimeoutMs: number): void {
    if (this.age.isExpired(now)) this.socket.destroy();
    const { writableLength: unsent, bytesRead: received } = this.socket;
    if (unsent !== this.#unsent || received !== this.#received) {
      this.#unsent = unsent;
      this.#received = received;
      this.#stalledSince = now;
    } else if (unsent > 0 && now - this.#stalledSince > stallTimeoutMs * Math.ceil(unsent / MIB)) {
      this.socket.destroy();
    }
  }

  /** Frees the memory of a client that has stopped reading or sending. */
  reclaim(): void {
    if (now() - this.#stalledSince < STALLED_MS) return;
    if (this.socket.writableLength > 0) this.close();
    else this.body?.reclaim(outOfMemory());
  }

  /** Fails a request that is still being received. */
  abandon(reason: RpcError): void {
    this.body?.abandon(reason);
  }

  close(): void {
    this.memory.close();
    this.socket.destroy();
  }
}

function onClosed(response: ServerResponse, callback: () => void): void {
  if (response.closed) callback();
  else response.once("close", callback);
}
