/**
 * Callbacks of a stream for its user. They are calls instead of event objects, which would cost an allocation for every
 * frame.
 */
import type { HeaderBlock } from "./messages.ts";

/** Receives the events of a stream: on a server the request, on a client the exchange. */
export interface StreamSink {
  /** An interim response (1xx) has come. Clients only. */
  onInformational(block: HeaderBlock): void;
  /** The response has come. Clients only. */
  onResponse(block: HeaderBlock): void;
  /** Data has come: a view of the chunk that is being received. The bytes count against the windows until `consumed`. */
  onData(bytes: Uint8Array): void;
  /** The peer has ended its side. */
  onEnd(trailers: readonly string[] | undefined): void;
  /**
   * The stream has ended before its time: reset by the peer, by this side because of what the peer did, or together with the
   * connection. At most once, and only `onClosed` follows. `isUnprocessed`: the peer has certainly not processed it.
   */
  onReset(code: number, by: ResetBy, isUnprocessed: boolean): void;
  /** After `sendData` has returned false: most of what was queued has left. */
  onDrain(): void;
  /**
   * The response has been written in full, and the request has not ended: the owner drops a bounded rest of it and resets the
   * stream with NO_ERROR (RFC 9113, section 8.1). Servers only.
   */
  onRespondedEarly(): void;
  /** The last call, which always comes: neither side has anything to say any more. */
  onClosed(): void;
}

export type ResetBy = "peer" | "engine" | "connection";
