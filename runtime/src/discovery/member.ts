/**
 * An endpoint of a target, with its connections and its state.
 *
 *     idle        not connected, and not known to be unreachable
 *     connecting  a connection is being made
 *     ready       takes calls; only then a policy sees it
 *     failing     could not be connected to; waits for the backoff of its connections
 *     ejected     ready, but failed too many calls in a row: takes none for a while
 */
import type { RpcError } from "../call/error.ts";
import type { HttpRequest, HttpResponse } from "../http/exchange.ts";
import type { ReadyEndpoint } from "./balancer.ts";
import { type ConnectEndpoint, DEFAULT_WEIGHT, type Endpoint, type EndpointConnections } from "./endpoint.ts";

export type EndpointState = "idle" | "connecting" | "ready" | "failing" | "ejected";

/** How long a weight grows from nothing to its full size, in milliseconds. 0: it is full at once. */
export interface SlowStart {
  /** After an endpoint began to serve, where it says when that was. */
  readonly warmUpMs: number;
  /** After an endpoint became ready. */
  readonly slowStartMs: number;
}

/** The least share of its weight that a new endpoint has. */
const MIN_SHARE = 0.01;

export class Member implements ReadyEndpoint {
  endpoint: Endpoint;
  state: Exclude<EndpointState, "ejected"> = "idle";
  /** The weight as of the last picker. */
  weight: number = DEFAULT_WEIGHT;
  /** Why it could not be connected to, or the last call failed that counted; `undefined` since it is ready. */
  lastError: RpcError | undefined;
  /** Failures in a row. */
  failures = 0;
  /** How often it was ejected, one time soon after the other. */
  ejections = 0;
  ejectedUntil = 0;
  readySince = 0;
  stopTimer: () => void = () => {};
  #connections: EndpointConnections | undefined;

  constructor(endpoint: Endpoint) {
    this.endpoint = endpoint;
  }

  get active(): number {
    return this.#connections === undefined ? 0 : this.#connections.active;
  }

  /** The connections, if there have been any. An endpoint that is only listed has none. */
  get connections(): EndpointConnections | undefined {
    return this.#connections;
  }

  /** Makes the connections on first use. */
  open(connect: ConnectEndpoint, onReadiness: (isReady: boolean) => void): EndpointConnections {
    this.#connections ??= connect(this.endpoint, onReadiness);
    return this.#connections;
  }

  exchange(request: HttpRequest): Promise<HttpResponse> {
    return (this.#connections as EndpointConnections).exchange(request);
  }

  isEjected(now: number): boolean {
    return this.ejectedUntil > now;
  }

  /** Computes the weight at a time. Returns whether it is going to grow. */
  grow(now: number, wallClock: number, { warmUpMs, slowStartMs }: SlowStart): boolean {
    const { weight = DEFAULT_WEIGHT, since } = this.endpoint;
    const warm = since === undefined || warmUpMs === 0 ? 1 : (wallClock - since) / warmUpMs;
    const started = slowStartMs === 0 ? 1 : (now - this.readySince) / slowStartMs;
    const share = Math.min(1, Math.max(MIN_SHARE, Math.min(warm, started)));
    this.weight = weight * share;
    return share < 1;
  }
}
