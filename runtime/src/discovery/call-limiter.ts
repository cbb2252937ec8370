/**
 * Limits of the calls that run on each endpoint at once (circuit breaking: gRFC A32, Envoy's `max_requests`), and the queue of the
 * calls that wait, first in, first out, while every endpoint that they may use is at its limit. A call runs until its response has
 * ended, its reader has left it, it has failed or its signal has fired. Its place is given away at once, so that no later call
 * takes it, to the first call in the queue that may use the endpoint.
 */
import { Code } from "../call/code.ts";
import { abortError, RpcError } from "../call/error.ts";
import { assertAmount } from "../call/option.ts";
import { onAbort } from "../call/timer.ts";
import type { Exchange, ExchangeObserver } from "../http/exchange.ts";
import { UNOBSERVED } from "../http/transparent-retry.ts";
import type { Member } from "./member.ts";

export interface EndpointLimits {
  /** Maximum number of calls that run on an endpoint at once. `undefined`: there is no limit. */
  readonly maxRequestsPerEndpoint?: number | undefined;
  readonly maxPendingRequests?: number | undefined;
}

/** Checks the limits. Throws a `TypeError` for an invalid one, and for a queue without a limit that fills it. */
export function checkEndpointLimits({ maxRequestsPerEndpoint, maxPendingRequests }: EndpointLimits): void {
  assertAmount("maxRequestsPerEndpoint", maxRequestsPerEndpoint ?? 1, true);
  if (assertAmount("maxPendingRequests", maxPendingRequests ?? 0) === Number.POSITIVE_INFINITY)
    throw new TypeError("maxPendingRequests must be finite, not Infinity");
  if (maxPendingRequests !== undefined && maxRequestsPerEndpoint === undefined) {
    throw new TypeError("maxPendingRequests needs maxRequestsPerEndpoint, and has no effect without it");
  }
}

export class CallLimiter {
  readonly #maxRunning: number;
  readonly #maxWaiting: number;
  /** The waiting calls in their order. Each returns true if it has taken a place. */
  readonly #waiting = new Set<() => boolean>();

  constructor(maxRunning: number, maxWaiting = 0) {
    this.#maxRunning = maxRunning;
    this.#maxWaiting = maxWaiting;
  }

  /** Reports whether the endpoint takes no further call. */
  readonly isFull = (member: Member): boolean => member.running >= this.#maxRunning;

  /** Takes a place for a call that will begin later. */
  reserve(member: Member): void {
    member.running++;
    member.reserved++;
  }

  /**
   * Makes the exchange function of an endpoint that counts its calls, and reports to the observer. An exchange either fails or has a
   * response, whose end engines report however it comes.
   */
  exchangeOf(member: Member, { onEnd, onFailure }: ExchangeObserver): Exchange {
    const release = (): void => {
      member.running--;
      this.wake(1);
    };
    const exchange = member.exchangeOf({
      onEnd(request, response, end) {
        release();
        onEnd?.(request, response, end);
      },
      ...UNOBSERVED,
    });
    return (request) => {
      if (member.reserved > 0) member.reserved--;
      else member.running++;
      const { signal } = request;
      if (signal?.aborted) {
        release();
        return Promise.reject(abortError(signal));
      }
      return exchange(request).catch((reason) => {
        release();
        return onFailure(request, reason);
      });
    };
  }

  /**
   * Waits until `pick` finds an endpoint, whose place is reserved. Resolves with `undefined` if the call is no longer blocked by the
   * limits. Rejects if too many calls wait, with the error of `pick`, and when the signal fires.
   */
  wait(
    target: string,
    pick: () => Member | undefined,
    isBlocked: () => boolean,
    signal: AbortSignal | undefined,
  ): Promise<Member | undefined> {
    if (this.#waiting.size >= this.#maxWaiting) {
      const limits = `${this.#maxRunning} (option maxRequestsPerEndpoint), and ${this.#maxWaiting} others wait`;
      const text = `each endpoint runs as many calls as it may, ${limits} (option maxPendingRequests)`;
      return Promise.reject(new RpcError(Code.Unavailable, `cannot reach ${target}: ${text}`));
    }
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        unlink();
        this.#waiting.delete(waiter);
      };
      const waiter = (): boolean => {
        let member: Member | undefined;
        try {
          member = pick();
          if (member !== undefined) this.reserve(member);
          else if (isBlocked()) return false;
          resolve(member);
        } catch (error) {
          reject(error);
        }
        leave();
        return member !== undefined;
      };
      this.#waiting.add(waiter);
      const unlink = onAbort(signal, (error) => {
        this.#waiting.delete(waiter);
        reject(error);
      });
    });
  }

  /** Lets waiting calls pick again, at most until `count` of them have taken a place. */
  wake(count: number): void {
    for (const waiter of this.#waiting) if (waiter() && --count === 0) return;
  }
}
