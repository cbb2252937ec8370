/**
 * Pick first (gRFC A62): one endpoint takes all calls, and the next one takes over when it is lost. It suits clusters whose
 * members are equal and costly to connect to, such as registries.
 */
import type { Balancer, ReadyEndpoint } from "../balancer.ts";

/** Makes the policy. Only one endpoint is connected at a time. */
export function pickFirst(): Balancer {
  const balancer: Balancer = (ready) => {
    const first = ready[0] as ReadyEndpoint;
    return () => first;
  };
  return Object.assign(balancer, { policy: "pick_first", connectAtMost: 1 });
}
