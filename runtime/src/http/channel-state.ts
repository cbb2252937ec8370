/**
 * The state of servers and transports that channelz shows (gRFC A14). It is read when it is asked for; only calls are counted
 * before. `key` is the identity of a thing over several reads.
 */
import { wallClock } from "../call/platform.ts";

/** A router or a transport with its state. Their public types do not have it. */
export interface Shown<State> {
  readonly "~state": () => State;
}

/** The calls of a server or transport, counted while {@link isOn} or while diagnostics report them. */
export class CallCounts {
  isOn = false;
  started = 0;
  succeeded = 0;
  failed = 0;
  /** The time of the wall clock at which the last call began, in milliseconds. */
  lastStarted: number | undefined;

  start(): void {
    this.started++;
    this.lastStarted = wallClock();
  }

  end(error: unknown): void {
    if (error === undefined) this.succeeded++;
    else this.failed++;
  }
}

export interface ServerState {
  readonly calls: CallCounts;
  /** The sockets that listen, and those of connections. */
  readonly listening: readonly SocketState[];
  readonly sockets: readonly SocketState[];
}

export interface TransportState extends ChannelState {
  readonly calls: CallCounts;
  /** The time of the wall clock at which it was created, in milliseconds. */
  readonly created: number;
  readonly isClosed: boolean;
}

/** A target with its endpoints. */
export interface ChannelState {
  readonly target: string;
  readonly subchannels: readonly SubchannelState[];
  /** The number of its events so far, and the last ones. `undefined` for a target with one endpoint. */
  readonly trace?: { readonly logged: number; readonly events: readonly TraceEvent[] } | undefined;
}

export interface TraceEvent {
  /** The time of the wall clock, in milliseconds. */
  readonly time: number;
  readonly text: string;
  readonly isProblem: boolean;
}

/** An endpoint with its connections. */
export interface SubchannelState {
  readonly key: object;
  readonly address: string;
  readonly state: "idle" | "connecting" | "ready" | "failing" | "ejected";
  /** The streams of all its connections, those that are closed included. */
  readonly streams: StreamCounts;
  readonly sockets: readonly SocketState[];
}

/** Streams that have begun, that have ended with a whole response, and without one. */
export interface StreamCounts {
  readonly started: number;
  readonly succeeded: number;
  readonly failed: number;
}

export const NO_STREAMS: StreamCounts = { started: 0, succeeded: 0, failed: 0 };

export function addStreams(a: StreamCounts, b: StreamCounts): StreamCounts {
  return {
    started: a.started + b.started,
    succeeded: a.succeeded + b.succeeded,
    failed: a.failed + b.failed,
  };
}

export interface SocketState {
  readonly key: object;
  readonly local: SocketAddress;
  readonly remote: SocketAddress | undefined;
  readonly tls:
    | {
        /** The name of the cipher suite in RFC 8446 or its predecessors. */
        readonly cipher: string;
        /** Certificates in DER; empty if there is none. */
        readonly local: Uint8Array;
        readonly remote: Uint8Array;
      }
    | undefined;
  /** `undefined` over HTTP/1.1. */
  readonly http2:
    | {
        readonly streams: StreamCounts;
        /** The number of keepalive PINGs sent. */
        readonly keepAlives: number;
        /** The bytes of DATA that this side and the peer may send on the connection. */
        readonly sendWindow: number;
        readonly receiveWindow: number;
      }
    | undefined;
}

/** An IP address with its port, or a Unix socket, which has none; both are `undefined` for one without a name. */
export interface SocketAddress {
  readonly address: string | undefined;
  readonly port: number | undefined;
}
