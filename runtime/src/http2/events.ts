/**
 * The calls between a connection and its owner. They are calls and not event objects, which would be an allocation for
 * every frame.
 */
import type { HeaderBlock } from "./messages.ts";
import type { Stream } from "./stream.ts";

export type PingKind = "keepalive" | "shutdown";

/** Rare events of a connection. */
export type ConnectionEvent =
  /** The peer's settings have come, for the first time or again. */
  | { readonly type: "settings" }
  /** The peer has acknowledged ours. */
  | { readonly type: "settingsAck" }
  | { readonly type: "pong"; readonly kind: PingKind }
  /** The peer goes away: no new streams. */
  | { readonly type: "goaway"; readonly lastStreamId: number; readonly code: number }
  /** The last open stream has closed. */
  | { readonly type: "idle" }
  /**
   * The connection is over, and so are its streams: write what `take` has and end the socket. `isLocal`: because this side
   * found a fault with the peer or was told so. `cause`: a mistake of this program.
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
   * A request, with `early`: all its data in the chunk that its header block was in. If `stream.ended`, that is the whole body.
   * The handler sets `stream.sink`, which is called for everything that follows, before it responds.
   */
  onRequest(stream: Stream, block: HeaderBlock, early: readonly Uint8Array[]): void;
}

/** Receiver of output. */
export interface OutputOwner {
  /** There is output where there was none: `take` it, once this turn has brought all it will. */
  wake(): void;
  /** Memory for small frames, at least 32 KiB. It belongs to the connection until it comes out of `take`. */
  slab(): Uint8Array;
}

/** Output, in order. */
export interface Segments {
  readonly parts: readonly Uint8Array[];
  /** The slabs that parts are views of, to be used again once they have been written. */
  readonly slabs: readonly Uint8Array[];
  readonly bytes: number;
}
