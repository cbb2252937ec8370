/**
 * Checks of clients with several endpoints: further attempts go to endpoints that the call has not tried (I7), and an address
 * that does not answer delays each call by a bounded time only (I14).
 */
import { LONGEST_QUERY_MS } from "./dns-model.ts";
import { type Entry, OK } from "./ledger.ts";
import { type RunningClient, type Scenario, serverName, zoneOf } from "./scenario.ts";

/** Time within which a new client of several endpoints has an answer, although one of them is silent, in milliseconds. */
const SILENT_MS = 2_000;
/** Limits with which a server refuses calls or ends connections, so that an endpoint counts as tried without an execution. */
const REFUSING = ["maxHandlers", "maxConnectionAgeMs", "idleTimeoutMs"] as const;

/**
 * Checks that a further attempt of a call has not gone to an endpoint that was tried, while another one was ready. An attempt
 * may go to a tried endpoint once all have been tried, and it may run before earlier attempts that are still under way.
 */
export function checkRepeated(
  { plan, clients, ledger }: Scenario,
  { operation, startedAt = 0, attempts, executions }: Entry,
): void {
  const client = clients[operation.client];
  if (client === undefined || plan.faults.length > 0 || plan.registry !== undefined) return;
  if (client.plan.balancer === undefined || client.changedAt > startedAt) return;
  if (plan.servers.some(({ maxConnections, limits }) => maxConnections ?? REFUSING.some((name) => limits[name])))
    return;
  if (plan.servers.some(({ shedLoad }) => shedLoad) || client.plan.options["maxRequestsPerEndpoint"]) return;
  const ready = [...client.states.values()].filter((state) => state === "ready").length;
  if (executions.length - new Set(executions).size > Math.max(0, attempts - ready))
    ledger.violate(
      "I7",
      `call ${operation.id} ran at ${executions.join(", ")}, although ${ready} endpoints were ready`,
    );
}

/** Creates new transports while the first address of each list is silent. */
export async function checkSilentAddress(scenario: Scenario): Promise<void> {
  const { plan, clients, network, world, ledger } = scenario;
  const [first, second] = plan.servers;
  if (first === undefined || second === undefined || plan.registry !== undefined) return;
  if (plan.servers.some(({ maxConnections }) => maxConnections !== undefined)) return;
  // A new transport joins a query for its name that is under way.
  if (plan.source !== undefined) await world.sleep(LONGEST_QUERY_MS);
  network.setDialFault(serverName(0), "lose");
  const check = async (index: number): Promise<void> => {
    const client = clients[index];
    if (client?.plan.balancer === undefined) return;
    scenario.restartClient(index, 0);
    const start = world.now;
    while (world.now < start + SILENT_MS) {
      const [outcome] = await scenario.probe(client, 100, SILENT_MS);
      if (outcome === 0) return;
      await world.sleep(10);
    }
    const ms = (world.now - start).toFixed(0);
    ledger.violate("I14", `client${index + 1} has no answer after ${ms} ms, because one of its addresses is silent`);
  };
  await Promise.all(clients.map((_, index) => check(index)));
  network.setDialFault(serverName(0), undefined);
}

/** Time within which clients know that a server does not serve, and calls that must not go to it then. */
const HEALTH_MS = 2_000;
const HEALTH_CALLS = 5;

/** Checks that clients that watch the health of a server make no calls to it while it does not serve (I11). */
export async function checkHealth(scenario: Scenario): Promise<void> {
  const { clients, plan, world, ledger } = scenario;
  const watching = clients.filter(({ plan: { watchesHealth, balancer } }) => watchesHealth && balancer !== "pickFirst");
  if (watching.length === 0 || plan.servers.length < 2 || !plan.servers[0]?.hasHealth) return;
  if (plan.servers.some(({ maxConnections }) => maxConnections !== undefined)) return;
  scenario.setHealth(0, "not_serving");
  await world.sleep(HEALTH_MS);
  const check = async (client: RunningClient): Promise<void> => {
    for (let i = 0; i < HEALTH_CALLS; i++) {
      const [, server] = await scenario.probe(client);
      if (server === serverName(0))
        ledger.violate("I11", `client${client.index + 1} calls ${server}, which does not serve`);
    }
  };
  await Promise.all(watching.map(check));
  scenario.setHealth(0, "serving");
}

/** Time within which a client uses all endpoints: those that were ejected return, in milliseconds. */
const USED_MS = 120_000;

/**
 * Checks that each client with several endpoints uses all of its list (I11), or those of its zone and no others, because the zone
 * has its share of the list.
 */
export async function checkUsed(scenario: Scenario): Promise<void> {
  const { clients, plan } = scenario;
  if (plan.registry !== undefined || plan.source !== undefined) return;
  if (!plan.hasOptions || plan.servers.some(({ maxConnections }) => maxConnections !== undefined)) return;
  await Promise.all(clients.map((client) => checkClient(scenario, client)));
}

async function checkClient(scenario: Scenario, client: RunningClient): Promise<void> {
  const { plan, world, ledger } = scenario;
  const { balancer, zone } = client.plan;
  if (balancer === undefined || balancer === "pickFirst") return;
  const all = plan.servers.map((_, index) => index).filter((index) => (zone ?? zoneOf(index)) === zoneOf(index));
  const unused = new Set(all.map(serverName));
  for (const until = world.now + USED_MS; ; ) {
    const others = new Set<string>();
    for (let i = 0; i < 2 * plan.servers.length; i++) {
      const [outcome, server] = await scenario.probe(client);
      if (outcome === OK) unused.delete(server);
      if (outcome === OK && !all.map(serverName).includes(server)) others.add(server);
      await world.sleep(100);
    }
    if (unused.size + others.size === 0) {
      if (zone !== undefined) ledger.see("zone that takes all calls");
      return;
    }
    if (world.now < until) continue;
    const name = `client${client.index + 1}`;
    if (unused.size > 0) ledger.violate("I11", `${name} does not use ${[...unused]}`);
    else ledger.violate("I11", `${name} uses ${[...others]}, which its zone ${zone} does not need`);
    return;
  }
}
