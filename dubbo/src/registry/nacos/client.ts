/**
 * The client of a Nacos cluster: keeps at most one connection, which all its users share, and connects to the next server
 * when it is lost: at once, or after a backoff if the connection was a short one or no server has accepted one.
 */
import { type ClosableTransport, Code, RpcError } from "triple-es";
import { Backoff, delayInBackground, formatAddress, now, random, reasonOf } from "triple-es/internal";
import { registryClosed } from "../registration.ts";
import { parseServers, type ServerAddress } from "../servers.ts";
import { NacosConnection, type NacosConnectionOptions } from "./connection.ts";

export interface NacosClientOptions extends NacosConnectionOptions {
  readonly servers: readonly ServerAddress[];
  /** The port of gRPC, if it is not the port of HTTP plus 1,000. */
  readonly grpcPort: number | undefined;
  /** Makes the transport to a server's gRPC port. It must use one connection. */
  readonly openTransport: (address: string) => ClosableTransport;
}

/** The port of gRPC relative to that of HTTP. */
const GRPC_OFFSET = 1_000;
/**
 * The longest delay before another attempt, in milliseconds. A connection that lasted for less than that counts as a failed
 * attempt: its server accepts connections and does not serve them.
 */
const MAX_CONNECT_DELAY_MS = 5_000;

export class NacosClient {
  readonly #options: NacosClientOptions;
  readonly #closed = new AbortController();
  readonly #backoff = new Backoff({ maxMs: MAX_CONNECT_DELAY_MS });
  /** The time of the next attempt. */
  #nextAt = Number.NEGATIVE_INFINITY;
  #connection: NacosConnection | undefined;
  #connecting: Promise<NacosConnection> | undefined;
  /** The index of the server to which the next attempt connects. Clients begin with different servers. */
  #next: number;
  #redirect: ServerAddress | undefined;

  constructor(options: NacosClientOptions) {
    this.#options = options;
    this.#next = Math.floor(random() * options.servers.length);
  }

  /** Resolves with the connection. Rejects if no server accepts one, and after {@link close}. */
  connected(): Promise<NacosConnection> {
    if (this.#connection !== undefined && !this.#connection.lost.aborted) return Promise.resolve(this.#connection);
    this.#connecting ??= this.#connect().finally(() => {
      this.#connecting = undefined;
    });
    return this.#connecting;
  }

  /** Ends the connection, and attempts to make one. */
  close(): void {
    const reason = registryClosed();
    this.#closed.abort(reason);
    this.#connection?.end(reason);
  }

  /** Makes one attempt with each server, after the backoff. */
  async #connect(): Promise<NacosConnection> {
    const { signal } = this.#closed;
    const waitMs = this.#nextAt - now();
    if (waitMs > 0) await delayInBackground(waitMs, signal);
    const failures: string[] = [];
    for (const server of this.#candidates()) {
      signal.throwIfAborted();
      const address = formatAddress(server.host, this.#options.grpcPort ?? server.port + GRPC_OFFSET);
      const connection = new NacosConnection(this.#options.openTransport(address), this.#options);
      try {
        await connection.open(signal);
      } catch (reason) {
        const message = reason instanceof RpcError ? reason.rawMessage : reasonOf(reason);
        failures.push(message.includes(address) ? message : `${address}: ${message}`);
        continue;
      }
      const connectedAt = now();
      connection.lost.addEventListener("abort", () => this.#onLost(connection, connectedAt), { once: true });
      this.#connection = connection;
      return connection;
    }
    signal.throwIfAborted();
    this.#nextAt = now() + this.#backoff.next();
    throw new RpcError(Code.Unavailable, `no server accepts a connection over gRPC (${failures.join("; ")})`);
  }

  /** Returns all servers in the order of attempts. */
  #candidates(): ServerAddress[] {
    const { servers } = this.#options;
    const start = this.#next;
    this.#next = (start + 1) % servers.length;
    const all = [...servers.slice(start), ...servers.slice(0, start)];
    const redirect = this.#redirect;
    this.#redirect = undefined;
    return redirect === undefined ? all : [redirect, ...all];
  }

  /** Sets the time of the next attempt, and remembers the server that the connection redirected to. */
  #onLost({ redirect }: NacosConnection, connectedAt: number): void {
    if (now() - connectedAt < MAX_CONNECT_DELAY_MS) this.#nextAt = now() + this.#backoff.next();
    else this.#backoff.reset();
    if (redirect === undefined) return;
    try {
      this.#redirect = parseServers("nacos", [redirect], 8848)[0];
    } catch {
      // The server sent no address: the next attempt connects to the next server of the options.
    }
  }
}
