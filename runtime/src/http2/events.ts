/**
 * The interfaces between a connection and its owner. Events are method calls instead of objects, which would be an allocation
 * for every frame.
 */
import type { HeaderBlock } from "./messages.ts";
import type { Stream } from "./sink.ts";

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
