/**
 * The valid entries of a resolver's lists, each address once, and the reports of the others.
 */
import { type Endpoint, endpointProblem } from "./endpoint.ts";

/**
 * The maximum number of problems that are remembered for one list, and so reported: a registry may publish ever-new malformed
 * entries, also while its list stays the same.
 */
const MAX_REPORTED = 1_000;

export class EndpointList {
  /** Reports an invalid entry. A problem that the last list had already is not reported again. */
  readonly #onProblem: (problem: string) => void;
  /** The problems of the last list, and those found since. */
  #known: ReadonlySet<string> = new Set();
  #found = new Set<string>();

  constructor(onProblem: (problem: string) => void) {
    this.#onProblem = onProblem;
  }

  /** Returns the valid endpoints of a list, each address once. */
  validate(given: readonly Endpoint[]): readonly Endpoint[] {
    const endpoints = new Map<string, Endpoint>();
    for (const endpoint of given) {
      const problem = endpointProblem(endpoint);
      if (problem !== undefined) this.warn(problem);
      else if (!endpoints.has(endpoint.address)) endpoints.set(endpoint.address, endpoint);
    }
    this.#known = this.#found;
    this.#found = new Set();
    return [...endpoints.values()];
  }

  /** Adds a problem to those of the next list. Of too many problems, the rest is reported as one. */
  warn(problem: string): void {
    if (this.#found.has(problem) || this.#found.size > MAX_REPORTED) return;
    const isLast = this.#found.size === MAX_REPORTED;
    const reported = isLast
      ? `there are more than ${MAX_REPORTED} invalid entries: the others are not reported`
      : problem;
    if (!this.#known.has(reported)) this.#onProblem(reported);
    this.#found.add(reported);
  }
}
