/**
 * Sources of endpoints that are no registry, and their checks: what a client uses is what its source has (I12), and lists have
 * no more entries than their source (I10).
 */
import type { Endpoint, Resolver } from "triple-es/discovery";
import type { BalancedTransport } from "triple-es/node";
import type { RunningClient, Scenario } from "./scenario.ts";

export interface EndpointSource {
  readonly resolver: Resolver;
  /** Publishes a list, or fails until the next list. */
  publish(list: readonly Endpoint[] | undefined): void;
  /** Ends all faults of the source. */
  heal(): void;
  /** Makes a part of the source fail, which the other parts must not notice, or ends that. */
  damage?(isDamaged: boolean): void;
}

/** Time within which a client uses what its source has: the longest backoff or TTL, and more, in milliseconds. */
export const SOURCE_MS = 45_000;
/** Time for which a part of a source fails: several lookups. */
const DAMAGED_MS = 25_000;
const LOOK_MS = 250;

/** Passes lists on, and checks their length. */
export function bounded({ plan, ledger }: Scenario, resolver: Resolver): Resolver {
  return async function* (context) {
    for await (const list of resolver(context)) {
      if (list.length > plan.servers.length)
        ledger.violate("I10", `a resolver has ${list.length} endpoints of ${plan.servers.length} servers`);
      ledger.see(list.length === 0 ? "empty list of a resolver" : "list of a resolver");
      yield list;
    }
  };
}

/** Changes the lists of all clients, also while a part of each source fails, and waits until the clients use them. */
export async function checkSources(scenario: Scenario): Promise<void> {
  const { clients, plan, world } = scenario;
  const sources = clients.flatMap((client) => client.list ?? []);
  if (plan.source === undefined || sources.length === 0) return;
  const publish = async (count: number): Promise<void> => {
    for (const { index, list } of clients)
      list?.publish(plan.servers.slice(0, count).map((_, server) => scenario.endpoint(index, server)));
    await Promise.all(clients.map((client) => checkClient(scenario, client, count)));
  };
  await publish(plan.servers.length);
  await publish(plan.servers.length - 1);
  for (const source of sources) source.damage?.(true);
  await world.sleep(DAMAGED_MS);
  await publish(plan.servers.length);
  for (const source of sources) source.damage?.(false);
}

async function checkClient(scenario: Scenario, client: RunningClient, count: number): Promise<void> {
  const { world, ledger } = scenario;
  if (client.list === undefined) return;
  const expected = Array.from({ length: count }, (_, server) => scenario.endpoint(client.index, server).address);
  for (const until = world.now + SOURCE_MS; ; await world.sleep(LOOK_MS)) {
    await scenario.probe(client);
    const listed = (client.transport as BalancedTransport).endpoints().filter((one) => one.listed);
    const used = [...new Set(listed.map(({ address }) => address))].sort();
    if (String(used) === String(expected)) return;
    if (world.now < until) continue;
    ledger.violate("I12", `client${client.index + 1} uses ${used}, in place of ${expected}`);
    return;
  }
}
