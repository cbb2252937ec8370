/**
 * Weighted round robin: a static stride scheduler like gRPC's weighted_round_robin (gRFC A58). In each round an endpoint is
 * skipped more often the further its weight is below the largest.
 */
import { random as defaultRandom } from "../../call/platform.ts";
import { type Balancer, isEven, type ReadyEndpoint } from "../balancer.ts";

const MAX_WEIGHT = 65_535;
/** The smallest weight relative to the largest. It bounds the number of endpoints that a pick may skip. */
const MIN_RELATIVE_WEIGHT = 1 / 64;

/**
 * Makes the policy. Each set of endpoints starts at a random place, so that clients do not all start with the same
 * endpoint, and so that one with a low weight has its turns although the set often changes.
 */
export function roundRobin(options: { readonly random?: (() => number) | undefined } = {}): Balancer {
  const { random = defaultRandom } = options;
  const balancer: Balancer = (ready) => {
    const { length } = ready;
    let position = Math.floor(random() * length);
    if (isEven(ready)) {
      return () => {
        position = position + 1 < length ? position + 1 : 0;
        return ready[position] as ReadyEndpoint;
      };
    }
    const largest = ready.reduce((most, { weight }) => Math.max(most, weight), 0);
    const scaled = Uint16Array.from(
      ready,
      ({ weight }) => Math.max(weight / largest, MIN_RELATIVE_WEIGHT) * MAX_WEIGHT,
    );
    let round = Math.floor(random() * MAX_WEIGHT);
    return () => {
      for (;;) {
        position++;
        if (position >= length) {
          position = 0;
          round++;
        }
        const weight = scaled[position] as number;
        // An offset for each endpoint spreads the turns of those with equal weights over the rounds.
        const phase = (weight * round + ((position * 32_749) & 0xffff)) % MAX_WEIGHT;
        if (phase >= MAX_WEIGHT - weight) return ready[position] as ReadyEndpoint;
      }
    };
  };
  return Object.assign(balancer, { policy: "round_robin" });
}
