/**
 * The client side of a connection: opens streams, queues requests while the server allows no more streams, and reads
 * responses.
 */
import { ConnectionError, ErrorCode, LAST_STREAM_ID, Setting } from "./codes.ts";
import { EngineConnection, type EngineOptions } from "./connection.ts";
import type { ConnectionHandler } from "./events.ts";
import { writeWindowUpdate } from "./frame.ts";
import type { FieldList } from "./hpack/encoder.ts";
import { Glitch, MAX_HEADER_BYTES, MAX_INTERIM_RESPONSES } from "./limits.ts";
import { BlockKind, checkRequestLine } from "./messages.ts";
import { PREFACE } from "./receiver.ts";
import type { StreamSink } from "./sink.ts";
import { Action, ON_HEADERS, State, Stream } from "./stream.ts";
import { STREAM_WINDOW_BYTES } from "./streams.ts";

/** The head of a request that opens a stream. */
export interface StreamRequestHead {
  readonly method: string;
  readonly path: string;
  readonly headers: FieldList;
}

/** A stream cannot be opened, because the connection shuts down or has used up its stream ids. */
export class NotOpen extends Error {}

export interface ClientOptions extends EngineOptions {
  readonly scheme: string;
  readonly authority: string;
}

/** A request whose stream has no id yet: ids must increase in the order in which HEADERS are sent. */
interface Waiting {
  readonly stream: Stream;
  readonly head: StreamRequestHead;
  isEnd: boolean;
}

export class ClientConnection extends EngineConnection {
  protected readonly lastProcessedId = 0;
  readonly #scheme: string;
  readonly #authority: string;
  #nextId = 1;
  #checkedMethod = "";
  #checkedPath = "";
  /** In the order of their calls. Thousands may wait, and each may be cancelled: all is O(1). */
  readonly #waiting = new Map<Stream, Waiting>();
  /**
   * Passes each waiting request once. Another iterator would pass all removed ones first. It never ends: it is used
   * only if there is one.
   */
  readonly #inOrder: Iterator<Waiting> = this.#waiting.values();
  /** The value of `takes` when the last HEADERS were written. */
  #startedAt = -1;

  constructor(handler: ConnectionHandler, options: ClientOptions) {
    super(false, handler, options);
    this.#scheme = options.scheme;
    this.#authority = options.authority;
    this.output.payload(PREFACE);
    this.announce([
      [Setting.EnablePush, 0],
      [Setting.InitialWindowSize, STREAM_WINDOW_BYTES],
      [Setting.MaxHeaderListSize, MAX_HEADER_BYTES],
      [Setting.NoRfc7540Priorities, 1],
    ]);
    writeWindowUpdate(this.output, 0, this.receiveWindow.announce());
  }

  /** The number of streams that are open or wait to be opened. */
  override get streams(): number {
    return this.live.size + this.#waiting.size;
  }

  /** True if {@link open} would take a request. */
  get isOpen(): boolean {
    return this.state === "open";
  }

