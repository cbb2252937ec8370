/**
 * The power of two choices by active streams (gRFC A48 with two choices; Finagle): two endpoints are drawn by weight, and the
 * one with fewer streams relative to its weight is chosen. The policy adapts to slow endpoints without a clock, and its cost
 * does not depend on their number.
 */
import { type Balancer, drawByWeight, isEven, type Random, type ReadyEndpoint } from "../balancer.ts";

/** Maximum number of draws of the second choice while it equals the first. */
const MAX_DRAWS = 3;

/** Makes the policy. It is the default. */
export function p2c(options: { readonly random?: Random | undefined } = {}): Balancer {
  const { random = Math.random } = options;
  const balancer: Balancer = (ready) => {
    const { length } = ready;
    if (length === 1) return () => ready[0] as ReadyEndpoint;
    if (isEven(ready)) {
      return () => {
        const first = Math.floor(random() * length);
        const step = Math.floor(random() * (length - 1)) + 1;
        const second = first + step < length ? first + step : first + step - length;
        const [a, b] = [ready[first] as ReadyEndpoint, ready[second] as ReadyEndpoint];
        return b.active < a.active ? b : a;
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
      return b.active * a.weight < a.active * b.weight ? b : a;
    };
  };
  return Object.assign(balancer, { policy: "least_request" });
}
