/**
 * A byte stream in both directions, which carries a connection: a socket of Node, which defines how each member behaves, or a
 * tunnel such as a WebSocket.
 */
export interface ByteStream {
  /** True if the stream can carry nothing more in either direction. */
  readonly destroyed: boolean;
  /** The error that ended the stream, if any. */
  readonly errored?: Error | null;
  /** Bytes that were written and not sent. 0 at once after a small write to a stream that can take more. */
  readonly writableLength: number;
  /** True if enough has been written for now. */
  readonly writableNeedDrain: boolean;
  /** True after `end`. */
  readonly writableEnded: boolean;
  /** True if all output has been sent and the end reported. */
  readonly writableFinished: boolean;
  on(event: "error" | "close" | "end", listener: (error: Error) => void): unknown;
  on(event: "data", listener: (chunk: Uint8Array) => void): unknown;
  once(event: "finish", listener: () => void): unknown;
  /** Calls back when the bytes have been sent, so that their memory may be reused. */
  write(bytes: Uint8Array, onWritten?: () => void): unknown;
  /** Collects writes until `uncork`. */
  cork(): void;
  uncork(): void;
  /** Ends the output after all that was written. */
  end(): unknown;
  destroy(error?: Error): unknown;
  pause(): unknown;
  resume(): unknown;
  /** Keeps the program running, which an idle connection must not do. Only platforms that end programs have it. */
  ref?(): unknown;
  unref?(): unknown;
  setNoDelay?(noDelay: boolean): unknown;
}
