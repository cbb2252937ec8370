/**
 * Draws the plan of a seed. Each kind of call and of fault is on with a probability of one half (swarm testing): plans with
 * everything hide what a plan with a few things shows.
 */
import { hasOptions, OPTION_SEEDS, withOptions } from "./draw-options.ts";
import {
  type Behaviour,
  type ClientPlan,
  type Fault,
  type Kind,
  MEMBER,
  type Operation,
  PATIENT_MS,
  type Plan,
  PROVIDER,
  type RegistryPlan,
  type ServerPlan,
  type SourcePlan,
} from "./plan.ts";
import { createRandom, type Random } from "./random.ts";

const KIB = 1024;
/** Most bytes of the messages of a plan: many plans show more than a few large ones. */
const MAX_BYTES = 48 * KIB * KIB;
/** Sizes around constants of the runtime: reads, compression, windows and slabs, framed output. */
const EDGES = [16 * KIB, 32 * KIB, 64 * KIB, 128 * KIB, 256 * KIB];
const FAULT_KINDS = ["cut", "reset all", "partition", "dial", "crash", "restart", "close client", "list"] as const;
const BEHAVIOURS: readonly Behaviour[] = ["delay", "work", "wait", "hang", "early", "fail", "unknown method"];
const ALL_KINDS: readonly Kind[] = ["ask", "ask", "askAgain", "download", "upload", "talk"];
const UPLOAD_KINDS: readonly Kind[] = ["upload", "ask"];
const UPLOAD_BEHAVIOURS: readonly Behaviour[] = ["early", "fail", "unknown method"];
const HEDGED_KINDS: readonly Kind[] = ["ask", "askAgain", "askAgain", "askAgain"];
const HEDGED_BEHAVIOURS: readonly Behaviour[] = ["delay", "work", "wait", "hang", "fail"];
/** Codes that handlers fail with; the policies for attempts repeat `unavailable` (14). */
const HANDLER_CODES = [3, 5, 7, 9, 10, 14, 14, 14];

/**
 * The ways in which the clients of a plan find their servers: in a list or at a base URL, in a registry, by the DNS, or in Kubernetes; `http1` and
 * `refusals`: as `list`; they call over HTTP/1.1, or servers refuse many of their calls.
 */
export type PlanKind = "list" | "registry" | "nacos" | "dns" | "kubernetes" | "http1" | "refusals";

/** Returns the kind of a seed. The seeds of the table of planted faults keep theirs. */
export function kindOf(seed: number): PlanKind {
  if (seed > 0 && seed % OPTION_SEEDS === 0) return kindOf(seed / OPTION_SEEDS);
  if (seed % 16 === 5) return "http1";
  if (seed % 16 === 14) return "nacos";
  if (seed % 16 === 15) return "refusals";
  if (seed % 32 === 27) return "kubernetes";
  if (seed % 16 === 11) return "dns";
  return seed % 2 === 0 ? "registry" : "list";
}

/** Draws a plan. Its numbers have three decimals, so that its JSON is short, and gives the same run. */
export function drawPlan(seed: number): Plan {
  const short = (_key: string, value: unknown): unknown =>
    typeof value === "number" ? Math.round(value * 1_000) / 1_000 : value;
  const drawn = DRAW[kindOf(seed)](seed);
  const plan = RARE_SEEDS.includes(seed % 16) ? withRareFaults(drawn) : drawn;
  return JSON.parse(JSON.stringify(hasOptions(seed) ? withOptions(plan) : plan, short)) as Plan;
}

/** The rests by 16 of seeds whose plans have rare faults. */
const RARE_SEEDS = [0, 3, 6];

const DRAW: Readonly<Record<PlanKind, (seed: number) => Plan>> = {
  list: draw,
  http1: drawHttp1Plan,
  refusals: drawRefusalPlan,
  registry: drawRegistryPlan,
  nacos: drawNacosPlan,
  dns: drawDnsPlan,
  kubernetes: drawKubernetesPlan,
};

export const KINDS = Object.keys(DRAW) as readonly PlanKind[];

