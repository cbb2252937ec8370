/**
 * Zone-aware balancing: the endpoints in the zone of the client take its calls as long as they have capacity, by Envoy's rule of
 * proportions.
 *
 *     enough   the local zone has its share of the fleet: it takes all calls
 *     short    endpoints of the zone are lost, ejected or new: the overflow goes to the other zones, by weight, so that every
 *              endpoint has the same load
 *     none     no endpoint of the zone takes calls: the other zones take all
 *     panic    fewer than half of all endpoints take calls: zones do not matter
 *
 * Envoy compares the share of a zone in the servers with its share in the clients. Clients do not know each other here, so the
 * share in the listed servers stands for that of the clients: a zone is assumed to have as many clients as servers that are
 * meant for them. If all zones are ill alike, each keeps its calls. gRPC's priorities fail over as a whole, Dubbo's affinity
 * rules when a percentage is missing: one then overloads what is left of a zone, the other all of its neighbours.
 *
 * The overflow is a change of weights, not a random choice between zones, so that every policy stays itself: a key of consistent
 * hashing has one endpoint, and the power of two choices sees all loads.
 */
import type { Balancer } from "./balancer.ts";
import { DEFAULT_WEIGHT, type Endpoint } from "./endpoint.ts";
import { chooseSubset } from "./endpoint-list.ts";
import type { Member } from "./member.ts";

/** The load above the average that endpoints of the local zone take before there is an overflow: that of one lost among twenty. */
const HEADROOM = 0.05;
/** The share of the listed endpoints, by weight, below which zones do not matter, as in Envoy. */
const PANIC_SHARE = 0.5;

export interface ZoneOptions {
  /** The zone of this client, whose endpoints are preferred. `undefined`: zones do not matter. */
  readonly zone?: LocalZone | undefined;
}

export class LocalZone {
  readonly #name: string;
  /** True while the zone takes all calls. */
  #isEnough = false;

  constructor(name: string) {
    this.#name = name;
  }

  #has({ zone }: Endpoint): boolean {
    return zone === this.#name;
  }

  /**
   * Returns the endpoints that are used, those of the zone first, so that they are connected first. A subset has at least half
   * of its endpoints in the zone, if there are as many: a random one may have none.
   */
  choose(all: readonly Endpoint[], subset: number, seed: number): readonly Endpoint[] {
    const local = all.filter((endpoint) => this.#has(endpoint));
    const others = all.filter((endpoint) => !this.#has(endpoint));
    const nearest = chooseSubset(local, Math.max(Math.ceil(subset / 2), subset - others.length), seed);
    return [...nearest, ...chooseSubset(others, subset - nearest.length, seed)];
  }

  /**
   * Compares the endpoints that take calls, by their weights after warm-up, with all that are listed, and reduces the weights of
   * the other zones to the overflow.
   */
  weigh(members: Iterable<Member>, able: readonly Member[], now: number): void {
    const listed = { all: 0, local: 0 };
    for (const { endpoint, isListed } of members) {
      if (isListed) add(listed, this.#has(endpoint), endpoint.weight);
    }
    const fit = { all: 0, local: 0 };
    const healthy = { all: 0, local: 0 };
    for (const member of able) {
      if (member.isEjected(now)) continue;
      add(fit, this.#has(member.endpoint), member.endpoint.weight);
      add(healthy, this.#has(member.endpoint), member.weight);
    }
    this.#isEnough = false;
    if (healthy.local === 0 || fit.all < listed.all * PANIC_SHARE) return;
    const overflow = listed.all === 0 ? 0 : (listed.local / listed.all) * healthy.all - healthy.local;
    this.#isEnough = overflow <= healthy.local * HEADROOM;
    if (this.#isEnough) return;
    const share = overflow / (healthy.all - healthy.local);
    for (const member of able) if (!this.#has(member.endpoint)) member.weight *= share;
  }

  /** Restricts a policy to the zone while that has capacity. If rules leave no endpoint of the zone, others take the calls. */
  prefer(policy: Balancer): Balancer {
    const balancer: Balancer = (ready) => {
      const local = this.#isEnough ? ready.filter(({ endpoint }) => this.#has(endpoint)) : [];
      return policy(local.length > 0 ? local : ready);
    };
    return Object.assign(balancer, policy);
  }
}

function add(sum: { all: number; local: number }, isLocal: boolean, weight: number = DEFAULT_WEIGHT): void {
  sum.all += weight;
  if (isLocal) sum.local += weight;
}
