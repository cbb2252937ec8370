/**
 * The interfaces of a client's connections: between transports and engines, and between the pool and one HTTP/2 connection.
 * The pool does not know which engine makes it.
 */
import type { RpcError } from "../../call/error.ts";
import type { Connections, Exchange } from "../../http/exchange.ts";

/** The connections of a transport to one server, and the exchanges over them. */
export interface Connector extends Connections {
  readonly exchange: Exchange;
}

export interface Connection {
  /** Open streams, including those that wait because the server allows no more at a time. */
  readonly streams: number;
  /** Streams that the server allows at a time. */
  readonly maxStreams: number;
  /** Whether new streams may be opened. Once false it stays false. */
  readonly open: boolean;
  /** Makes one exchange. If the server has certainly not processed it, it rejects with an {@link isUnprocessed} error. */
  readonly exchange: Exchange;
  /** Sends a PING. Rejects as unavailable if it is not acknowledged in time. */
  ping(timeoutMs: number): Promise<void>;
  /** Opens no more streams, and settles when those that are open have finished. Does not wait for the server. */
  close(): Promise<void>;
  /** Ends the connection and every exchange on it, now. */
  destroy(reason: RpcError): void;
}

/** Receives the events of a connection. */
export interface ConnectionOwner {
  /** No more streams can be opened: the server has sent GOAWAY, or the connection is lost. May be called several times. */
  onUnusable(connection: Connection): void;
  /** The last open stream has closed. */
  onIdle(connection: Connection): void;
}

/** Makes a connection. Rejects as unavailable if that fails, and gives up when the signal fires. */
export type Connect = (owner: ConnectionOwner, signal: AbortSignal) => Promise<Connection>;

const unprocessed = new WeakSet<RpcError>();

/** Marks the error of an exchange that the server has certainly not processed. */
export function markUnprocessed(error: RpcError): RpcError {
  unprocessed.add(error);
  return error;
}

/**
 * Whether the server has certainly not processed the exchange that failed with this error, so that a transparent retry
 * is safe: the stream was never opened, it was refused (REFUSED_STREAM), or its id is above the last one of a GOAWAY
 * (RFC 9113, sections 6.8 and 8.7; gRFC A6).
 */
export function isUnprocessed(error: unknown): boolean {
  return unprocessed.has(error as RpcError);
}
