/**
 * The power of two choices by active streams (gRFC A48 with two choices; Finagle): two endpoints are drawn by weight, and the
 * second replaces the first if it has fewer streams relative to its weight. Its cost does not depend on the number of endpoints.
 *
 * An endpoint that answers more than twice as slowly as the other counts as having as many times more streams, this call
 * included (peak EWMA of Finagle, which does so for each difference). Clients of few calls need that: they have none active.
 *
 * With weights, a part of the new call counts for the second endpoint: the larger of two random numbers, whose distribution is
 * that of the square root of one. If the whole call counted, the heavier endpoint would take all calls of two callers, and if
 * none counted, too few: one active stream moves the next call away from it, however large its weight is. With this part, an
 * endpoint of weight a beside one of weight b keeps the next call with the probability 1 - b / a while it has one stream, and
 * gets it while the other has one, so that two callers use it for a / (a + b) of their calls.
 */
import { random as defaultRandom } from "../../call/platform.ts";
import { type Balancer, drawByWeight, EQUAL_LATENCY, isEven, type ReadyEndpoint } from "../balancer.ts";

/** Maximum number of draws of the second choice while it equals the first. */
const MAX_DRAWS = 3;

/** Returns how many times slower the first endpoint is, or 1 if they are about equally fast. */
function slowness({ relativeLatency: a }: ReadyEndpoint, { relativeLatency: b }: ReadyEndpoint): number {
  return a && b && (a > EQUAL_LATENCY * b || b > EQUAL_LATENCY * a) ? a / b : 1;
}

/** Makes the policy. It is the default. */
export function p2c(options: { readonly random?: (() => number) | undefined } = {}): Balancer {
  const { random = defaultRandom } = options;
  const balancer: Balancer = (ready) => {
    const { length } = ready;
    if (length === 1) return () => ready[0] as ReadyEndpoint;
    if (isEven(ready)) {
      return () => {
        const first = Math.floor(random() * length);
        const step = Math.floor(random() * (length - 1)) + 1;
        const second = first + step < length ? first + step : first + step - length;
        const [a, b] = [ready[first] as ReadyEndpoint, ready[second] as ReadyEndpoint];
        return b.active + 1 < (a.active + 1) * slowness(a, b) ? b : a;
      };
    }
    const draw = drawByWeight(
      ready.map(({ weight }) => weight),
      random,
    );
    return () => {
      const first = draw();
      let second = draw();
      for (let draws = 1; second === first && draws < MAX_DRAWS; draws++) second = draw();
      const a = ready[first] as ReadyEndpoint;
      if (second === first) return a;
      const b = ready[second] as ReadyEndpoint;
      const times = slowness(a, b);
      if (times !== 1) return (b.active * a.weight) / b.weight + 1 < (a.active + 1) * times ? b : a;
      if (a.active === 0) return a;
      return (b.active + Math.sqrt(random())) * a.weight < a.active * b.weight ? b : a;
    };
  };
  return Object.assign(balancer, { policy: "least_request" });
}
