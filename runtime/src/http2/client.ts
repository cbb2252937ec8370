/**
 * The client's role on a connection: opens streams, queues requests while the server allows no more streams, and reads
 * responses.
 */
import type { SentHead } from "../wire/fields.ts";
import { ConnectionError, ErrorCode, LAST_STREAM_ID, Setting } from "./codes.ts";
import { EngineConnection, type EngineOptions } from "./connection.ts";
import type { ConnectionHandler, Role } from "./events.ts";
import { STREAM_WINDOW_BYTES } from "./flow-control.ts";
import type { HeadersFrame } from "./frame.ts";
import { MAX_HEADER_BYTES, MAX_INTERIM_RESPONSES } from "./limits.ts";
import { BlockKind } from "./messages.ts";
import { PREFACE } from "./receiver.ts";
import { EngineStream, State, type StreamSink } from "./stream.ts";
import type { Streams } from "./streams.ts";

/** A stream cannot be opened, because the connection shuts down or has used up its stream ids. */
export class NotOpen extends Error {}

export interface ClientOptions extends EngineOptions {
  readonly scheme: string;
  readonly authority: string;
}

const SETTINGS: readonly (readonly [id: number, value: number])[] = [
  [Setting.EnablePush, 0],
  [Setting.InitialWindowSize, STREAM_WINDOW_BYTES],
  [Setting.MaxHeaderListSize, MAX_HEADER_BYTES],
  [Setting.NoRfc7540Priorities, 1],
];

export class ClientRole implements Role {
  readonly isServer = false;
  readonly lastProcessedId = 0;
  readonly connection: EngineConnection;
  readonly #streams: Streams;
  readonly #scheme: string;
  readonly #authority: string;
  /** Passes each waiting request once: a new iterator would first pass all removed ones. Used only if there is one. */
  readonly #inOrder: Iterator<[EngineStream, SentHead]>;

  constructor(handler: ConnectionHandler, options: ClientOptions) {
    this.connection = new EngineConnection(this, handler, options, SETTINGS, PREFACE);
    this.#streams = this.connection.streams;
    this.#inOrder = this.#streams.waiting.entries();
    this.#scheme = options.scheme;
    this.#authority = options.authority;
  }

  /**
   * Opens a stream for a request. `body` is all or the first part of its body; `isEnd`: nothing follows. Throws
   * `NotOpen`, or a `TypeError` for a request that cannot be sent.
   */
  open(head: SentHead, sink: StreamSink, body: Uint8Array | undefined, isEnd: boolean): EngineStream {
    const streams = this.#streams;
    const { state, peer } = this.connection;
    if (state !== "open") throw new NotOpen("the connection takes no more requests");
    streams.headers.checkRequest(head.method, head.path, this.#authority, head.headers);
    const stream = new EngineStream(streams, 0, sink, peer.windowSize);
    stream.isHead = head.method === "HEAD";
    streams.opened++;
    const isEmpty = body === undefined || body.length === 0;
    if (streams.live.size < peer.maxStreams && streams.waiting.size === 0) {
      this.#start(stream, head, isEnd && isEmpty);
      if (!isEmpty) streams.scheduler.sendNow(stream, body, isEnd);
      return stream;
    }
    streams.waiting.set(stream, head);
    if (isEmpty) stream.endsAfterQueue = isEnd;
    else streams.scheduler.queue(stream, body, isEnd);
    return stream;
  }

  #start(stream: EngineStream, { method, path, headers }: SentHead, isEnd: boolean): void {
    const streams = this.#streams;
    const { connection } = this;
    stream.id = (streams.lastId + 1) | 1;
    streams.lastId = stream.id;
    streams.headers.writeRequest(stream.id, method, this.#scheme, this.#authority, path, headers, isEnd);
    stream.hasSentHeaders = true;
    // SETTINGS may have changed it while the stream waited.
    stream.sendWindow = connection.peer.windowSize;
    stream.takes = connection.takes;
    connection.startedAt = connection.takes;
    stream.state = isEnd ? State.HalfLocal : State.Open;
    streams.live.add(stream);
    if (stream.id + 2 > LAST_STREAM_ID && connection.state === "open") connection.useUp();
  }

  openWaiting(): void {
    const streams = this.#streams;
    const { connection } = this;
    while (streams.waiting.size > 0 && streams.live.size < connection.peer.maxStreams && connection.state === "open") {
      const [stream, head] = this.#inOrder.next().value as [EngineStream, SentHead];
      streams.waiting.delete(stream);
      this.#start(stream, head, stream.endsAfterQueue && stream.unsent === 0);
      streams.scheduler.resume(stream);
    }
  }

  /** Refuses the streams that have no id yet, because the connection opens no more. Another connection can serve them. */
  onLeaving(): void {
    const waiting = [...this.#streams.waiting.keys()];
    this.#streams.waiting.clear();
    for (const stream of waiting) this.#streams.lose(stream, ErrorCode.RefusedStream, "connection", true);
  }

  onRequest(): void {
    throw new ConnectionError(ErrorCode.ProtocolError, "HEADERS on an idle stream");
  }

  onResponse(stream: EngineStream, frame: HeadersFrame): void {
    const streams = this.#streams;
    const { connection } = this;
    const { isEnd } = frame;
    const block = connection.reader.read(frame, BlockKind.Response);
    const { status } = block;
    if (connection.reader.problem === "too large") {
      streams.fail(stream, ErrorCode.EnhanceYourCalm, isEnd);
      return;
    }
    if (connection.reader.problem !== undefined || (status < 200 && isEnd)) {
      streams.fail(stream, ErrorCode.ProtocolError, isEnd);
      return;
    }
    if (status < 200) {
      if (++stream.interim > MAX_INTERIM_RESPONSES)
        connection.fail(ErrorCode.EnhanceYourCalm, "too many interim responses");
      return;
    }
    stream.hasHeaders = true;
    // Responses to HEAD and with status 204 or 304 may have a content-length without a body (RFC 9110, section 8.6).
    stream.expected = stream.isHead || status === 204 || status === 304 ? -1 : block.contentLength;
    stream.sink.onResponse?.(block);
    if (isEnd && !stream.closed) streams.endRemote(stream, undefined);
  }
}