function draw(seed: number): Plan {
  const random = createRandom(seed, "plan");
  const profile = random.pick(["mixed", "mixed", "mixed", "quiet", "faultless", "rolling"] as const);
  const load = random.pick(["mixed", "mixed", "uploads", "burst", "hedges"] as const);
  const chaosMs = profile === "quiet" ? random.log(20_000, 200_000) : random.log(1_500, 15_000);
  const servers = Array.from({ length: random.pick([1, 1, 2, 3, 4]) }, () => drawServer(random, load));
  const clients = Array.from({ length: random.pick([1, 1, 2, 3]) }, () => drawClient(random, servers.length, load));
  const kinds = profile === "rolling" ? ["restart" as const] : FAULT_KINDS.filter(() => random.chance(0.5));
  const faults = profile === "faultless" ? [] : drawFaults(random, kinds, { profile, chaosMs, servers, clients });
  return {
    seed,
    profile,
    load,
    clock: { cpuMs: random.chance(0.5) ? 0 : random.between(0.01, 0.4), latenessMs: random.pick([0, 0.5, 5]) },
    link: {
      latencyMs: random.log(0.05, 20),
      jitterMs: random.pick([0, 0.5, 5, 30]),
      chunking: random.pick(["whole", "random", "random", "bytes", "frames"] as const),
      bufferBytes: random.pick([16 * KIB, 64 * KIB, 512 * KIB, 4096 * KIB]),
    },
    servers,
    clients,
    operations: drawOperations(random, { profile, load }, chaosMs, clients.length),
    faults,
    chaosMs,
    end: random.pick(["clients first", "clients first", "servers first", "cut off"] as const),
  };
}

function drawServer(random: Random, load: string): ServerPlan {
  const limits: Record<string, number> = {};
  if (random.chance(0.4)) limits["maxStreams"] = random.pick([1, 2, 5, 20]);
  if (random.chance(load === "uploads" ? 0.5 : 0.2)) limits["maxHandlers"] = random.pick([1, 2, 10, 50]);
  if (random.chance(0.2)) limits["idleTimeoutMs"] = 10 * random.int(50, 6_000);
  if (random.chance(0.2)) limits["maxConnectionAgeMs"] = 10 * random.int(50, 2_000);
  if (random.chance(0.3)) limits["pingIntervalMs"] = 10 * random.int(20, 2_000);
  if (random.chance(0.3)) limits["pingTimeoutMs"] = 10 * random.int(50, 500);
  return { maxConnections: random.chance(0.05) ? random.int(1, 3) : undefined, limits };
}

function drawClient(random: Random, servers: number, load: string): ClientPlan {
  const options: Record<string, number | boolean> = {};
  if (random.chance(load === "burst" ? 0.8 : 0.4)) options["maxConnections"] = random.int(1, 3);
  if (random.chance(0.3)) options["pingIntervalMs"] = random.log(50, 5_000);
  if (random.chance(0.3)) options["pingTimeoutMs"] = random.log(2_000, 5_000);
  if (random.chance(0.3)) options["idleTimeoutMs"] = random.log(50, 10_000);
  if (random.chance(0.3)) options["verifyAfterMs"] = random.log(10, 2_000);
  if (random.chance(0.3)) options["maxBackoffMs"] = random.pick([0, 100, 2_000]);
  if (random.chance(0.3)) options["connectTimeoutMs"] = random.log(200, 5_000);
  if (random.chance(0.2)) options["waitForReady"] = true;
  const isBalanced = random.chance(servers > 1 ? 0.7 : 0.2);
  if (isBalanced && random.chance(0.4)) options["keepUnlistedMs"] = random.pick([0, 200, 3_000]);
  const hasPolicy = load === "hedges" || random.chance(0.5);
  return {
    balancer: isBalanced ? random.pick(["p2c", "p2c", "roundRobin", "roundRobin", "pickFirst"] as const) : undefined,
    server: random.int(0, servers - 1),
    protocol: random.chance(0.8) ? "grpc" : "http-rpc",
    maxAttempts: hasPolicy ? random.int(2, 5) : 1,
    hedgingDelayMs: hasPolicy && random.chance(load === "hedges" ? 0.8 : 0.3) ? random.pick([0, 5, 50]) : undefined,
    options,
  };
}

