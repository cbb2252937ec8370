/**
 * Callbacks of a stream for its user. They are method calls instead of event objects, which would cost an allocation
 * for every frame.
 */
import type { HeaderBlock } from "./messages.ts";

/** Receives the events of a stream: those of the request on a server, and of the whole exchange on a client. */
export interface StreamSink {
  /** An interim response (1xx) has been received. Clients only. */
  onInformational(block: HeaderBlock): void;
  /** The final response has been received. Clients only. */
  onResponse(block: HeaderBlock): void;
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
  onRespondedEarly(): void;
  /** The last callback, which is always called: neither side sends anything more on the stream. */
  onClosed(): void;
}

export type ResetBy = "peer" | "engine" | "connection";
