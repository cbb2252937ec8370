/**
 * The interfaces of a client's connections: between transports and engines, and between the pool and one HTTP/2 connection.
 * The pool does not know which engine makes it.
 */
import type { RpcError } from "../../call/error.ts";
import type { EndpointConnections } from "../../discovery/endpoint.ts";
import type { Exchange } from "../../http/exchange.ts";

/** The connections of a transport to one server, and the exchanges over them. */
export type Connector = EndpointConnections;

export interface Connection {
  /** Open streams, including those that wait because the server allows no more at a time. */
  readonly streams: number;
  /** Streams that the server allows at a time. */
  readonly maxStreams: number;
  /** True if new streams may be opened. Once false it stays false. */
  readonly open: boolean;
  /** Makes one exchange. If the server has certainly not processed it, it rejects with an error that `isUnprocessed`. */
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
