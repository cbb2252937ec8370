/**
 * Load balancing policies by their names in gRPC's service configs.
 */
import { assertOneOf } from "../../call/option.ts";
import type { Balancer } from "../balancer.ts";
import { consistentHash } from "./consistent-hash.ts";
import { p2c } from "./p2c.ts";
import { pickFirst } from "./pick-first.ts";
import { roundRobin } from "./round-robin.ts";
import { weightedRoundRobin } from "./weighted-round-robin.ts";

interface PolicyConfig {
  readonly name: string;
  readonly config: Readonly<Record<string, unknown>>;
}

const POLICIES: Readonly<Record<string, (config: PolicyConfig["config"]) => Balancer | undefined>> = {
  pick_first: pickFirst,
  round_robin: () => roundRobin(),
  weighted_round_robin: weighted,
  least_request: () => p2c(),
  least_request_experimental: () => p2c(),
  ring_hash: ringHash,
  ring_hash_experimental: ringHash,
};

/** Makes the ring hash policy with the header that contains the key (gRFC A76). Without a header it is not supported. */
function ringHash({ requestHashHeader }: PolicyConfig["config"]): Balancer | undefined {
  return typeof requestHashHeader === "string" && requestHashHeader !== ""
    ? consistentHash(requestHashHeader)
    : undefined;
}

/** Makes weighted round robin by load reports. Reports out of band have a switch and an interval (gRFC A58). */
function weighted({
  enableOobLoadReport: isOob = false,
  oobReportingPeriodMs = 10_000,
  ...config
}: PolicyConfig["config"] & { readonly oobReportingPeriodMs?: number }): Balancer {
  assertOneOf("enableOobLoadReport", isOob as boolean, [true, false]);
  return weightedRoundRobin({
    ...config,
    oobReportingPeriodMs: isOob ? oobReportingPeriodMs : undefined,
    random: undefined,
  });
}

/** Returns the first known policy, with its config. Throws a `TypeError` if there are policies but none is known. */
export function findPolicy<Config extends PolicyConfig>(
  configs: readonly Config[],
): { readonly balancer: Balancer; readonly config: Config } | undefined {
  for (const one of configs) {
    const { name, config } = one;
    const balancer = Object.hasOwn(POLICIES, name) ? POLICIES[name]?.(config) : undefined;
    if (balancer !== undefined) return { balancer, config: one };
  }
  if (configs.length === 0) return undefined;
  const names = configs.map(({ name }) => name).join(", ");
  throw new TypeError(`loadBalancingConfig: none of ${names} is known; known are ${Object.keys(POLICIES).join(", ")}`);
}
