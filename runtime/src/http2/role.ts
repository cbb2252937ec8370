/**
 * The difference between the two ends of a connection: clients open streams, servers receive them.
 */
import type { HeadersFrame } from "./frame.ts";
import type { EngineStream } from "./stream.ts";

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
