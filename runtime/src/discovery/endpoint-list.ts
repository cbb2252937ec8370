/**
 * The list of a target's endpoints: valid entries of the resolver's lists, each address once. An empty list is held back,
 * because registries publish empty lists when they restart.
 */
import { startBackgroundTimer } from "../call/timer.ts";
import { type Endpoint, endpointProblem } from "./endpoint.ts";

/** The target of an {@link EndpointList}. */
export interface EndpointListOwner {
  /** The number of endpoints that the target has now. */
  readonly size: number;
  /** Applies a list. */
  apply(endpoints: readonly Endpoint[]): void;
  /** Reports an invalid entry. A problem that the last list had already is not reported again. */
  onProblem(problem: string): void;
}

/**
 * The maximum number of problems that are remembered for one list, and so reported: a registry may publish ever-new malformed
 * entries, also while its list stays the same.
 */
const MAX_REPORTED = 1_000;

export class EndpointList {
  readonly #owner: EndpointListOwner;
  readonly #emptyAfterMs: number;
  /** The problems of the last list, and those found since. */
  #known: ReadonlySet<string> = new Set();
  #found = new Set<string>();
  #stopHoldDown: (() => void) | undefined;

  constructor(owner: EndpointListOwner, emptyAfterMs: number) {
    this.#owner = owner;
    this.#emptyAfterMs = emptyAfterMs;
  }

  /** Applies a list of the resolver: at once, or after `emptyAfterMs` if it is empty and the target has endpoints. */
  put(given: readonly Endpoint[]): void {
    const endpoints = new Map<string, Endpoint>();
    for (const endpoint of given) {
      const problem = endpointProblem(endpoint);
      if (problem !== undefined) this.warn(problem);
      else if (!endpoints.has(endpoint.address)) endpoints.set(endpoint.address, endpoint);
    }
    this.#known = this.#found;
    this.#found = new Set();
    if (endpoints.size > 0 || this.#owner.size === 0) {
      this.doubt();
      this.#owner.apply([...endpoints.values()]);
      return;
    }
    this.#stopHoldDown ??= startBackgroundTimer(this.#emptyAfterMs, () => {
      this.#stopHoldDown = undefined;
      this.#owner.apply([]);
    });
  }

  /** Adds a problem to those of the next list. Of too many problems, the rest is reported as one. */
  warn(problem: string): void {
    if (this.#found.has(problem) || this.#found.size > MAX_REPORTED) return;
    const isLast = this.#found.size === MAX_REPORTED;
    const reported = isLast
      ? `there are more than ${MAX_REPORTED} invalid entries: the others are not reported`
      : problem;
    if (!this.#known.has(reported)) this.#owner.onProblem(reported);
    this.#found.add(reported);
  }

  /** Discards an empty list that is held back: the resolver has failed since, so the list is not confirmed. */
  doubt(): void {
    this.#stopHoldDown?.();
    this.#stopHoldDown = undefined;
  }
}
