/**
 * An endpoint of a target, with its connections and its state.
 *
 *     idle        not connected, and not known to be unreachable
 *     connecting  a connection is being made
 *     ready       takes calls; policies see endpoints in this state only
 *     failing     the last connection attempt or health check failed; waits for the backoff of its connections
 *     ejected     ready, but failed more calls than the others: takes no calls for a while
 */
import type { RpcError } from "../call/error.ts";
import { now } from "../call/platform.ts";
import type { Exchange, ExchangeObserver } from "../http/exchange.ts";
import { EQUAL_LATENCY, type ReadyEndpoint } from "./balancer.ts";
import { type ConnectEndpoint, DEFAULT_WEIGHT, type Endpoint, type EndpointConnections } from "./endpoint.ts";
import type { LoadWeight } from "./policy/weighted-round-robin.ts";
import type { EndpointStatus } from "./target-options.ts";

/** The default of `warmUpMs` for an endpoint that declares the time at which it began to serve (`since`), as in Dubbo. */
const DEFAULT_WARM_UP_MS = 10 * 60_000;

/** The smallest share of its weight that a new endpoint has. */
const MIN_WARM_UP_SHARE = 0.01;

/** The number of calls that the moving average of failures remembers, and the rate below which it is 0. */
const RECENT_CALLS = 16;
const NEGLIGIBLE_RATE = 0.001;

/** The time in milliseconds that the moving average of latencies remembers, and the largest share of one call in it. */
const LATENCY_MS = 5_000;
const MAX_LATENCY_SHARE = 0.5;
/** The largest latency of one call, relative to the usual one. */
const MAX_LATENCY = 10;
/** The time in milliseconds for which all calls must have been slow, or fast: a pause of the endpoint or its start is shorter. */
const STEADY_MS = 1_000;
/** The time in milliseconds in which an endpoint without calls is forgotten to be slow, to the part 1 / e. */
const FORGET_LATENCY_MS = 30_000;

export class Member implements ReadyEndpoint {
  endpoint: Endpoint;
  state: Exclude<EndpointStatus["state"], "ejected"> = "idle";
  /** False if the last list has left it out. It is kept while it is ready. */
  isListed = true;
  /** The weight when the last picker was made. */
  weight: number = DEFAULT_WEIGHT;
  /**
   * The error of the last connection attempt, or of the call that caused the ejection. `undefined` once the endpoint is
   * ready.
   */
  lastError: RpcError | undefined;
  failuresInRow = 0;
  /** The moving average of failures in recent calls, from 0 to 1. */
  failureRate = 0;
  /** The number of ejections, each soon after the one before (the ejection time multiplier of gRFC A50). */
  ejections = 0;
  ejectedUntil = 0;
  readySince = 0;
  /** The time of the last reconnection without a delay. */
  reconnectedAt: number = Number.NEGATIVE_INFINITY;
  stopTimer: () => void = () => {};
  /** Ends the watch of its health. `undefined` while there is none. */
  endWatch: (() => void) | undefined;
  /** Ends the watch of its load. `undefined` while there is none. */
  endLoadWatch: (() => void) | undefined;
  /** The weight by its load reports. `undefined` before the first. */
  load: LoadWeight | undefined;
  /** Calls that run on the endpoint, those with a reserved place included. Counted only if there is a limit. */
  running = 0;
  reserved = 0;
  /** Sends requests, and reports their outcomes. `undefined` before the first call. */
  observed: Exchange | undefined;
  /** The latency when it was last measured, and the time of that. */
  #latency = 1;
  #latencyAt: number = Number.NEGATIVE_INFINITY;
  /** 1 if the last calls were slow, -1 if they were fast, and the time since which they are. */
  #side = 0;
  #sideSince = 0;
  /** Calls since the last sweep of outlier detection. */
  #succeeded = 0;
  #failed = 0;
  /** The connections; `undefined` before {@link open}: an endpoint that is only listed has none. */
  connections: EndpointConnections | undefined;

  constructor(endpoint: Endpoint) {
    this.endpoint = endpoint;
  }

  get active(): number {
    return this.connections === undefined ? 0 : this.connections.active;
  }

