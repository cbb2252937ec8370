/**
 * The endpoints of a resolver's lists that a target uses: the valid ones, each address once, or a subset of them. The others are
 * reported.
 */
import { type Endpoint, endpointProblem } from "./endpoint.ts";
import { hashText } from "./hash.ts";

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

/**
 * Random subsetting by rendezvous hashing (gRFC A68): each client uses only a few endpoints of a long list, and a change of the
 * list replaces few of them. Without it the number of connections is the number of clients times the number of servers.
 * Returns the endpoints with the highest hashes for the seed, in the order of the list.
 */
export function chooseSubset(endpoints: readonly Endpoint[], size: number, seed: number): readonly Endpoint[] {
  if (endpoints.length <= size) return endpoints;
  const hashes = Float64Array.from(endpoints, ({ address }) => hashText(address, seed));
  const least = hashes.slice().sort()[hashes.length - size] as number;
  const chosen = endpoints.filter((_, index) => (hashes[index] as number) >= least);
  return chosen.slice(0, size);
}
