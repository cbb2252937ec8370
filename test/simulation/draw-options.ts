/**
 * Adds options of clients and servers to plans, each to few: zones, watched health, load reports, limits per endpoint, load
 * shedding, event streams, and what needs a plan of its own to be found: unread streams, and connections that are
 * given up while requests wait to be written.
 */
import type { ClientPlan, Fault, Operation, Plan, ServerPlan } from "./plan.ts";
import { createRandom, type Random } from "./random.ts";

const KIB = 1024;
/** The plans with options: those of seeds that are divisible by {@link OPTION_SEEDS}, and later on of more seeds. */
export const OPTION_SEEDS = 16;

export function hasOptions(seed: number): boolean {
  return seed > 0 && (seed % OPTION_SEEDS === 0 || (seed > 1_000 && seed % 5 === 0));
}

/** More streams than fill the window of a connection with unread data. */
const UNREAD_STREAMS = 25;
const OPTIONS = ["zones", "health", "loads", "limits", "shedding", "events", "unread", "stuck"] as const;

/** Adds some of the options, each with a probability of a third. Plans without faults get none that makes calls fail. */
export function withOptions(plan: Plan): Plan {
  const random = createRandom(plan.seed, "options");
  const isCalm = plan.profile === "rolling" || plan.profile === "faultless";
  const isDirect = plan.registry === undefined && plan.source === undefined;
  const chosen = OPTIONS.filter(() => random.chance(1 / 3));
  const on = (option: (typeof OPTIONS)[number]): boolean => chosen.includes(option);
  const hasZones = on("zones") && isDirect;
  const refuses = plan.profile !== "rolling";
  const isStuck = on("stuck") && !isCalm;
  const [server, ...others] = plan.servers;
  const isUnread = on("unread") && others.length === 0 && server?.maxConnections === undefined && !hasZones;
  const isWatched = on("health") || (on("loads") && random.chance(0.5));
  const servers = (
    hasZones && plan.servers.length < 3 ? [...plan.servers, ...plan.servers, ...plan.servers] : plan.servers
  ).map(
    ({ limits, ...server }): ServerPlan => ({
      ...server,
      limits: isWatched || isUnread ? withoutStreamLimits(limits) : limits,
      shedLoad: on("shedding") && refuses,
      hasHealth: on("health") && random.chance(0.9),
      capacity: on("loads") && random.chance(0.9) ? random.pick([10, 20, 40]) : undefined,
    }),
  );
  const clients = plan.clients.map((client): ClientPlan => {
    const isHttp1 = client.httpVersion === "1.1";
    const balancer = hasZones ? (client.balancer ?? "roundRobin") : client.balancer;
    const isWeighted = on("loads") && balancer !== undefined && random.chance(0.7);
    return {
      ...client,
      balancer: isWeighted ? "weightedRoundRobin" : balancer,
      loads: isWeighted ? drawLoads(random, isWatched && !isHttp1) : undefined,
      zone: hasZones && random.chance(0.7) ? random.pick(["a", "b"] as const) : undefined,
      // A policy for attempts would be a part of the service config.
      ...(on("health") && balancer !== undefined && !isHttp1 ? { watchesHealth: true, maxAttempts: 1 } : {}),
      readsEvents: on("events"),
      protocol: on("events") && random.chance(0.5) ? "http-rpc" : client.protocol,
      options:
        on("limits") && refuses && !isUnread && balancer !== undefined
          ? withLimits(random, client.options)
          : client.options,
    };
  });
  const registry = plan.registry && { ...plan.registry, isMalformed: !isCalm };
  const unreadStreams = isUnread ? UNREAD_STREAMS : undefined;
  let drawn: Plan = { ...plan, servers, clients, registry, unreadStreams, hasOptions: true };
  if (isStuck) drawn = { ...drawn, ...drawStuck(random, drawn) };
  if (on("shedding") && !isCalm) drawn = { ...drawn, operations: overload(random, drawn) };
  if (on("health") && !isCalm) drawn = { ...drawn, faults: sorted([...drawn.faults, ...drawHealth(random, drawn)]) };
  return drawn;
}

/** The calls of watches take places of the limits, which would not be left for others. */
function withoutStreamLimits({
  maxStreams: _,
  maxHandlers: __,
  ...limits
}: ServerPlan["limits"]): ServerPlan["limits"] {
  return limits;
}

function drawLoads(random: Random, isOutOfBand: boolean): Record<string, number> {
  return {
    ...(isOutOfBand ? { oobReportingPeriodMs: random.int(500, 2_000) } : {}),
    blackoutPeriodMs: random.pick([0, 500, 3_000]),
    weightExpirationPeriodMs: random.pick([2_000, 180_000]),
    weightUpdatePeriodMs: random.pick([100, 1_000]),
  };
}

function withLimits(random: Random, options: ClientPlan["options"]): ClientPlan["options"] {
  return {
    ...options,
    maxRequestsPerEndpoint: random.pick([1, 2, 5, 20]),
    maxPendingRequests: random.pick([0, 1, 5, 100]),
  };
}

/** The time in which many calls come, in milliseconds. */
const BURST_MS = 200;

/** Many calls come at once, and take about as long as their deadlines allow. */
function overload(random: Random, { operations, chaosMs }: Plan): Operation[] {
  const moments = Array.from({ length: random.int(1, 4) }, () => random.between(0, chaosMs - BURST_MS));
  return operations.map((operation) => {
    if (random.chance(0.4)) return operation;
    const at = random.pick(moments) + random.between(0, BURST_MS);
    const [delayMs, timeoutMs] = [random.log(20, 400), random.log(100, 800)];
    return { ...operation, at, kind: "ask", behaviour: "work", delayMs, timeoutMs, cancelAfterMs: undefined };
  });
}

function drawHealth(random: Random, { chaosMs, servers }: Plan): Fault[] {
  return Array.from({ length: random.int(1, 6) }, () => {
    const server = random.int(0, servers.length - 1);
    return { at: random.between(0, chaosMs), kind: "health", server, ms: random.log(5, 4_000) };
  });
}

/**
 * Draws links whose buffers are soon full, large requests, and partitions that end when the client has given up its connection and
 * makes another one: what waited to be written is written then.
 */
function drawStuck(random: Random, { link, clients, servers, operations, faults, chaosMs }: Plan): Partial<Plan> {
  const pings = { pingIntervalMs: random.log(50, 300), pingTimeoutMs: 2_000 };
  const partitions = Array.from({ length: random.int(2, 5) }, (): Fault => {
    const client = random.int(0, clients.length - 1);
    const { balancer, server: own } = clients[client] as ClientPlan;
    const server = balancer === undefined ? own : random.int(0, servers.length - 1);
    const at = random.between(0, chaosMs);
    return { at, kind: "partition", client, server, held: [true, random.chance(0.5)], ms: 4_000, untilDial: true };
  });
  return {
    link: { ...link, latencyMs: random.log(0.05, 3), jitterMs: 0, bufferBytes: 16 * KIB },
    clients: clients.map((client) => ({ ...client, options: { ...client.options, ...pings } })),
    operations: operations.slice(0, 300).map((operation): Operation => {
      if (random.chance(0.4)) return operation;
      const requestBytes = random.int(0, 60 * KIB);
      return { ...operation, behaviour: "answer", requestBytes, timeoutMs: 8_000, cancelAfterMs: undefined };
    }),
    faults: sorted([...faults, ...partitions]),
  };
}

function sorted(faults: readonly Fault[]): readonly Fault[] {
  return [...faults].sort((a, b) => a.at - b.at);
}
