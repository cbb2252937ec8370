/**
 * Runs a plan: servers, clients, calls and faults, then a phase without faults in which everything must recover, then the
 * shutdown of all, after which nothing may be left.
 */
import type { Endpoint } from "triple-es/discovery";
import type { ClosableTransport, Server } from "triple-es/node";
import type { Bundle, Product } from "./bundle.ts";
import { Caller, type Clients } from "./caller.ts";
import { FaultInjector } from "./faults.ts";
import { FrameObserver } from "./frame-observer.ts";
import type { Ledger } from "./ledger.ts";
import { type Connection, Network } from "./network.ts";
import type { ClientPlan, Operation, Plan } from "./plan.ts";
import { checkConnections, checkQuiet } from "./quiet-checks.ts";
import { PlannedRegistry } from "./resolver.ts";
import { createHandler } from "./service.ts";
import type { World } from "./world.ts";

const PORT = 50_051;
/** The deadline of calls of the recovery phase, and the pause between them. */
const PROBE_MS = 3_000;
const PROBE_PAUSE_MS = 250;
/** The size and the deadline of the last call: more than a window, over the slowest link. */
const LAST_PROBE = [400_000, 30_000] as const;
/** Successes in a row after which a client has recovered. */
const PROBES = 5;
/** Time in which a transport that has nothing to wait for must close, beyond the grace period. */
const CLOSE_MS = 1_500;
/** Grace period of all shutdowns that the plan does not time. */
const GRACE_MS = 2_000;
/** Time after which nothing of closed clients and servers may be left. */
const REST_MS = 35_000;

interface RunningClient {
  readonly plan: ClientPlan;
  readonly index: number;
  readonly registry: PlannedRegistry | undefined;
  transport: ClosableTransport;
  clients: Clients;
}

export class Scenario {
  readonly network: Network;
  readonly product: Product;
  readonly plan: Plan;
  readonly world: World;
  readonly ledger: Ledger;
  readonly servers: (Server | undefined)[] = [];
  readonly clients: RunningClient[] = [];
  readonly observers: Map<Connection, FrameObserver> = new Map();
  readonly #caller: Caller;
  readonly #faults: FaultInjector;
  readonly #calls: Promise<unknown>[] = [];
  readonly #shutdowns: Promise<unknown>[] = [];
  #nextId: number;

  constructor(plan: Plan, bundle: Bundle, world: World, ledger: Ledger) {
    this.plan = plan;
    this.world = world;
    this.ledger = ledger;
    this.#nextId = Math.max(0, ...plan.operations.map(({ id }) => id + 1));
    this.network = new Network(world, plan.link, {
      onConnection: (connection) => this.#observe(connection),
      onClosed: (connection) => void this.observers.delete(connection),
    });
    this.#faults = new FaultInjector(this);
    this.product = bundle(world, this.network);
    this.#caller = new Caller(this.product, world, ledger);
  }