function drawOperations(
  random: Random,
  { profile, load }: Pick<Plan, "profile" | "load">,
  chaosMs: number,
  clients: number,
): Operation[] {
  const count =
    profile === "quiet" ? random.int(10, 60) : load === "uploads" ? random.int(60, 200) : random.int(100, 800);
  const kinds = ALL_KINDS.filter(() => random.chance(0.6));
  const behaviours = (load === "hedges" ? HEDGED_BEHAVIOURS : BEHAVIOURS).filter(() => random.chance(0.5));
  const largest = random.pick([100, 2_000, 40_000, 300_000]);
  const bursts = Array.from({ length: random.int(1, 6) }, () => random.between(0, chaosMs));
  const common = {
    // Nothing holds up these calls for long.
    isPatient: profile === "faultless" || profile === "rolling",
    behaviours: load === "uploads" ? UPLOAD_BEHAVIOURS : behaviours,
    smallest: load === "uploads" ? random.pick([1, 4_000, 16_000, 16_000]) : 1,
    largest: load === "uploads" ? random.pick([40_000, 300_000]) : largest,
    messages: random.pick([
      [0, 1, 2, 5, 20],
      [5, 20],
    ]),
    pauses: random.pick([0.1, 0.3, 0.9]),
  };
  const own = load === "uploads" ? UPLOAD_KINDS : load === "hedges" ? HEDGED_KINDS : kinds;
  let bytes = 0;
  const operations = Array.from({ length: count }, (_, id) => {
    const isBurst = load === "burst" && random.chance(0.8);
    return drawOperation(random, {
      ...common,
      id,
      at: isBurst ? random.pick(bursts) : random.between(0, chaosMs),
      client: random.int(0, clients - 1),
      kind: random.pick(own.length > 0 ? own : ["ask"]),
    });
  });
  return operations.filter(({ messages, requestBytes, responseBytes }) => {
    bytes += messages * (requestBytes + responseBytes);
    return bytes < MAX_BYTES;
  });
}

interface Choice {
  readonly id: number;
  readonly at: number;
  readonly client: number;
  readonly kind: Kind;
  readonly behaviours: readonly Behaviour[];
  readonly smallest: number;
  readonly largest: number;
  /** The numbers of messages of streams. */
  readonly messages: readonly number[];
  /** The share of calls that pause between messages. */
  readonly pauses: number;
  readonly isPatient: boolean;
}

function drawOperation(
  random: Random,
  { behaviours, smallest, largest, messages: counts, pauses, isPatient, ...given }: Choice,
): Operation {
  const behaviour = behaviours.length > 0 && random.chance(0.4) ? random.pick(behaviours) : "answer";
  const isStream = given.kind !== "ask" && given.kind !== "askAgain";
  const messages = isStream ? random.pick(counts) : 1;
  const ends = behaviour === "wait" ? random.chance(0.5) : random.chance(0.1);
  const shortMs = random.chance(0.1) ? random.log(0.5, 20) : random.log(50, 8_000);
  const waits = behaviour === "wait" || behaviour === "hang";
  const timeoutMs = isPatient && !waits && random.chance(0.3) ? PATIENT_MS : shortMs;
  return {
    ...given,
    behaviour,
    delayMs: random.chance(0.9) ? random.log(0.5, 2_000) : random.between(2_000, 4_000),
    code: random.pick(HANDLER_CODES),
    requestBytes: drawSize(random, smallest, largest),
    responseBytes: drawSize(random, smallest, largest),
    messages,
    pauseMs: random.chance(pauses) ? random.log(0.1, 100) : 0,
    timeoutMs: ends ? undefined : timeoutMs,
    cancelAfterMs: ends ? random.log(0.1, 1_000) : undefined,
    readMessages: isStream && random.chance(0.1) ? random.int(0, Math.max(0, messages - 1)) : undefined,
    waitForReady: random.chance(0.15) ? random.chance(0.7) : undefined,
  };
}

function drawSize(random: Random, smallest: number, largest: number): number {
  if (random.chance(0.1)) return 0;
  if (random.chance(0.25)) {
    const edges = EDGES.filter((edge) => edge <= largest);
    if (edges.length > 0) return random.pick(edges) + random.int(-20, 20);
  }
  return Math.round(random.log(Math.min(smallest, largest), largest));
}

interface Topology {
  readonly profile: Plan["profile"];
  readonly chaosMs: number;
  readonly servers: readonly ServerPlan[];
  readonly clients: readonly ClientPlan[];
}

