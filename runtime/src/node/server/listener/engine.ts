/**
 * The interface between a listener and its HTTP engines, and the connections of the engines of both versions.
 */
import type { Socket } from "node:net";
import { reportConnection } from "../../../call/diagnostics.ts";
import type { RpcError } from "../../../call/error.ts";
import type { PeerConnection } from "../../../call/peer.ts";
import { defer, now, repeat } from "../../../call/platform.ts";
import { Collecting } from "../../../connection/collecting.ts";
import { type MemoryBudget, type MemoryHolder, MemoryShare } from "../../../connection/memory-budget.ts";
import { type Indexed, SwapList } from "../../../connection/swap-list.ts";
import type { SocketState } from "../../../http/channel-state.ts";
import type { Exchange } from "../../../http/exchange.ts";
import type { OriginPolicy } from "../../../protocol/options.ts";
import { type Limits, sweepIntervalMs } from "./limits.ts";
import type { ReceivedRequest, ReceivedRequestOwner } from "./request.ts";
import type { WebSocketUpgrade } from "./web-socket.ts";

/** Options of the asynchronous context of a request: nothing watches its end. */
export const MANUAL = { requireManualDestroy: true } as const;

/** The parts of a server that its engines share. */
export interface ServerEngineOptions {
  readonly exchange: Exchange;
  readonly limits: Limits;
  readonly budget: MemoryBudget;
  /** Size limit of the headers that the protocols accept, in bytes. */
  readonly maxHeaderBytes: number;
  /** Fires when the server begins to close. */
  readonly draining: AbortSignal;
  /** Decides whether pages of an origin may open a WebSocket; default: there are none. */
  readonly allowsWebSocket?: OriginPolicy | undefined;
  /** The number of connections over HTTP/2, those in WebSockets included, from which on no other WebSocket is opened. */
  readonly maxConnections: number;
}

/** Creates the connection of a socket. */
type CreateConnection = (
  socket: Socket,
  connections: ServedConnections,
  upgrade: WebSocketUpgrade | undefined,
) => ServedConnection;

/** The connections of a port that use one version of HTTP. They are swept about once a second while there are any. */
export class ServedConnections extends SwapList<ServedConnection> {
  /** True after {@link drain}. */
  isLeaving = false;
  /** The reason of {@link abort}; `undefined` before that call. */
  aborted: RpcError | undefined;
  readonly #limits: Limits;
  readonly #create: CreateConnection;
  #stopSweeping: (() => void) | undefined;

  constructor(limits: Limits, create: CreateConnection) {
    super();
    this.#limits = limits;
    this.#create = create;
  }

  /** Takes over a connection, or a WebSocket on it. */
  accept(socket: Socket, upgrade?: WebSocketUpgrade): ServedConnection {
    const connection = this.#create(socket, this, upgrade);
    this.add(connection);
    const sweep = (): void => {
      const time = now();
      for (const one of this) one.sweep(time);
    };
    // If the event loop was blocked, input that was sent in time is read before deferred calls run.
    this.#stopSweeping ??= repeat(sweepIntervalMs(this.#limits), () => defer(sweep));
    return connection;
  }

  /** Begins graceful shutdown: running exchanges finish, and new ones are not started. */
  drain(): void {
    this.isLeaving = true;
    for (const connection of this) connection.leave();
  }

  /** Lets clients connect again: each connection ends after its running exchanges. New connections are accepted. */
  drainConnections(): void {
    for (const connection of this) connection.renew();
  }

  /** Aborts running exchanges: fires their signals, and fails readers that wait for more of a request. */
  abort(reason: RpcError): void {
    this.aborted = reason;
    for (const connection of this) connection.abort(reason);
  }

  override delete(connection: ServedConnection): void {
    super.delete(connection);
    if (this.size > 0) return;
    this.#stopSweeping?.();
    this.#stopSweeping = undefined;
  }
}

/** One connection of a client. */
export abstract class ServedConnection implements MemoryHolder, Indexed, ReceivedRequestOwner {
  index = 0;
  readonly service: ServerEngineOptions;
  readonly memory: MemoryShare;
  readonly peer: PeerConnection;
  /** The reason of {@link abort}; `undefined` before that call. */
  aborted: RpcError | undefined;
  protected readonly connections: ServedConnections;
  /** Bytes of output, and of input that waits, that are taken from the memory budget. */
  protected held = 0;
  #collecting: Collecting | undefined;

  constructor(service: ServerEngineOptions, socket: Socket, peer: PeerConnection, connections: ServedConnections) {
    this.service = service;
    this.aborted = connections.aborted;
    this.connections = connections;
    // Clients such as `nc -N` half-close the connection after their requests, and still expect the responses.
    socket.allowHalfOpen = true;
    this.peer = peer;
    this.memory = new MemoryShare(service.budget, this);
  }

  /** Reports an event of the connection to the diagnostics. */
  protected report(type: "connected" | "goaway" | "ended" | "closed", text: (client: string) => string): void {
    const { address, port } = this.peer;
    const client = address === undefined ? "a socket without an address" : `${address}:${port}`;
    reportConnection("server", type, client, () => text(client));
  }

  get collecting(): Collecting {
    this.#collecting ??= new Collecting();
    return this.#collecting;
  }

  /** The bytes that count towards the memory budget. */
  protected abstract get pending(): number;
  /** The state of the socket, for channelz. */
  abstract get state(): SocketState;
  abstract sweep(time: number): void;
  abstract reclaim(): void;
  /** Begins graceful shutdown. */
  abstract leave(): void;
  /** Lets the client connect again, without the loss of a request that it is sending now. */
  abstract renew(): void;
  /** Aborts the running requests. */
  abstract abort(reason: RpcError): void;

  /** Starts a request while memory is short: each one in a turn of its own. */
  protected admit(request: Pick<ReceivedRequest, "refuse">, start: () => void): void {
    this.memory.admit(start, () => request.refuse());
  }

  get draining(): AbortSignal {
    return this.service.draining;
  }

  fits(bytes: number): boolean {
    if (!this.memory.take(bytes)) return false;
    this.memory.release(bytes);
    return true;
  }

  hold(): boolean {
    const more = this.pending - this.held;
    if (more > 0 && !this.memory.take(more)) return false;
    if (more < 0) this.memory.release(-more);
    this.held += more;
    return true;
  }

  onFlushed(): boolean {
    return this.hold();
  }

  onClose(): void {
    this.report("closed", (client) => `connection from ${client} closed`);
    this.memory.close();
    this.connections.delete(this);
  }
}
