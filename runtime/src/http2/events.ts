/** The interfaces of a connection to its owner and to its role. */
import type { HeadersFrame } from "./frame.ts";
import type { HeaderBlock } from "./messages.ts";
import type { EngineStream, Stream } from "./stream.ts";

export type PingKind = "keepalive" | "shutdown" | "receipt";

/** Rare events of a connection. */
export type ConnectionEvent =
  /** The peer's settings have been received, for the first time or again. */
  | { readonly type: "settings" }
  | { readonly type: "pong"; readonly kind: PingKind }
  /** The peer has sent GOAWAY: no new streams can be opened. `text`: its debug data, with an error code. */
  | { readonly type: "goaway"; readonly code: number; readonly text?: string | undefined }
  /** The last open stream of a connection that takes no more has closed. */
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

/** The difference between the two ends of a connection: clients open streams, servers receive them. */
export interface Role {
  readonly isServer: boolean;
  /** The highest stream id of the peer that was processed, for GOAWAY. */
  readonly lastProcessedId: number;
  /** Handles the header block of a stream that the peer has opened. */
  onRequest(frame: HeadersFrame): void;
  /** Handles a header block before the body of a stream that this side has opened. Clients only. */
  onResponse?(stream: EngineStream, frame: HeadersFrame): void;
  /** Passes on the requests of the received chunk. Servers only. */
  dispatch?(): void;
  /** Called when more streams may be opened: a stream has closed, or the peer has sent SETTINGS. Clients only. */
  openWaiting?(): void;
  /** Called when either side has sent GOAWAY. `isFinal`: it was this side, and it has named the last stream. */
  onLeaving(isFinal: boolean): void;
}