function drawFaults(random: Random, kinds: readonly (typeof FAULT_KINDS)[number][], topology: Topology): Fault[] {
  if (kinds.length === 0) return [];
  const { profile, chaosMs, servers, clients } = topology;
  // Faults that come together meet states that each of them alone does not reach.
  const moments = Array.from({ length: random.pick([0, 0, 1, 2, 4]) }, () => random.between(0, chaosMs));
  return Array.from({ length: Math.round(random.log(1, 40)) }, () => {
    const at = moments.length === 0 ? random.between(0, chaosMs) : random.pick(moments) + random.log(0.1, 500);
    const kind = random.pick(kinds);
    const server = random.int(0, servers.length - 1);
    const client = random.int(0, clients.length - 1);
    // Long outages build up a backoff. Some end when the client gives up: after a PING without an answer.
    const { pingTimeoutMs = 5_000, pingIntervalMs = 1_000 } = clients[client]?.options ?? {};
    const ms = random.chance(0.8)
      ? random.log(5, chaosMs > 15_000 ? 30_000 : 4_000)
      : Number(pingTimeoutMs) + random.between(0, 1.2) * Number(pingIntervalMs);
    switch (kind) {
      case "cut": {
        const of = random.pick(["reset", "reset", "end", "silence", "stall"] as const);
        const cut = { kind: of, afterBytes: Math.round(random.log(1, 200_000)), ms };
        return { at, kind, client, server, upstream: random.chance(0.5), cut };
      }
      case "partition":
        return {
          at,
          kind,
          client,
          server,
          held: random.pick([
            [true, true],
            [true, false],
            [false, true],
          ] as const),
          ms,
        };
      case "dial":
        return {
          at,
          kind,
          server,
          fault: random.pick(["refuse", "lose", "accept and close", "accept and ignore"] as const),
          ms,
        };
      case "crash":
        return { at, kind, server, isSilent: random.chance(0.4), ms };
      case "restart":
        return { at, kind, server, graceMs: profile === "rolling" ? 5_000 : random.pick([0, 100, 3_000]), ms };
      case "list":
        return {
          at,
          kind,
          client,
          servers: servers.map((_, i) => i).filter(() => random.chance(0.6)),
          isFailure: random.chance(0.3),
        };
      case "close client":
        return { at, kind, client, graceMs: random.pick([0, 100, 2_000]) };
      default:
        return { at, kind, server };
    }
  }).sort((a, b) => a.at - b.at);
}

const REGISTRY_FAULT_KINDS = ["lose data", "expire", "compact", "malform", "update"] as const;

/** Draws a plan in which servers register, and clients find them in a registry. Its faults meet the registry, too. */
function drawRegistryPlan(seed: number): Plan {
  const plan = draw(seed);
  const random = createRandom(seed, "registry plan");
  const isRolling = random.chance(0.25);
  const registry: RegistryPlan = {
    kind: random.pick(["zookeeper", "etcd"] as const),
    members: random.pick([1, 1, 2, 3]),
    sessionTimeoutMs: Math.round(random.log(1_000, 8_000)),
    mode: random.pick(["all", "all", "instance", "interface"] as const),
  };
  const some = isRolling || random.chance(0.5) ? 2 : 1;
  const servers = Array.from({ length: Math.max(some, plan.servers.length) }, (_, index) => plan.servers[index]);
  const topology = { ...plan, registry, servers: servers.map((server) => withoutLimits(server)) };
  const isLong = random.chance(0.25);
  const chaosMs = isRolling ? 8_000 * servers.length : isLong ? 40_000 : Math.max(plan.chaosMs, 10_000);
  const profile = isRolling ? "rolling" : plan.profile === "rolling" ? "mixed" : plan.profile;
  const isCalm = profile === "rolling" || profile === "faultless";
  const hosts = { profile, chaosMs };
  const stretch = chaosMs / plan.chaosMs;
  return {
    ...topology,
    ...hosts,
    clients: plan.clients.map((client) => ({
      ...client,
      // The others use all endpoints.
      balancer: client.balancer === "p2c" ? "p2c" : "roundRobin",
      // A transport without calls pauses its resolver.
      options: { ...client.options, idleTimeoutMs: 600_000 },
    })),
    operations: plan.operations.map((operation) => ({
      ...operation,
      at: operation.at * stretch,
      behaviour: operation.behaviour === "unknown method" ? "answer" : operation.behaviour,
      timeoutMs: isCalm || operation.timeoutMs !== PATIENT_MS ? operation.timeoutMs : 8_000,
    })),
    faults:
      profile === "faultless"
        ? []
        : isRolling
          ? rollOver(servers.length)
          : drawRegistryFaults(random, { ...topology, ...hosts }),
  };
}

