/**
 * Balancers: load balancing policies, which choose an endpoint for each call. A balancer makes a picker for a set of ready
 * endpoints, and the picker is called for each call. A change of the set replaces the whole picker.
 */
import type { HttpRequest } from "../http/exchange.ts";
import type { Endpoint } from "./endpoint.ts";

/** An endpoint that takes calls, as policies see it. */
export interface ReadyEndpoint {
  /** The endpoint, as the resolver has found it. */
  readonly endpoint: Endpoint;
  /**
   * The weight, above 0, after warm-up. If only endpoints of weight 0 are ready, each of them has weight 1.
   */
  readonly weight: number;
  /** The number of open streams and of calls that wait for a stream. */
  readonly active: number;
  /**
   * The recent time until response headers, divided by the usual time of the called methods: 10 is ten times slower. It
   * becomes 1 without calls. The policy `p2c` measures it. `undefined`: not known, or short some time ago.
   */
  readonly relativeLatency?: number | undefined;
}

/**
 * Makes the picker for the ready endpoints: at least one, in the order of the resolver's list, or those
 * of the option `zone` first. The picker chooses the endpoint of
 * a call, in constant or logarithmic time.
 */
export interface Balancer {
  (ready: readonly ReadyEndpoint[]): (request: HttpRequest) => ReadyEndpoint;
  /**
   * The name in a service config, such as `round_robin`. Pickers of a balancer without a name run in the asynchronous
   * context of their call (AsyncLocalStorage). Default: none.
   */
  readonly policy?: string;
  /** The maximum number of endpoints that are connected at a time. Default: all. */
  readonly connectAtMost?: number;
  /** The parameters of weights that follow from load reports of the endpoints (gRFC A58). Default: weights are those of the list. */
  readonly loads?:
    | {
        /**
         * Requested interval of reports out of band, by `OpenRcaService/StreamCoreMetrics`, in milliseconds. Servers have a minimum,
         * in gRPC 30 s. Default: none, reports are those of calls.
         */
        readonly oobReportingPeriodMs: number | undefined;
        /** Time from the first report of an endpoint to the use of its weight, in milliseconds. Default: 10,000. */
        readonly blackoutPeriodMs: number;
        /** Time from the last report of an endpoint to the end of the use of its weight, in milliseconds. Default: 180,000. */
        readonly weightExpirationPeriodMs: number;
        /** Interval at which weights are computed, in milliseconds, at least 100. Default: 1,000. */
        readonly weightUpdatePeriodMs: number;
        /** The factor of the share of failed calls in the utilization. Default: 1. */
        readonly errorUtilizationPenalty: number;
      }
    | undefined;
}

/** The parameters of weights by load reports. */
export type LoadSettings = NonNullable<Balancer["loads"]>;

/**
 * A balancer that restricts the endpoints of each call, as traffic rules do. `pending` are the listed endpoints that are not
 * ready yet. Its picker returns `undefined` for a call that has to wait for one of them, and throws for a call that no
 * endpoint may take.
 */
export interface RoutedBalancer extends Pick<Balancer, "policy" | "connectAtMost" | "loads"> {
  (
    ready: readonly ReadyEndpoint[],
    pending: readonly ReadyEndpoint[],
  ): {
    (request: HttpRequest): ReadyEndpoint | undefined;
    /** The endpoints that further attempts of a call may go to. Default: all. */
    readonly among?: (request: HttpRequest) => readonly ReadyEndpoint[];
  };
}

export type RoutedPicker = ReturnType<RoutedBalancer>;

/** The ratio of latencies up to which two endpoints are equally fast. */
export const EQUAL_LATENCY = 2;

/** Reports whether all endpoints have the same weight, which is the common case. */
export function isEven(ready: readonly ReadyEndpoint[]): boolean {
  return ready.every(({ weight }) => weight === ready[0]?.weight);
}

/**
 * Makes a function that draws an index by weight in constant time (alias method of Walker and Vose): each column yields one
 * index for values below its threshold, and another index for values above it.
 */
export function drawByWeight(weights: readonly number[], random: () => number): () => number {
  const count = weights.length;
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  const threshold = new Float64Array(count).fill(1);
  const alias = new Uint32Array(count);
  const share = weights.map((weight) => (weight * count) / total);
  const small: number[] = [];
  const large: number[] = [];
  for (const [index, one] of share.entries()) (one < 1 ? small : large).push(index);
  while (small.length > 0 && large.length > 0) {
    const less = small.pop() as number;
    const more = large.pop() as number;
    threshold[less] = share[less] as number;
    alias[less] = more;
    share[more] = (share[more] as number) + (share[less] as number) - 1;
    ((share[more] as number) < 1 ? small : large).push(more);
  }
  return () => {
    const point = random() * count;
    const column = Math.floor(point);
    return point - column < (threshold[column] as number) ? column : (alias[column] as number);
  };
}
