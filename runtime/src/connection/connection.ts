/**
 * The interfaces of a client's connections: between transports and engines, and between the pool and one HTTP/2 connection.
 * The pool does not depend on the engine that creates a connection.
 */
import type { RpcError } from "../call/error.ts";
import type { SocketState } from "../http/channel-state.ts";
import type { ExchangeObserver, HttpRequest, HttpResponse, OnResponseEnd } from "../http/exchange.ts";

export interface Connection {
  /** Number of open streams, including those that wait for the server's stream limit. */
  readonly streams: number;
  /** Number of streams that the server allows at a time. */
  readonly maxStreams: number;
  /** True if new streams can be opened. Once false, it stays false. */
  readonly open: boolean;
  /** Number of PINGs since the last response. */
  readonly pings: number;
  /** The state of the socket, for channelz. */
  readonly state?: SocketState | undefined;
  /** The time since which it has had no streams, or of its last acknowledged PING, whichever is later. */
  readonly quietSince: number;
  /**
   * Makes one exchange, and reports its outcome to the observer and the end of its response to `onEnd`. If this side has not
   * caused its failure, it is rejected with an `ExchangeFailure`.
   */
  exchange(request: HttpRequest, observer?: ExchangeObserver, onEnd?: OnResponseEnd): Promise<HttpResponse>;
  /** Sends a PING. Rejects as unavailable if it is not acknowledged within `timeoutMs`. */
  ping(timeoutMs: number): Promise<void>;
  /** Opens no more streams, and settles when the open ones have finished, without waiting for the server's side to close. */
  close(): Promise<void>;
  /** Ends the connection and all its exchanges at once. */
  destroy(reason: RpcError): void;
}

/** Receives the events of a connection. */
export interface ConnectionOwner {
  /**
   * Called when no more streams can be opened: the server has sent GOAWAY, or the connection is lost. May be called several
   * times, and again when the last stream has closed. `isLeaving`: its open streams may still finish (graceful shutdown).
   * `tooManyPings`: the server has ended it for its keepalive PINGs.
   */
  onUnusable(connection: Connection, isLeaving: boolean, tooManyPings?: boolean): void;
}

/** The default of `connectTimeoutMs`. */
export const DEFAULT_CONNECT_TIMEOUT_MS = 20_000;

/** Makes a connection. Rejects as unavailable if that fails, and stops when the signal fires. */
export type Connect = (owner: ConnectionOwner, signal: AbortSignal) => Promise<Connection>;