/** Draws a plan with a registry in Nacos. Its connections take the place of sessions: they last as long as they answer. */
function drawNacosPlan(seed: number): Plan {
  const plan = drawRegistryPlan(seed);
  const random = createRandom(seed, "nacos plan");
  const isShared = random.chance(0.5);
  // Requests of the first connections are refused.
  const first = { at: random.log(0.1, 1_000), kind: "malform", replies: random.int(1, 8) } as const;
  const isCalm = plan.profile === "rolling" || plan.profile === "faultless";
  return {
    ...plan,
    registry: { ...(plan.registry as RegistryPlan), kind: "nacos", sessionTimeoutMs: 10_000, isShared },
    clients: isShared && plan.clients.length === 1 ? [...plan.clients, ...plan.clients] : plan.clients,
    faults: isCalm || random.chance(0.5) ? plan.faults : [first, ...plan.faults].sort((a, b) => a.at - b.at),
  };
}

/**
 * Adds faults of the clocks, and partitions that end when a client gives up: the event loop is blocked, the wall clock is set, and
 * what waited to be written is written to the connection that was given up.
 */
function withRareFaults(plan: Plan): Plan {
  const { seed, profile, chaosMs } = plan;
  if (profile === "rolling" || profile === "faultless") return plan;
  const random = createRandom(seed, "rare faults");
  const pings = { pingIntervalMs: random.log(50, 500), pingTimeoutMs: 2_000 };
  const clients = plan.clients.map((client) => ({ ...client, options: { ...client.options, ...pings } }));
  const added = Array.from({ length: random.int(1, 6) }, (_, index): Fault => {
    const at = random.between(0, chaosMs);
    const kind = random.pick(["block", "jump", "partition"] as const);
    if (kind === "jump") return { at, kind, ms: random.pick([-1, 1]) * random.log(1_000, 1e10) };
    // One is as long as the time limit of a PING. Both ends stand still: more of them are longer than the limit of a handshake.
    if (kind === "block") return { at, kind, ms: index > 0 ? random.log(20, 500) : 2_000 + random.between(0, 500) };
    const client = random.int(0, clients.length - 1);
    const server =
      plan.clients[client]?.balancer === undefined
        ? (plan.clients[client]?.server ?? 0)
        : random.int(0, plan.servers.length - 1);
    return { at, kind, client, server, held: [true, random.chance(0.5)], ms: 4_000, untilDial: true };
  });
  // Requests wait to be written.
  const link = random.chance(0.5) ? { ...plan.link, bufferBytes: 16 * KIB } : plan.link;
  return { ...plan, link, clients, faults: [...plan.faults, ...added].sort((a, b) => a.at - b.at) };
}

/**
 * Draws a plan whose servers refuse many streams, which clients send again while their requests go on: after the first messages, and
 * in the pauses between them.
 */
function drawRefusalPlan(seed: number): Plan {
  const plan = draw(seed);
  const random = createRandom(seed, "refusal plan");
  const maxHandlers = random.int(1, 4);
  const pauseMs = random.log(10, 200);
  const largest = random.pick([100, 60_000]);
  return {
    ...plan,
    link: { ...plan.link, latencyMs: random.log(0.05, 5) },
    servers: plan.servers.map(({ limits, ...server }) => ({ ...server, limits: { ...limits, maxHandlers } })),
    clients: plan.clients.map((client) => ({ ...client, protocol: "grpc" as const })),
    operations: plan.operations.slice(0, 300).map((operation) => {
      if (random.chance(0.3)) return operation;
      return {
        ...operation,
        kind: random.pick(["upload", "talk"] as const),
        behaviour: "answer" as const,
        messages: random.int(2, 6),
        pauseMs: pauseMs * random.between(0.5, 2),
        requestBytes: random.int(0, largest),
        responseBytes: 100,
        timeoutMs: 8_000,
      };
    }),
  };
}

/** Draws a plan whose clients call over HTTP/1.1, but for some. */
function drawHttp1Plan(seed: number): Plan {
  const plan = draw(seed);
  const random = createRandom(seed, "http1 plan");
  const http1IdleTimeoutMs = random.pick([200, 1_000, 10_000, 60_000]);
  return {
    ...plan,
    servers: plan.servers.map(({ limits, ...server }) => ({ ...server, limits: { ...limits, http1IdleTimeoutMs } })),
    clients: plan.clients.map((client, index): ClientPlan => {
      const codec = random.chance(0.7) ? "json" : undefined;
      return index > 0 && random.chance(0.3) ? client : { ...client, protocol: "http-rpc", httpVersion: "1.1", codec };
    }),
  };
}