  async run(): Promise<void> {
    const { world, plan } = this;
    for (const index of plan.servers.keys()) await this.startServer(index);
    for (const [index, client] of plan.clients.entries()) this.clients.push(this.#createClient(index, client));
    const start = world.now;
    for (const operation of plan.operations) world.at(start + operation.at, () => this.#call(operation));
    for (const fault of plan.faults) world.at(start + fault.at, () => this.#faults.apply(fault));
    await world.sleep(plan.chaosMs);
    await this.#faults.heal();
    await this.#settled();
    await this.#recover();
    await checkQuiet(this);
    await this.#shutDown();
  }

  async startServer(index: number): Promise<void> {
    const { maxConnections, limits } = this.plan.servers[index] ?? { maxConnections: undefined, limits: {} };
    const name = serverName(index);
    const server = this.product.createServer({
      maxConnections,
      limits,
      onError: (error: unknown) => this.ledger.violate("I13", `${name} reports ${error}`),
    });
    server.add(this.product.SimulationServiceDef, createHandler(this.product, this.world, this.ledger, name));
    this.servers[index] = server;
    await server.listen({ host: `10.0.0.${index + 1}`, port: PORT });
    this.world.note("listening", name);
  }

  /** Closes a server, and checks that it takes no longer than the grace period allows. */
  async closeServer(index: number, graceMs: number): Promise<void> {
    const server = this.servers[index];
    if (server === undefined) return;
    this.servers[index] = undefined;
    await this.#within(`${serverName(index)}.close`, graceMs + CLOSE_MS, server.close({ graceMs }));
  }

  /** Closes the transport of a client and creates another one. */
  restartClient(index: number): void {
    const client = this.clients[index];
    if (client === undefined) return;
    this.#shutdowns.push(this.#closeTransport(client));
    Object.assign(client, this.#createTransport(index, client.plan, client.registry));
  }

  endpoint(client: number, server: number): Endpoint {
    return { address: `10.${client + 1}.0.${server + 1}:${PORT}` };
  }

  #createClient(index: number, plan: ClientPlan): RunningClient {
    const all = this.plan.servers.map((_, server) => this.endpoint(index, server));
    const registry = plan.balancer === undefined ? undefined : new PlannedRegistry(all);
    return { plan, index, registry, ...this.#createTransport(index, plan, registry) };
  }

  #createTransport(
    index: number,
    plan: ClientPlan,
    registry: PlannedRegistry | undefined,
  ): Pick<RunningClient, "transport" | "clients"> {
    const { product } = this;
    const { balancer, maxAttempts, hedgingDelayMs, protocol, options } = plan;
    const common = {
      ...options,
      protocol,
      httpVersion: "2" as const,
      retry: maxAttempts > 1 ? { maxAttempts, hedgingDelayMs } : undefined,
      onTransparentRetry: plan.server % 2 === 0 ? () => this.ledger.see("transparent retry") : undefined,
      onRetry: () => this.ledger.see("retry by policy"),
    };
    const transport: ClosableTransport =
      registry === undefined
        ? product.createTransport({ ...common, baseUrl: `http://${this.endpoint(index, plan.server).address}` })
        : product.createTransport({
            ...common,
            resolver: registry.resolver,
            balancer: balancer === "p2c" ? product.p2c() : product.roundRobin(),
            onEndpoint: ({ type }) => this.ledger.see(`endpoint event: ${type}`),
          });
    const known = product.createSimulationServiceClient(transport);
    const unknown = product.createSimulationServiceClient({
      call: (request) =>
        transport.call({
          ...request,
          method: { ...request.method, path: "/simulation.v1.None/Ask", service: "simulation.v1.None" },
        }),
    });
    return { transport, clients: { known, unknown } };
  }

  #call(operation: Operation): void {
    const client = this.clients[operation.client];
    if (client !== undefined) this.#calls.push(this.#make(client, operation));
  }

  #make(client: RunningClient, given: Operation): Promise<number> {
    const { plan, clients } = client;
    // Sub-protocol A has no streams of requests or responses.
    const operation =
      plan.protocol === "grpc" ? given : { ...given, kind: given.kind === "askAgain" ? given.kind : ("ask" as const) };
    const mayRepeat = operation.kind === "askAgain" ? plan.maxAttempts : 1;
    return this.#caller.call(clients, operation, mayRepeat);
  }

  /** Waits until all calls of the plan have ended: each has a deadline or is cancelled. */
  async #settled(): Promise<void> {
    const { operations, chaosMs, clock } = this.plan;
    const last = Math.max(
      0,
      ...operations.map(
        ({ at, timeoutMs = 0, cancelAfterMs = 0 }) => at + Math.max(timeoutMs, cancelAfterMs) - chaosMs,
      ),
    );
    const limit = last + 1_000 + 20 * clock.latenessMs;
    await Promise.race([Promise.all(this.#calls), this.world.sleep(limit)]);
    for (const [id, { settledAt, operation }] of this.ledger.entries) {
      if (settledAt === undefined)
        this.ledger.violate(
          "I3",
          `call ${id} (${operation.kind}, ${operation.behaviour}) has not ended, ${limit.toFixed(0)} ms after the last deadline`,
        );
    }
    await this.#within("all shutdowns", 60_000, Promise.all(this.#shutdowns));
  }

  /** Checks that each client recovers after everything has been healed (I14). */
  async #recover(): Promise<void> {
    // The clients of such a server take each other's connections.
    if (this.plan.servers.some(({ maxConnections }) => maxConnections !== undefined)) return;
    await Promise.all(this.clients.map((client) => this.#recoverClient(client)));
  }

  async #recoverClient(client: RunningClient): Promise<void> {
    const { world } = this;
    const start = world.now;
    const limit = this.#recoveryMs(client.plan);
    for (let successes = 0; successes < PROBES; ) {
      const [bytes, timeoutMs] = successes === PROBES - 1 ? LAST_PROBE : [100, PROBE_MS];
      const outcome = await this.#make(client, probe(this.#nextId++, client.index, bytes, timeoutMs));
      successes = outcome === 0 ? successes + 1 : 0;
      if (world.now - start > limit) {
        this.ledger.violate(
          "I14",
          `client${client.index + 1} has not recovered ${limit} ms after the end of all faults`,
        );
        return;
      }
      await world.sleep(PROBE_PAUSE_MS);
    }
  }

  /** The time in which a client must recover: its backoff, one attempt to connect, and dead connections to find out. */
  #recoveryMs({ options, balancer }: ClientPlan): number {
    const { maxBackoffMs = 120_000, connectTimeoutMs = 20_000, pingTimeoutMs = 5_000, maxConnections = 10 } = options;
    // Each wait is 1.6 times the last one, so the next one is no longer than the outage.
    const backoff = Math.min(Number(maxBackoffMs) * 1.2, this.plan.chaosMs + 5_000);
    const dead = (Number(pingTimeoutMs) + PROBE_MS + 1_000) * Math.min(2, Number(maxConnections));
    // Ejected endpoints return after 30 s and more.
    const ejected = balancer === undefined ? 0 : 40_000;
    return (
      backoff +
      Number(connectTimeoutMs) * 2 +
      dead * (balancer === undefined ? 1 : this.plan.servers.length) +
      ejected +
      5_000
    );
  }

  async #shutDown(): Promise<void> {
    const { world, ledger, network } = this;
    await Promise.all(this.clients.map((client) => this.#closeTransport(client)));
    await Promise.all(this.servers.map((_, index) => this.closeServer(index, GRACE_MS)));
    await world.sleep(REST_MS);
    ledger.checkEnds();
    for (const { client, server, id } of network.connections)
      ledger.violate("I9", `the connection ${client}#${id} to ${server} is still open after the end`);
    for (const timer of world.timers) ledger.violate("I9", `a timer is left after the end: ${timer.label}`);
  }

  #closeTransport({ transport, index }: RunningClient): Promise<void> {
    return this.#within(`client${index + 1}.close`, GRACE_MS + CLOSE_MS, transport.close({ graceMs: GRACE_MS }));
  }

  /** Checks that a shutdown settles in time (I8). */
  async #within(what: string, ms: number, promise: Promise<unknown>): Promise<void> {
    const slack = 20 * this.plan.clock.latenessMs + 1_000 * this.plan.clock.cpuMs;
    const limit = this.world.sleep(ms + slack).then(() => "late" as const);
    const start = this.world.now;
    if ((await Promise.race([promise, limit])) === "late") {
      this.ledger.violate("I8", `${what} has not settled after ${(this.world.now - start).toFixed(0)} ms`);
    }
  }

  #observe(connection: Connection): void {
    const { ledger, world } = this;
    const observer = new FrameObserver(connection, {
      report: (invariant, text) => ledger.violate(invariant, text),
      see: (what) => ledger.see(what),
      note: (text) => world.trace.add(world.now, "frame", text, 0),
      turn: () => world.events,
    });
    this.observers.set(connection, observer);
    checkConnections(this, connection.client, connection.server);
    this.#faults.onConnection(connection);
  }
}

export function serverName(index: number): string {
  return `server${index + 1}`;
}

function probe(id: number, client: number, bytes: number, timeoutMs: number): Operation {
  return {
    id,
    at: 0,
    client,
    kind: "ask",
    behaviour: "answer",
    delayMs: 0,
    code: 0,
    requestBytes: bytes,
    responseBytes: bytes,
    messages: 1,
    pauseMs: 0,
    timeoutMs,
    cancelAfterMs: undefined,
    readMessages: undefined,
    waitForReady: undefined,
  };
}
