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
 * endpoint, and so that one with a low weight has its turns although the set often changes. A set with new weights continues.
 */
export function roundRobin(options: { readonly random?: (() => number) | undefined } = {}): Balancer {
  const { random = defaultRandom } = options;
  let turn: { readonly ready: readonly ReadyEndpoint[]; position: number; round: number } | undefined;
  const balancer: Balancer = (ready) => {
    const { length } = ready;
    if (turn?.ready.length !== length || ready.some((one, index) => one !== turn?.ready[index])) {
      turn = { ready, position: Math.floor(random() * length), round: Math.floor(random() * MAX_WEIGHT) };
    }
    const own = turn;
    if (isEven(ready)) {
      return () => {
        own.position = own.position + 1 < length ? own.position + 1 : 0;
        return ready[own.position] as ReadyEndpoint;
      };
    }
    const largest = ready.reduce((most, { weight }) => Math.max(most, weight), 0);
    const scaled = Uint16Array.from(
      ready,
      ({ weight }) => Math.max(weight / largest, MIN_RELATIVE_WEIGHT) * MAX_WEIGHT,
    );
    return () => {
      for (;;) {
        own.position++;
        if (own.position >= length) {
          own.position = 0;
          own.round++;
        }
        const { position, round } = own;
        const weight = scaled[position] as number;
        // An offset for each endpoint spreads the turns of those with equal weights over the rounds.
        const phase = (weight * round + ((position * 32_749) & 0xffff)) % MAX_WEIGHT;
        if (phase >= MAX_WEIGHT - weight) return ready[position] as ReadyEndpoint;
      }
    };
  };
  return Object.assign(balancer, { policy: "round_robin" });
}