/** Draws a plan whose clients ask the DNS for their servers. */
function drawDnsPlan(seed: number): Plan {
  const random = createRandom(seed, "dns plan");
  const isCalm = random.chance(0.2);
  const source: SourcePlan = {
    kind: random.pick(["addresses", "services", "services"] as const),
    ttl: random.pick([0, 1, 5, 30, 86_400]),
    isDouble: random.chance(0.5),
    failures: isCalm ? 0 : random.pick([0, 0.1, 0.5]),
    slowness: isCalm ? 0 : random.pick([0, 0.2, 0.8]),
  };
  return withSource(draw(seed), source, random);
}

/** Draws a plan whose clients watch their servers in Kubernetes. */
function drawKubernetesPlan(seed: number): Plan {
  const random = createRandom(seed, "kubernetes plan");
  const failures = random.pick([0, 0.1, 0.4]);
  return withSource(draw(seed), { kind: "slices", failures, compactions: random.pick([0, 0.3, 0.9]) }, random);
}

/** Gives all clients a source of endpoints, whose list changes. */
function withSource(plan: Plan, source: SourcePlan, random: Random): Plan {
  const isCalm = plan.profile === "rolling" || plan.profile === "faultless";
  const servers = plan.servers.length > 1 ? plan.servers : [...plan.servers, ...plan.servers];
  const clients = plan.clients.map((client) => ({ ...client, balancer: client.balancer ?? ("roundRobin" as const) }));
  const lists = drawFaults(random, ["list"], { ...plan, servers });
  const faults = isCalm ? plan.faults : [...plan.faults, ...lists].sort((a, b) => a.at - b.at);
  const healthy = source.kind === "slices" ? { ...source, failures: 0 } : { ...source, failures: 0, slowness: 0 };
  return { ...plan, servers, clients, faults, source: isCalm ? healthy : source };
}

/** A server that refuses calls and connections makes them fail without any fault. */
function withoutLimits(server: ServerPlan | undefined): ServerPlan {
  const { maxHandlers: _, ...limits } = server?.limits ?? {};
  return { maxConnections: undefined, limits };
}

/** Restarts one server after the other. */
function rollOver(servers: number): Fault[] {
  return Array.from({ length: servers }, (_, server) => {
    return { at: 500 + 8_000 * server, kind: "restart", server, graceMs: 5_000, ms: 100 };
  });
}

interface RegistryTopology extends Topology, Pick<Plan, "link"> {
  readonly registry: RegistryPlan;
}

function drawRegistryFaults(random: Random, topology: RegistryTopology): Fault[] {
  const { chaosMs, servers, clients, registry, link } = topology;
  const members = Array.from({ length: registry.members }, (_, member) => MEMBER + member);
  const some = drawFaults(
    random,
    FAULT_KINDS.filter((kind) => kind !== "list" && random.chance(0.4)),
    topology,
  );
  const kinds = REGISTRY_FAULT_KINDS.filter(() => random.chance(0.5));
  // Half of the faults of hosts and links meet the registry instead.
  const moved = some.map((fault): Fault => {
    if (random.chance(0.5) || fault.kind === "restart" || !("server" in fault)) return fault;
    const server = MEMBER + random.int(0, registry.members - 1);
    if (!("client" in fault)) return { ...fault, server };
    const isProvider = random.chance(0.5);
    const client = isProvider ? PROVIDER + random.int(0, servers.length - 1) : random.int(0, clients.length - 1);
    return { ...fault, server, client };
  });
  const own = kinds.flatMap((kind) =>
    Array.from({ length: random.int(1, kind === "update" ? 10 : 4) }, (): Fault[] => {
      const at = random.between(0, chaosMs);
      if (kind === "lose data") return [{ at, kind, ms: random.log(5, 6_000) }];
      if (kind === "malform") return [{ at, kind, replies: random.int(1, 5) }];
      if (kind === "expire" || kind === "compact") return [{ at, kind }];
      const update = { at, kind, server: random.int(0, servers.length - 1), weight: random.pick([50, 100, 200]) };
      if (random.chance(0.5)) return [update];
      // The registry is lost while its entries change, or while clients read the change.
      const later = at + link.latencyMs * random.between(0, 12);
      return [update, ...members.map((server): Fault => ({ at: later, kind: "reset all", server }))];
    }).flat(),
  );
  // The registry is away for a long time, with its data.
  const outage =
    chaosMs < 40_000
      ? []
      : members.map((server): Fault => {
          return { at: 5_000, kind: "crash", server, isSilent: random.chance(0.5), ms: 25_000 };
        });
  return [...moved, ...own, ...outage].sort((a, b) => a.at - b.at);
}
