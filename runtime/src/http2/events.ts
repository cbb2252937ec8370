/**
 * The interfaces between a connection, its owner and the users of its streams. Events of streams are method calls instead of
 * objects, which would be an allocation for every frame.
 */
import type { FieldList } from "../wire/fields.ts";
import type { HeaderBlock } from "./messages.ts";

export type PingKind = "keepalive" | "shutdown" | "receipt";

/** Rare events of a connection. */
export type ConnectionEvent =
  /** The peer's settings have been received, for the first time or again. */
  | { readonly type: "settings" }
  | { readonly type: "pong"; readonly kind: PingKind }
  /** The peer has sent GOAWAY: no new streams can be opened. */
  | { readonly type: "goaway"; readonly code: number }
  /** The last open stream has closed. */
  | { readonly type: "idle" }
  /**
   * The connection and its streams have ended: write the remaining output of `take` and end the socket. `isLocal`: this side
   * ended it, because of a violation by the peer or on request. `cause`: an unexpected exception in this program.
   */
  | {
      readonly type: "over";
      readonly code: number;
      readonly text: string;
      readonly isLocal: boolean;
      readonly cause?: unknown;
    };

export interface ConnectionHandler {
  onEvent(event: ConnectionEvent): void;
}

export interface ServerHandler extends ConnectionHandler {
  /**
   * Handles a request. `early` is all its data in the chunk that contained its header block; if `stream.ended`, it is
   * the whole body. The handler sets `stream.sink`, which receives all later events, before it responds.
   */
  onRequest(stream: Stream, block: HeaderBlock, early: readonly Uint8Array[]): void;
}

/** One exchange. Its methods may be called at any time: on a closed stream they do nothing. */
export interface Stream {
  /** The stream id; 0 while the stream waits for the peer's stream limit. */
  readonly id: number;
  /** True if the peer has ended its side. */
  readonly ended: boolean;
  /** True if the stream has ended, and `onClosed` has been called or is about to be called. */
  readonly closed: boolean;
  /** Bytes that wait for flow control or for the socket. */
  readonly unsent: number;
  /** Receives the events of the stream. */
  sink: StreamSink;
  /** Sends an interim response (1xx). Throws a `TypeError` for fields that cannot be sent. */
  sendInformational(status: number, headers: FieldList): void;
  /**
   * Sends the response: headers, the body and trailers if given. Ends the stream unless more data follows by {@link
   * sendData}. Throws a `TypeError` for fields that cannot be sent; nothing has been sent then.
   */
  respond(
    status: number,
    headers: FieldList,
    body: Uint8Array | undefined,
    trailers: FieldList | undefined,
    isEnd: boolean,
  ): void;
  /** Queues data. Returns false if enough is queued; `onDrain` is called when more is accepted. */
  sendData(bytes: Uint8Array, isEnd: boolean): boolean;
  /** Ends the stream with trailers, after the queued data. Throws a `TypeError` for fields that cannot be sent. */
  sendTrailers(trailers: FieldList): void;
  /** Reports that the reader has consumed this many bytes, so that the peer may send as many more on this stream. */
  consumed(bytes: number): void;
  /** Drops what follows. At most `bytes` are credited, then flow control stops the peer; another call can lower them. */
  discard(bytes: number): void;
  /** Resets the stream. Queued data is dropped. `onClosed` is called; `onReset` is not. */
  reset(code: number): void;
}

/** Receives the events of a stream: those of the request on a server, and of the whole exchange on a client. */
export interface StreamSink {
  /** The final response has been received. Clients only. */
  onResponse?(block: HeaderBlock): void;
  /** Data has been received: a view of the current chunk. The bytes count against the windows until `consumed` is called. */
  onData(bytes: Uint8Array): void;
  /** The peer has ended its side. */
  onEnd(trailers: readonly string[] | undefined): void;
  /**
   * The stream has ended early: it was reset by the peer, by this side because of the peer's behaviour, or by the end of the
   * connection. Called at most once; only `onClosed` follows. `isUnprocessed`: the peer has certainly not processed the
   * stream.
   */
  onReset(code: number, by: ResetBy, isUnprocessed: boolean): void;
  /** After `sendData` has returned false: most of the queued data has been sent. */
  onDrain(): void;
  /**
   * The response has been written completely, but the request has not ended: the owner drops a bounded part of its rest and
   * resets the stream with NO_ERROR (RFC 9113, section 8.1). Servers only.
   */
  onRespondedEarly?(): void;
  /** The last callback, which is always called: neither side sends anything more on the stream. */
  onClosed(): void;
}

export type ResetBy = "peer" | "engine" | "connection";
