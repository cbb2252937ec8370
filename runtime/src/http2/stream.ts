/**
 * Streams (RFC 9113, section 5.1): their states, the reaction of each state to each type of frame, sending on one, and the data that
 * a connection keeps for it. Server push is not supported, so there is no state `reserved`.
 */

import type { FieldList } from "../wire/fields.ts";
import { ReceiveWindow, STREAM_WINDOW_BYTES } from "./flow-control.ts";
import { HeadersTooLarge, type HeaderWriter } from "./header-writer.ts";
import type { Meters } from "./limits.ts";
import type { HeaderBlock } from "./messages.ts";

/** The states of a stream. A closed one has no object: `ClosedStreams` remembers how the last ones ended. */
export const State = {
  Idle: 0,
  Open: 1,
  /** Half-closed (remote): the peer has ended its side. */
  HalfRemote: 2,
  /** Half-closed (local): this side has ended its side. */
  HalfLocal: 3,
  /** Both sides have ended. */
  Ended: 4,
  /** This side has reset the stream. The peer may not know that yet. */
  WeReset: 5,
  PeerReset: 6,
  Forgotten: 7,
  /** The peer has skipped the id, which closes the stream (section 5.1.1). Known as long as no closed stream is forgotten. */
  Skipped: 8,
} as const;
export type State = (typeof State)[keyof typeof State];

/** The reaction to a received frame. */
export const Action = {
  /** The stream handles the frame. */
  Accept: 0,
  /** The frame opens the stream, if its id is the next one of the peer (section 5.1.1). */
  Open: 1,
  /** Connection error PROTOCOL_ERROR. */
  Protocol: 2,
  /** Connection error STREAM_CLOSED. */
  Closed: 3,
  /**
   * Minimal processing: a header block is decoded, DATA is credited to the connection. The frame counts as a glitch
   * unless the peer may have sent it before it knew of the end of the stream (`ClosedStreams`).
   */
  Ignore: 4,
  /** Minimal processing, and the frame counts as a glitch. */
  IgnoreGlitch: 5,
  /**
   * Stream error STREAM_CLOSED (sections 5.1 and 6.1). Dubbo for Java sends DATA after it has reset a call. It counts as a
   * reset by the peer (MadeYouReset, CVE-2025-8671).
   */
  Reset: 6,
} as const;
export type Action = (typeof Action)[keyof typeof Action];

const { Accept, Open, Protocol, Closed, Ignore, IgnoreGlitch, Reset } = Action;

/** By the state of the stream (RFC 9113, section 5.1): the reactions to HEADERS, DATA, RST_STREAM and WINDOW_UPDATE. */
const REACTIONS: readonly (readonly [headers: Action, data: Action, reset: Action, windowUpdate: Action])[] = [
  [Open, Protocol, Protocol, Protocol], // idle
  [Accept, Accept, Accept, Accept], // open
  [Reset, Reset, Accept, Accept], // half-closed (remote)
  [Accept, Accept, Accept, Accept], // half-closed (local)
  [Closed, Reset, Ignore, Ignore], // ended
  [Ignore, Ignore, Ignore, Ignore], // we reset
  [Reset, Reset, IgnoreGlitch, IgnoreGlitch], // peer reset
  [Ignore, Ignore, Ignore, Ignore], // forgotten
  [Protocol, Reset, IgnoreGlitch, IgnoreGlitch], // skipped
];
export const ON_HEADERS: readonly Action[] = REACTIONS.map(([headers]) => headers);
export const ON_DATA: readonly Action[] = REACTIONS.map(([, data]) => data);
export const ON_RESET: readonly Action[] = REACTIONS.map(([, , reset]) => reset);
export const ON_WINDOW_UPDATE: readonly Action[] = REACTIONS.map(([, , , windowUpdate]) => windowUpdate);

/** The interface of a stream to its connection. */
export interface StreamOwner {
  readonly headers: HeaderWriter;
  readonly meters: Meters;
  readonly scheduler: {
    sendNow(stream: EngineStream, bytes: Uint8Array, isEnd: boolean): void;
    queue(stream: EngineStream, bytes: Uint8Array, isEnd: boolean): boolean;
  };
  /** The receive windows. */
  readonly windows: { credit(stream: EngineStream, bytes: number, size?: number): void };
  /** The last frame of a stream has been written. */
  onSent(stream: EngineStream): void;
  reset(stream: EngineStream, code: number): void;
  /** Ends a stream with an error. */
  fail(stream: EngineStream, code: number): void;
}

/**
 * Receives the events of a stream: those of the request on a server, and of the whole exchange on a client. They are method calls
 * instead of objects, which would be an allocation for every frame.
 */
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

/** The sink of a stream that has not been passed to a handler yet. It ignores all events. */
export const NO_SINK: StreamSink = { onData() {}, onEnd() {}, onReset() {}, onDrain() {}, onClosed() {} };

const EMPTY_QUEUE: Uint8Array[] = [];
const EMPTY_FIELDS: FieldList = { raw: [], frozen: true };

/** One exchange, as its user sees it. The methods may be called at any time: on a closed stream they do nothing. */
export type Stream = Readonly<Pick<EngineStream, "id" | "ended" | "closed" | "unsent">> &
  Pick<EngineStream, "sink" | "inform" | "respond" | "sendData" | "sendTrailers"> &
  Pick<EngineStream, "consumed" | "discard" | "reset">;

