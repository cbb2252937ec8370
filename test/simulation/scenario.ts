/**
 * Runs a plan: servers, clients, calls and faults, then a phase without faults in which everything must recover, then the
 * shutdown of all, after which nothing may be left.
 */
import type { CallRequest, Interceptor, RetryEvent, TransparentRetryEvent } from "triple-es";
import type { Endpoint, Registration, Registry, TargetEvent } from "triple-es/discovery";
import type { Health, HealthStatus, LoadReport } from "triple-es/health";
import type { BalancedTransport, ClosableTransport, Server } from "triple-es/node";
import { checkHealth, checkRepeated, checkSilentAddress, checkUsed } from "./balance-checks.ts";
import type { Bundle, Product } from "./bundle.ts";
import { Caller, type Clients } from "./caller.ts";
import { DnsModel } from "./dns-model.ts";
import { bounded, checkSources, type EndpointSource, SOURCE_MS } from "./endpoint-source.ts";
import { FaultInjector } from "./faults.ts";
import { FrameObserver } from "./frame-observer.ts";
import { KubernetesModel } from "./kubernetes-model.ts";
import type { Ledger } from "./ledger.ts";
import { MessageObserver } from "./message-observer.ts";
import { type Connection, Network } from "./network.ts";
import { type ClientPlan, MEMBER, type Operation, type Plan, PROVIDER, type ServerPlan } from "./plan.ts";
import { checkConnections, checkLimit, checkQuiet, checkReuse, checkUnread } from "./quiet-checks.ts";
import type { Random } from "./random.ts";
import { SimulatedRegistry } from "./registry.ts";
import { APPLICATION } from "./registry-model.ts";
import { PlannedRegistry } from "./resolver.ts";
import { createHandler } from "./service.ts";
import type { World } from "./world.ts";

const PORT = 50_051;
/** The deadline of calls of the recovery phase, and the pause between them. */
const PROBE_MS = 3_000;
const PROBE_PAUSE_MS = 250;
/** The size and the deadline of the last call: more than a window, over the slowest link. */
export const LAST_PROBE = [400_000, 30_000] as const;
/** Successes in a row after which a client has recovered. */
const PROBES = 5;
/** Time in which a server must close beyond the grace period, and a transport, which does not wait for its peers then. */
const CLOSE_MS = 1_500;
const LEAVE_MS = 500;
/** Grace period of all shutdowns that the plan does not time. */
const GRACE_MS = 2_000;
/** Time after which no connection of a closed transport may be left. */
const LEFT_MS = 2_000;
/** Time after which nothing of closed clients and servers may be left. */
const REST_MS = 35_000;

/** Pause between two looks at a registry whose first answers are older than its entries. */
const STALE_MS = 10;
/** Time in which the kernel finds a dead connection without traffic: the client sets the first second of it. */
const KEEPALIVE_MS = 12_000;
/** The time after which a connection is found out that died while its server did not serve. */
const UNSERVED_MS = 340_000;

/** Time in which the connection to a registry must close: a request that runs ends, and the registry confirms the end. */
const REGISTRY_CLOSE_MS = 12_000;

/** A server, and its connection to the registry. */
interface RunningServer {
  readonly server: Server;
  readonly health: Health | undefined;
  readonly registry: Registry | undefined;
  readonly registration: Registration | undefined;
}

export interface RunningClient {
  readonly plan: ClientPlan;
  readonly index: number;
  readonly list: EndpointSource | undefined;
  readonly registry: Registry | undefined;
  transport: ClosableTransport;
  /** The last reported state of each endpoint, and the time of the last report. */
  states: ReadonlyMap<string, string>;
  changedAt: number;
  clients: Clients;
}

