/**
 * What the pool knows of an HTTP/2 connection of a client: enough to choose one, to replace it and to ask whether it
 * still lives. An engine makes connections; the pool does not know which engine.
 */
import type { RpcError } from "../../call/error.ts";
import type { Exchange } from "../../http/exchange.ts";

export interface Connection {
  /** Streams that are open, those that wait for the peer's leave included. */
  readonly streams: number;
  /** Streams that the peer allows at a time. */
  readonly maxStreams: number;
  /** Whether new streams may be opened. Once false it stays false. */
  readonly open: boolean;
  /** Makes one exchange. What the server has certainly not looked at rejects with an {@link isUnprocessed} error. */
  readonly exchange: Exchange;
  /** Asks the peer for a sign of life. Rejects as unavailable if none comes in time. */
  ping(timeoutMs: number): Promise<void>;
  /** Opens no more streams, and settles when those that are open have finished. Does not wait for the peer. */
  close(): Promise<void>;
  /** Ends the connection and every exchange on it, now. */
  destroy(reason: RpcError): void;
}

/** What a connection tells its owner. */
export interface ConnectionOwner {
  /** No more streams can be opened: the peer goes away, or the connection is lost. May be told several times. */
  onUnusable(connection: Connection): void;
  /** The last open stream has closed. */
  onIdle(connection: Connection): void;
}

/** Makes a connection. Rejects as unavailable if that fails, and gives up when the signal fires. */
export type Connect = (owner: ConnectionOwner, signal: AbortSignal) => Promise<Connection>;

const unprocessed = new WeakSet<RpcError>();

/** Marks the error of an exchange that the server has certainly not looked at. */
export function markUnprocessed(error: RpcError): RpcError {
  unprocessed.add(error);
  return error;
}

/**
 * Whether the server has certainly not looked at the exchange that failed with this error, so that to repeat it can do
 * no harm: the stream was never opened, it was refused, or it is above the last one that the server went away with
 * (RFC 9113, sections 6.8 and 8.7).
 */
export function isUnprocessed(error: unknown): boolean {
  return unprocessed.has(error as RpcError);
}