  /**
   * Opens a stream for a request. `body` is all or the first part of its body; `isEnd`: nothing follows. Throws
   * `NotOpen`, or a `TypeError` for a request that cannot be sent.
   */
  open(head: StreamRequestHead, sink: StreamSink, body: Uint8Array | undefined, isEnd: boolean): Stream {
    if (this.state !== "open") throw new NotOpen("the connection takes no more requests");
    this.#checkRequestLine(head.method, head.path);
    this.headers.checkRequest(head.headers, head.path, this.#authority);
    const stream = new Stream(this, 0, sink, this.peer.windowSize, STREAM_WINDOW_BYTES);
    stream.isHead = head.method === "HEAD";
    this.opened++;
    if (this.live.size < this.peer.maxStreams && this.#waiting.size === 0) {
      const isEmpty = body === undefined || body.length === 0;
      this.#start(stream, head, isEnd && isEmpty);
      if (!isEmpty) this.scheduler.sendNow(stream, body, isEnd);
      return stream;
    }
    const isEmpty = body === undefined || body.length === 0;
    this.#waiting.set(stream, { stream, head, isEnd: isEnd && isEmpty });
    if (!isEmpty) this.scheduler.queue(stream, body, isEnd);
    return stream;
  }

  /**
   * Throws a `TypeError` for a request line that must not be sent. Most requests repeat the previous line, which is not
   * checked again.
   */
  #checkRequestLine(method: string, path: string): void {
    if (method === this.#checkedMethod && path === this.#checkedPath) return;
    checkRequestLine(method, path);
    this.#checkedMethod = method;
    this.#checkedPath = path;
  }

  #start(stream: Stream, { method, path, headers }: StreamRequestHead, isEnd: boolean): void {
    stream.id = this.#nextId;
    this.#nextId += 2;
    this.headers.writeRequest(stream.id, method, this.#scheme, this.#authority, path, headers, isEnd);
    stream.hasSentHeaders = true;
    // SETTINGS may have changed it while the stream waited.
    stream.sendWindow.left = this.peer.windowSize;
    stream.takes = this.takes;
    this.#startedAt = this.takes;
    stream.state = isEnd ? State.HalfLocal : State.Open;
    this.live.add(stream);
    if (this.#nextId > LAST_STREAM_ID && this.state === "open") {
      this.state = "leaving";
      this.emit({ type: "goaway", lastStreamId: this.#nextId, code: ErrorCode.NoError });
      this.#refuseWaiting();
    }
  }

  /**
   * Refuses the streams that have no id yet, because the connection opens no more streams. Another connection can serve
   * them.
   */
  #refuseWaiting(): void {
    const waiting = [...this.#waiting.keys()];
    this.#waiting.clear();
    for (const stream of waiting) this.#refuse(stream);
  }

  #refuse(stream: Stream): void {
    if (stream.closed) return;
    stream.sink.onReset(ErrorCode.RefusedStream, "connection", true);
    this.close(stream, State.PeerReset);
  }

  /** Opens waiting streams, as far as the server's limit allows. */
  #startWaiting(): void {
    while (this.#waiting.size > 0 && this.live.size < this.peer.maxStreams && this.state === "open") {
      const { stream, head, isEnd } = this.#inOrder.next().value as Waiting;
      this.#waiting.delete(stream);
      this.#start(stream, head, isEnd);
      this.scheduler.resume(stream);
      if (stream.trailersAfterQueue !== undefined && stream.unsent === 0) {
        this.sendTrailers(stream, stream.trailersAfterQueue);
      }
    }
  }

  override sendData(stream: Stream, bytes: Uint8Array, isEnd: boolean): boolean {
    if (stream.id === 0 && bytes.length === 0 && stream.unsent === 0) {
      const waiting = this.#waiting.get(stream);
      if (waiting !== undefined) waiting.isEnd ||= isEnd;
      return true;
    }
    return super.sendData(stream, bytes, isEnd);
  }

  override reset(stream: Stream, code: number): void {
    if (stream.id !== 0) super.reset(stream, code);
    else this.close(stream, State.WeReset);
  }

  protected override close(stream: Stream, state: State): void {
    // The server does not know a waiting stream: it is closed without RST_STREAM.
    if (stream.id !== 0) {
      super.close(stream, state);
      return;
    }
    if (stream.closed) return;
    this.#waiting.delete(stream);
    stream.closed = true;
    this.scheduler.drop(stream);
    stream.sink.onClosed();
    this.onStreamClosed();
  }

  protected override onStreamClosed(): void {
    if (this.#waiting.size > 0) this.#startWaiting();
    else super.onStreamClosed();
  }

  protected override openStreams(): Stream[] {
    return [...this.live.values(), ...this.#waiting.keys()];
  }

  protected stateOf(streamId: number): State {
    if (streamId % 2 === 0 || streamId >= this.#nextId) return State.Idle;
    return this.closedStreams.stateOf(streamId);
  }

  /**
   * Reports whether the server has certainly not processed a stream: GOAWAY excludes it, or its frames have not been
   * taken, and are dropped when the connection is over.
   */
  protected isUnprocessed(stream: Stream): boolean {
    return stream.id === 0 || stream.id > this.peerLastStreamId || stream.takes === this.takes;
  }

  protected onSettings(): void {
    this.#startWaiting();
  }

  protected onPeerLeaving(): void {
    this.#refuseWaiting();
    for (const stream of this.live.values()) if (stream.id > this.peerLastStreamId) this.#refuse(stream);
  }

  protected onLeaving(): void {
    this.#refuseWaiting();
  }

  /** Drops the output that has not been taken if it contains requests, which are then certainly not processed. */
  protected onOver(): void {
    if (this.#startedAt === this.takes) this.output.take();
  }

  /** A server that has ended its side of the socket answers no more requests. */
  override receiveEnd(): void {
    this.lost("the peer ended the connection");
  }

  protected onPeerReset(stream: Stream, code: number): void {
    stream.sink.onReset(code, "peer", code === ErrorCode.RefusedStream);
    this.close(stream, State.PeerReset);
  }

  protected dispatch(): void {}

  protected onHalfLocal(): void {}

  /** DATA must follow the header block of a final response (RFC 9113, section 8.1). */
  protected override mayReceiveData(stream: Stream): boolean {
    return stream.hasResponse;
  }

  onHeaders(streamId: number, isEnd: boolean, bytes: Uint8Array, start: number, end: number): void {
    const stream = this.live.get(streamId);
    switch (ON_HEADERS[stream === undefined ? this.stateOf(streamId) : stream.state]) {
      case Action.Accept:
        if (stream === undefined) break;
        if (stream.hasResponse) this.#onTrailers(stream, isEnd, bytes, start, end);
        else this.#onResponse(stream, isEnd, bytes, start, end);
        break;
      case Action.Open:
        throw new ConnectionError(ErrorCode.ProtocolError, "HEADERS on an idle stream");
      case Action.Closed:
        throw new ConnectionError(ErrorCode.StreamClosed, "HEADERS on a stream that has ended");
      case Action.Reset:
        this.read(bytes, start, end, BlockKind.Ignored);
        this.failClosed(streamId);
        break;
      default:
        this.read(bytes, start, end, BlockKind.Ignored);
        this.ignore(this.closedStreams.allowsBlock(), Glitch.DeadBlock);
    }
  }

  #onTrailers(stream: Stream, isEnd: boolean, bytes: Uint8Array, start: number, end: number): void {
    const { fields } = this.read(bytes, start, end, BlockKind.Trailers);
    if (this.problem === "too large") this.failStream(stream, ErrorCode.EnhanceYourCalm, isEnd);
    else if (!isEnd || this.problem !== undefined) this.failStream(stream, ErrorCode.ProtocolError, isEnd);
    else this.endRemote(stream, fields);
  }

  #onResponse(stream: Stream, isEnd: boolean, bytes: Uint8Array, start: number, end: number): void {
    const block = this.read(bytes, start, end, BlockKind.Response);
    const { status } = block;
    if (this.problem === "too large") {
      this.failStream(stream, ErrorCode.EnhanceYourCalm, isEnd);
      return;
    }
    if (this.problem !== undefined || (status < 200 && isEnd)) {
      this.failStream(stream, ErrorCode.ProtocolError, isEnd);
      return;
    }
    if (status < 200) {
      stream.interim++;
      if (stream.interim > MAX_INTERIM_RESPONSES) this.exceed("too many interim responses");
      else stream.sink.onInformational(block);
      return;
    }
    stream.hasResponse = true;
    // Responses to HEAD and with status 204 or 304 may have a content-length without a body (RFC 9110, section 8.6).
    stream.expected = stream.isHead || status === 204 || status === 304 ? -1 : block.contentLength;
    stream.sink.onResponse(block);
    if (isEnd && !stream.closed) this.endRemote(stream, undefined);
  }
}
