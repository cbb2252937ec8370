/**
 * Policies by the names that gRPC's service configs have for them.
 */
import type { Balancer } from "../balancer.ts";
import { consistentHash } from "./consistent-hash.ts";
import { p2c } from "./p2c.ts";
import { pickFirst } from "./pick-first.ts";
import { roundRobin } from "./round-robin.ts";

interface PolicyConfig {
  readonly name: string;
  readonly config: Readonly<Record<string, unknown>>;
}

const POLICIES: Readonly<Record<string, (config: PolicyConfig["config"]) => Balancer | undefined>> = {
  pick_first: pickFirst,
  round_robin: () => roundRobin(),
  weighted_round_robin: () => roundRobin(),
  least_request: () => p2c(),
  least_request_experimental: () => p2c(),
  ring_hash: ringHash,
  ring_hash_experimental: ringHash,
};

/** gRFC A76: the header that has the key. Without it the policy is of no use here. */
function ringHash({ requestHashHeader }: PolicyConfig["config"]): Balancer | undefined {
  return typeof requestHashHeader === "string" && requestHashHeader !== ""
    ? consistentHash({ header: requestHashHeader })
    : undefined;
}

/** The first policy that is known. Throws a `TypeError` where there are some and none is known. */
export function findPolicy(configs: readonly PolicyConfig[]): Balancer | undefined {
  for (const { name, config } of configs) {
    const balancer = Object.hasOwn(POLICIES, name) ? POLICIES[name]?.(config) : undefined;
    if (balancer !== undefined) return balancer;
  }
  if (configs.length === 0) return undefined;
  const names = configs.map(({ name }) => name).join(", ");
  throw new TypeError(`loadBalancingConfig: none of ${names} is known; known are ${Object.keys(POLICIES).join(", ")}`);
}