  get relativeLatency(): number | undefined {
    if (this.#side === 0) return 1;
    const isOld = this.#side < 0 && now() - this.#latencyAt > LATENCY_MS;
    return isOld || this.#latencyAt - this.#sideSince < STEADY_MS ? undefined : this.#latencySince(now());
  }

  #latencySince(time: number): number {
    return 1 + (this.#latency - 1) * Math.exp((this.#latencyAt - time) / FORGET_LATENCY_MS);
  }

  /** Counts the latency of a call, relative to the usual one. `isLeast`: the endpoint takes as long at least. */
  countLatency(ratio: number, time: number, isLeast: boolean): void {
    const elapsedMs = time - this.#latencyAt;
    const latency = this.#latencySince(time);
    if (elapsedMs <= 0 || (isLeast && ratio <= latency)) return;
    const side = ratio > EQUAL_LATENCY ? 1 : ratio < 1 / EQUAL_LATENCY ? -1 : 0;
    if (side !== this.#side) this.#sideSince = time;
    this.#side = side;
    const share = Math.min(1 - LATENCY_MS / (LATENCY_MS + elapsedMs), MAX_LATENCY_SHARE);
    this.#latency = latency + share * (Math.min(ratio, MAX_LATENCY) - latency);
    this.#latencyAt = time;
  }

  /** Makes the connections on first use. */
  open(connect: ConnectEndpoint, onReadiness: (isReady: boolean) => void): EndpointConnections {
    this.connections ??= connect(this.endpoint, onReadiness);
    return this.connections;
  }

  stopWatch(): void {
    this.endWatch?.();
    this.endWatch = undefined;
    this.endLoadWatch?.();
    this.endLoadWatch = undefined;
  }

  /** Gives the connections up, which the caller closes. The next {@link open} makes others. */
  drop(): EndpointConnections | undefined {
    const connections = this.connections;
    this.stopWatch();
    this.connections = undefined;
    this.observed = undefined;
    return connections;
  }

  /** Makes an exchange function whose outcomes the observer receives. */
  exchangeOf(observer: ExchangeObserver): Exchange {
    return (this.connections as EndpointConnections).observed(observer);
  }

  isEjected(now: number): boolean {
    return this.ejectedUntil > now;
  }

  eject(ejections: number, until: number): void {
    this.ejections = ejections;
    this.ejectedUntil = until;
    this.forgetFailures();
  }

  countSuccess(): void {
    this.#succeeded++;
    if (this.failureRate === 0) return;
    this.failuresInRow = 0;
    const rate = this.failureRate * (1 - 1 / RECENT_CALLS);
    this.failureRate = rate < NEGLIGIBLE_RATE ? 0 : rate;
  }

  countFailure(): void {
    this.#failed++;
    this.failuresInRow++;
    this.failureRate += (1 - this.failureRate) / RECENT_CALLS;
  }

  /** Returns the calls since the last time, and starts to count anew. */
  takeCounts(): { readonly calls: number; readonly failed: number } {
    const [calls, failed] = [this.#succeeded + this.#failed, this.#failed];
    this.#succeeded = 0;
    this.#failed = 0;
    return { calls, failed };
  }

  /** Begins anew, when an endpoint is ejected or connected to. */
  forgetFailures(): void {
    this.takeCounts();
    this.failuresInRow = 0;
    this.failureRate = 0;
    this.#latency = 1;
    this.#latencyAt = Number.NEGATIVE_INFINITY;
    this.#side = 0;
  }

  /**
   * Computes the weight at the given time: it grows for `warmUpMs` after the start that the endpoint declares, otherwise after it
   * became ready. Returns true if it will grow further.
   */
  updateWeight(now: number, wallClock: number, warmUpMs: number | undefined): boolean {
    const { weight = DEFAULT_WEIGHT, since } = this.endpoint;
    const durationMs = warmUpMs ?? (since === undefined ? 0 : DEFAULT_WARM_UP_MS);
    const elapsedMs = since === undefined ? now - this.readySince : wallClock - since;
    const share = durationMs === 0 ? 1 : Math.min(1, Math.max(MIN_WARM_UP_SHARE, elapsedMs / durationMs));
    this.weight = weight * share;
    return share < 1;
  }
}