/** A stream with the state that its connection keeps. */
export class EngineStream {
  /** The stream id; 0 while the stream waits for the peer's stream limit. */
  id: number;
  state: State = State.Idle;
  /** Receives the events of the stream. */
  sink: StreamSink;
  /** True if the peer has ended its side. */
  ended = false;
  /** True if the stream has ended, and `onClosed` has been called or is about to be called. */
  closed = false;
  /** Bytes that wait for flow control or for the socket. */
  unsent = 0;
  readonly owner: StreamOwner;
  /** Bytes that may be sent. Negative after SETTINGS that reduced the window (RFC 9113, section 6.9.2). */
  sendWindow: number;
  readonly receiveWindow: ReceiveWindow = new ReceiveWindow(STREAM_WINDOW_BYTES);
  /** Bytes received and not consumed, which count against the window of the stream. */
  unconsumed = 0;
  /** Bytes that are still credited to the stream, if its data is discarded. */
  discardable: number | undefined = undefined;
  /** True if it is in the list of streams whose windows are to be announced. */
  isAnnouncing = false;
  /** Chunks that wait to be sent, and the number of bytes of the first one that have been sent. */
  queue: Uint8Array[] = EMPTY_QUEUE;
  queueOffset = 0;
  /** The last chunk of the queue and its used length, if small chunks are joined in it. */
  tail: Uint8Array | undefined;
  tailLength = 0;
  /** True if it is in the ring of the scheduler; `next` is its successor. */
  isQueued = false;
  next: EngineStream | undefined;
  /** True if the queue is followed by the end, or by trailers and the end. */
  endsAfterQueue = false;
  trailersAfterQueue: FieldList | undefined;
  /** True if `sendData` has returned false, so that `onDrain` is due. */
  wantsDrain = false;
  /** True if its HEADERS have been written: those of a request, or of a final response. */
  hasSentHeaders = false;
  /** True if the final header block of the peer has been received: that of a request, or of a final response. */
  hasHeaders = false;
  interim = 0;
  /** The announced content-length (-1: any), and the number of bytes received (RFC 9113, section 8.1.1). */
  expected = -1;
  received = 0;
  isHead = false;
  /** Size of its header block. */
  blockSize = 0;
  /** The client's count of `take` calls when the HEADERS of the stream were written. */
  takes = 0;
  /** Data received between the header block and the end of the same chunk. */
  early: Uint8Array[] | undefined;
  block: HeaderBlock | undefined;
  trailers: readonly string[] | undefined;

  constructor(owner: StreamOwner, id: number, sink: StreamSink, sendBytes: number) {
    this.owner = owner;
    this.id = id;
    this.sink = sink;
    this.sendWindow = sendBytes;
  }

  /** Sends 100 (Continue), unless the response has begun (RFC 9110, section 10.1.1). */
  inform(): void {
    if (this.closed || this.hasSentHeaders) return;
    try {
      this.owner.headers.writeResponse(this.id, 100, EMPTY_FIELDS, false);
    } catch {
      // The peer accepts no header block of this size, and needs this one the least.
    }
  }

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
  ): void {
    if (this.closed) return;
    if (this.hasSentHeaders) throw new Error("the stream already has a response");
    const { owner } = this;
    const hasBody = body !== undefined && body.length > 0;
    const isLast = isEnd && trailers === undefined;
    try {
      if (trailers !== undefined) owner.headers.check(trailers);
      owner.headers.writeResponse(this.id, status, headers, isLast && !hasBody);
    } catch (reason) {
      // A peer that accepts almost no headers causes work without progress (CVE-2026-50560).
      if (reason instanceof HeadersTooLarge) owner.meters.reset();
      throw reason;
    }
    this.hasSentHeaders = true;
    if (hasBody) owner.scheduler.sendNow(this, body, isLast);
    else if (isLast) owner.onSent(this);
    if (trailers !== undefined) this.sendTrailers(trailers);
  }

  /** Queues data. Returns false if enough is queued; `onDrain` is called when more is accepted. */
  sendData(bytes: Uint8Array, isEnd: boolean): boolean {
    return this.closed || this.owner.scheduler.queue(this, bytes, isEnd);
  }

  /** Ends a response with trailers, after the queued data. Throws a `TypeError` for fields that cannot be sent. Servers only. */
  sendTrailers(trailers: FieldList): void {
    if (this.closed) return;
    const { owner } = this;
    if (this.unsent === 0) {
      owner.headers.writeResponse(this.id, 0, trailers, true);
      owner.onSent(this);
      return;
    }
    owner.headers.check(trailers);
    // A list that has been checked must not change before it is sent.
    this.trailersAfterQueue = trailers.frozen ? trailers : { raw: [...trailers.raw], frozen: false };
  }

  /** Reports that the reader has consumed this many bytes: the peer may send as many more. `window` is its new size. */
  consumed(bytes: number, window?: number): void {
    const taken = Math.min(bytes, this.unconsumed);
    this.unconsumed -= taken;
    if (taken > 0) this.owner.windows.credit(this, taken, window);
  }

  /** Drops what follows. At most `bytes` are credited, then flow control stops the peer; another call can lower them. */
  discard(bytes: number): void {
    this.consumed(Number.POSITIVE_INFINITY);
    this.discardable = Math.min(bytes, this.discardable ?? bytes);
  }

  /** Counts received bytes, for the connection: they stay unconsumed unless the data is discarded. */
  hold(bytes: number): void {
    this.unconsumed += bytes;
    if (this.discardable === undefined) return;
    const credited = Math.min(this.discardable, bytes);
    this.discardable -= credited;
    this.consumed(credited);
  }

  /** Resets the stream. Queued data is dropped. `onClosed` is called; `onReset` is not. */
  reset(code: number): void {
    if (!this.closed) this.owner.reset(this, code);
  }
}