export class Scenario {
  readonly network: Network;
  readonly product: Product;
  readonly plan: Plan;
  readonly world: World;
  readonly ledger: Ledger;
  readonly registry: SimulatedRegistry | undefined;
  readonly #servers: (RunningServer | undefined)[] = [];
  /** The number of the process of each server. */
  readonly #processes: number[] = [];
  readonly clients: RunningClient[] = [];
  readonly observers: Map<Connection, FrameObserver> = new Map();
  /** The observers of connections over HTTP/1.1. */
  readonly messages: Map<Connection, MessageObserver> = new Map();
  readonly #dns: DnsModel;
  readonly #kubernetes: KubernetesModel;
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
      onDial: (client, server) => {
        this.#faults.onDial(client, server);
        this.registry?.onDial(client, server);
      },
      onUnlistened: (server) => this.registry?.onUnlistened(server),
      onConnection: (connection) => this.#observe(connection),
      onClosed: (connection) => {
        this.observers.delete(connection);
        this.messages.delete(connection);
      },
    });
    this.#faults = new FaultInjector(this);
    const see = (what: string): void => ledger.see(what);
    this.#dns = new DnsModel(world, see, () => ledger.fail());
    this.#kubernetes = new KubernetesModel(world, see, () => ledger.fail());
    const modules = { dns: this.#dns.module(), request: this.#kubernetes.request };
    this.product = bundle(world, this.network, modules);
    this.#caller = new Caller(this.product, world, ledger);
    ledger.onRepeated = (entry) => checkRepeated(this, entry);
    this.registry = plan.registry && new SimulatedRegistry(this, plan.registry);
  }

  async run(): Promise<void> {
    const { world, plan } = this;
    await this.registry?.start();
    for (const index of plan.servers.keys()) await this.startHost(index);
    await Promise.all(this.#servers.map((one) => one?.registration?.ready));
    while (this.registry?.model.isStale) await world.sleep(STALE_MS);
    for (const [index, client] of plan.clients.entries()) this.clients.push(this.#createClient(index, client));
    const start = world.now;
    for (const operation of plan.operations) world.at(start + operation.at, () => this.#call(operation));
    for (const fault of plan.faults) world.at(start + fault.at, () => this.#faults.apply(fault));
    await world.sleep(plan.chaosMs);
    await this.#faults.heal();
    await this.#settled();
    await this.#recover();
    await checkSilentAddress(this);
    await checkHealth(this);
    await this.registry?.checkViews();
    await checkSources(this);
    await checkUsed(this);
    await checkUnread(this);
    await checkQuiet(this);
    await this.#shutDown();
  }

  /** Starts a server, or a member of the registry. */
  async startHost(index: number): Promise<void> {
    if (index >= MEMBER) return this.registry?.model.start(index - MEMBER);
    const { product, world } = this;
    const { maxConnections, limits, shedLoad, hasHealth, capacity } = this.plan.servers[index] as ServerPlan;
    const name = serverName(index);
    const server = product.createServer({
      maxConnections,
      limits,
      shedLoad,
      onError: (error: unknown) => this.ledger.violate("I13", `${name} reports ${error}`),
    });
    const health = hasHealth ? product.addHealth(server) : undefined;
    const interceptors =
      capacity === undefined ? [] : [this.#reportLoad(server, capacity, world.random(`load/${name}`))];
    server.add(product.SimulationServiceDef, createHandler(product, world, this.ledger, name), { interceptors });
    this.weights[index] = 100;
    this.#processes[index] = (this.#processes[index] ?? 0) + 1;
    await server.listen({ host: `10.0.0.${index + 1}`, port: PORT });
    const registry = this.registry?.connect(this.process(index));
    this.#servers[index] = { server, health, registry, registration: registry && this.#register(server, registry) };
    this.world.note("listening", name);
  }

  /** Returns an interceptor that reports the load of a server: another share of its capacity each time. */
  #reportLoad(server: Server, capacity: number, random: Random): Interceptor {
    const report = (request: CallRequest | undefined): LoadReport => {
      this.ledger.see(request === undefined ? "load report out of band" : "load report of a call");
      const applicationUtilization = random.between(0.1, 1);
      return { applicationUtilization, rpsFractional: capacity * applicationUtilization, eps: 0 };
    };
    return this.product.addLoadReports(server, { report, minIntervalMs: 500 });
  }

  #register(server: Server, registry: Registry): Registration {
    return this.product.register(server, registry, {
      application: APPLICATION,
      warmUp: false,
      mode: this.plan.registry?.mode,
      onRegistration: ({ type }) => this.ledger.see(`registration: ${type}`),
    });
  }

  /** The beginning of the addresses that the process of a server connects to; `undefined` for a member of the registry. */
  process(index: number): string | undefined {
    return index >= MEMBER ? undefined : `10.${PROVIDER + index + 1}.${this.#processes[index]}`;
  }

  /** The weight of each server. */
  readonly weights: number[] = [];

  updateServer(index: number, weight: number): void {
    if (this.#servers[index] === undefined) return;
    this.weights[index] = weight;
    // It rejects if the server closes before.
    this.#servers[index]?.registration?.update({ weight }).catch(() => {});
  }

  /** Sets what a server reports to clients that watch its health. */
  setHealth(index: number, status: HealthStatus): void {
    this.#servers[index]?.health?.set("", status);
  }

  /** Closes a server, and checks that it takes no longer than the grace period allows. */
  async closeServer(index: number, graceMs: number): Promise<void> {
    const running = this.#servers[index];
    if (running === undefined) return;
    this.#servers[index] = undefined;
    await this.#within(`${serverName(index)}.close`, graceMs + CLOSE_MS, running.server.close({ graceMs }));
    await this.#closeRegistry(serverName(index), running.registry);
  }

  /** Closes a server that has crashed: nothing that it still does arrives. */
  closeCrashed(index: number): void {
    this.#shutdowns.push(this.closeServer(index, 0));
  }

  async #closeRegistry(host: string, registry: Registry | undefined): Promise<void> {
    if (registry !== undefined) await this.#within(`the registry of ${host}`, REGISTRY_CLOSE_MS, registry.close());
  }

  /** Closes the transport of a client and creates another one. */
  restartClient(index: number, graceMs: number): void {
    const client = this.clients[index];
    if (client === undefined) return;
    this.#shutdowns.push(this.#closeTransport(client, graceMs));
    Object.assign(client, this.#createTransport(index, client.plan, client.list, client.registry));
  }

  /** Makes a call that belongs to no plan. Returns its outcome, and the server that has answered. */
  async probe(client: RunningClient, bytes = 100, timeoutMs = PROBE_MS): Promise<[outcome: number, server: string]> {
    const id = this.#nextId++;
    const outcome = await this.#make(client, probe(id, client.index, bytes, timeoutMs));
    return [outcome, this.ledger.entries.get(String(id))?.executions.at(-1) ?? ""];
  }

  /** Opens a stream whose requests stay unread, and cancels it after a time. */
  openUnread(client: RunningClient, bytes: number, cancelAfterMs: number): Promise<number> {
    const common = probe(this.#nextId++, client.index, bytes, 0);
    return this.#make(client, { ...common, kind: "talk", behaviour: "wait", timeoutMs: undefined, cancelAfterMs });
  }

  endpoint(client: number, server: number): Endpoint {
    return { address: `10.${client + 1}.0.${server + 1}:${PORT}`, zone: zoneOf(server) };
  }

  #createClient(index: number, plan: ClientPlan): RunningClient {
    const all = this.plan.servers.map((_, server) => this.endpoint(index, server));
    const isShared = this.plan.registry?.isShared === true && index > 0;
    const registry = isShared ? this.clients[0]?.registry : this.registry?.connect(`10.${index + 1}.0`);
    const list = plan.balancer === undefined || registry !== undefined ? undefined : this.#createSource(index, all);
    return { plan, index, list, registry, ...this.#createTransport(index, plan, list, registry) };
  }

  #createSource(index: number, all: readonly Endpoint[]): EndpointSource {
    const { source } = this.plan;
    if (source === undefined) return new PlannedRegistry(all);
    const { product } = this;
    return source.kind === "slices"
      ? this.#kubernetes.add(clientName(index), source, product, all)
      : this.#dns.add(clientName(index), source, product, all);
  }

  #createTransport(
    index: number,
    plan: ClientPlan,
    list: EndpointSource | undefined,
    registry: Registry | undefined,
  ): Pick<RunningClient, "transport" | "states" | "changedAt" | "clients"> {
    const { product } = this;
    const states = new Map<string, string>();
    const watched = registry && this.registry?.watched(index, registry);
    const { balancer, maxAttempts, hedgingDelayMs, protocol, codec, options, zone, loads } = plan;
    const common = {
      ...options,
      protocol,
      httpVersion: plan.httpVersion ?? ("2" as const),
      codec,
      retry: maxAttempts > 1 ? { maxAttempts, hedgingDelayMs } : undefined,
      onTransparentRetry:
        plan.server % 2 === 0 && hedgingDelayMs === undefined
          ? (event: TransparentRetryEvent) => this.#caller.onTransparentRetry(event)
          : undefined,
      onRetry: ({ context }: RetryEvent) => this.#caller.onAttempt(context),
    };
    const balanced = {
      ...common,
      balancer: product[balancer ?? "roundRobin"](loads),
      zone,
      serviceConfig: plan.watchesHealth ? { healthCheckConfig: { serviceName: "" } } : undefined,
      onEndpoint: (event: TargetEvent) => {
        this.ledger.see(`endpoint event: ${event.type}`);
        if ("error" in event && event.error?.message.includes("has the status"))
          this.ledger.see("endpoint that does not serve");
        const client = this.clients[index];
        if (client !== undefined) client.changedAt = this.world.now;
        if (event.type === "removed") {
          states.delete(event.address);
          this.#release(event.address);
          watched?.onRemoved(event.address);
        }
        if (event.type !== "endpoint") return;
        states.set(event.address, event.state);
        this.ledger.see(`endpoint event: ${event.state}`);
      },
    };
    const transport: ClosableTransport | BalancedTransport =
      watched !== undefined
        ? product.createTransport({ ...balanced, registry: watched })
        : list !== undefined
          ? product.createTransport({ ...balanced, resolver: bounded(this, list.resolver) })
          : product.createTransport({ ...common, baseUrl: `http://${this.endpoint(index, plan.server).address}` });
    const known = product.createSimulationServiceClient(transport);
    const unknown = product.createSimulationServiceClient({
      call: (request) =>
        transport.call({
          ...request,
          method: { ...request.method, path: "/simulation.v1.None/Ask", service: "simulation.v1.None" },
        }),
    });
    return { transport, states, changedAt: this.world.now, clients: { known, unknown } };
  }

  /** Marks the connections of a client to an endpoint that it has removed. */
  #release(address: string): void {
    for (const [{ socket }, observer] of this.observers) {
      if (`${socket.remoteAddress}:${socket.remotePort}` === address) observer.isReleased = true;
    }
  }

  #call(operation: Operation): void {
    const client = this.clients[operation.client];
    if (client !== undefined) this.#calls.push(this.#make(client, operation));
  }

  #make(client: RunningClient, given: Operation): Promise<number> {
    const { plan, clients } = client;
    // Sub-protocol A has no streams of requests.
    if (plan.protocol === "http-rpc" && plan.readsEvents && given.kind === "download") this.ledger.see("event stream");
    const isSpoken =
      plan.protocol === "grpc" || given.kind === "askAgain" || (plan.readsEvents && given.kind === "download");
    const operation = isSpoken ? given : { ...given, kind: "ask" as const };
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
    // Calls begin late after a block.
    const limit = last + 1_000 + 20 * clock.latenessMs + this.world.blockedMs;
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
      const [outcome] = await this.probe(client, bytes, timeoutMs);
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
  #recoveryMs({ options, balancer, httpVersion, watchesHealth }: ClientPlan): number {
    const { maxBackoffMs = 120_000, connectTimeoutMs = 20_000, pingTimeoutMs = 5_000, maxConnections = 10 } = options;
    // Each wait is 1.6 times the last one, so the next one is no longer than the outage.
    const backoff = Math.min(Number(maxBackoffMs) * 1.2, this.plan.chaosMs + 5_000);
    const verifyMs = httpVersion === "1.1" ? KEEPALIVE_MS : Number(pingTimeoutMs) + 1_000;
    const dead = (verifyMs + PROBE_MS) * Math.min(2, Number(maxConnections));
    // Ejected endpoints return after 30 s and more.
    const ejected = balancer === undefined ? 0 : 40_000;
    return (
      backoff +
      Number(connectTimeoutMs) * 2 +
      dead * (balancer === undefined ? 1 : this.plan.servers.length) +
      ejected +
      (watchesHealth ? UNSERVED_MS : 0) +
      (this.registry?.recoveryMs ?? 0) +
      (this.plan.source === undefined ? 0 : SOURCE_MS) +
      5_000
    );
  }

  async #shutDown(): Promise<void> {
    const { world, ledger, network, plan } = this;
    const closeServers = (): Promise<unknown> =>
      Promise.all(this.#servers.map((_, index) => this.closeServer(index, GRACE_MS)));
    if (plan.end === "servers first") await closeServers();
    const hold = (held: boolean): void => {
      for (const client of this.clients.keys())
        for (const server of plan.servers.keys()) network.hold(clientName(client), serverName(server), [held, held]);
    };
    const isCutOff = plan.end === "cut off";
    if (isCutOff) hold(true);
    await Promise.all(this.clients.map((client) => this.#closeTransport(client, isCutOff ? 0 : GRACE_MS)));
    await Promise.all(this.clients.map(({ index, registry }) => this.#closeRegistry(clientName(index), registry)));
    await world.sleep(LEFT_MS);
    for (const { client, server, socket } of network.connections) {
      if (client.startsWith("client") && !socket.destroyed)
        ledger.violate("I9", `${socket.label} to ${server} is still open after its transport has closed`);
    }
    hold(false);
    await closeServers();
    this.registry?.checkEmpty();
    await this.registry?.model.close();
    await world.sleep(REST_MS);
    ledger.checkEnds();
    for (const { client, server, id } of network.connections)
      ledger.violate("I9", `the connection ${client}#${id} to ${server} is still open after the end`);
    for (const timer of world.timers) ledger.violate("I9", `a timer is left after the end: ${timer.label}`);
  }

  #closeTransport({ transport, index }: RunningClient, graceMs: number): Promise<void> {
    return this.#within(`client${index + 1}.close`, graceMs + LEAVE_MS, transport.close({ graceMs }));
  }

  /** Checks that a shutdown settles in time (I8). */
  async #within(what: string, ms: number, promise: Promise<unknown>): Promise<void> {
    const slack = 20 * this.plan.clock.latenessMs + 1_000 * this.plan.clock.cpuMs;
    const { world } = this;
    const start = world.now;
    const late = async (): Promise<"late"> => {
      for (let left = ms + slack; left > 0; ) {
        const { blockedMs } = world;
        await world.sleep(left);
        // The shutdown has stood still as well.
        left = world.blockedMs - blockedMs;
      }
      return "late";
    };
    if ((await Promise.race([promise, late()])) === "late") {
      this.ledger.violate("I8", `${what} has not settled after ${(world.now - start).toFixed(0)} ms`);
    }
  }

  #observe(connection: Connection): void {
    const { ledger, world } = this;
    this.#faults.onConnection(connection);
    if (connection.server.startsWith("registry")) return;
    const watcher = {
      report: (invariant: string, text: string) => ledger.violate(invariant, text),
      see: (what: string) => ledger.see(what),
      onOpened: () => checkLimit(this, connection),
    };
    if (clientOf(this.plan, connection)?.httpVersion === "1.1") {
      const messages = new MessageObserver(connection, {
        ...watcher,
        note: (text) => world.trace.add(world.now, "message", text, 0),
        now: () => world.now,
        onFirst: () => checkReuse(this, connection),
        onRequest: (call, isReused) => ledger.request(call, isReused),
      });
      this.messages.set(connection, messages);
      return;
    }
    const observer = new FrameObserver(connection, {
      ...watcher,
      note: (text) => world.trace.add(world.now, "frame", text, 0),
      turn: () => world.events,
    });
    this.observers.set(connection, observer);
    checkConnections(this, connection.client, connection.server);
  }
}

export function serverName(index: number): string {
  return index >= MEMBER ? `registry${index - MEMBER + 1}` : `server${index + 1}`;
}

export function clientName(index: number): string {
  return index >= PROVIDER ? `server${index - PROVIDER + 1}` : `client${index + 1}`;
}

export function zoneOf(server: number): "a" | "b" {
  return server % 2 === 0 ? "a" : "b";
}

/** The plan of the client of a connection. */
function clientOf({ clients }: Plan, { client }: Connection): ClientPlan | undefined {
  return clients[Number(/^client(\d+)$/.exec(client)?.[1]) - 1];
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
