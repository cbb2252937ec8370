/**
 * The registry of a simulation: its members, the connections of clients and servers to it, and its invariants: what clients
 * see is what the registry has (I12), no endpoint of it stays unused (I11), and connections are not made too often (I10).
 */
import type { Endpoint, Registry } from "triple-es/discovery";
import type { BalancedTransport } from "triple-es/node";
import { EtcdModel } from "./etcd-model.ts";
import { NacosModel } from "./nacos-model.ts";
import { MEMBER, type RegistryPlan } from "./plan.ts";
import { CONSUMER, contentOf, memberAddress, type RegistryModel } from "./registry-model.ts";
import { clientName, type RunningClient, type Scenario, serverName } from "./scenario.ts";
import { ZooKeeperModel } from "./zookeeper-model.ts";

/** Most connections of one host to all members within a second. */
const MAX_DIALS = 20;
/** Pause between two looks at the view of a client. */
const LOOK_MS = 250;
/** Time after which a connection counts as stable: its loss is followed by another one at once, without a backoff. */
const STABLE_MS = 6_000;
/** Time for which clients are cut off from the registry while its content changes. */
const AWAY_MS = 2_000;
/** Losses of connections to the registry, by their order with a change of its content; each is tried twice. */
const LOSSES = ["long before", "just before", "while it is read", "meanwhile"] as const;
/** The same, and new clients in place of all, whose first requests may be refused: they share the connections of Nacos. */
const NACOS_LOSSES = [...LOSSES, "new clients", "new clients"] as const;
/** Time within which new clients of a shared connection have begun, in milliseconds. */
const BEGIN_MS = 1_500;
/** Bytes of a registry within which a connection is cut while a client reads a change. */
const READ_BYTES = [50, 5_000] as const;
/** Time within which all clients see a change of a registry whose connections were lost once. */
const VISIBLE_MS = 20_000;

/** The registry of one transport. */
export interface WatchedRegistry extends Registry {
  /** Checks that an endpoint that the transport has removed is not in its last list. */
  onRemoved(address: string): void;
}

export class SimulatedRegistry {
  readonly model: RegistryModel;
  readonly members: number;
  readonly #scenario: Scenario;
  readonly #plan: RegistryPlan;
  /** The times of the last connections, by host. */
  readonly #dials = new Map<string, number[]>();
  /** The last list that each client has received. */
  readonly #lists: (readonly Endpoint[])[] = [];
  /** True if the registry has had no provider since the start of the clients. */
  #wasEmpty = false;

  constructor(scenario: Scenario, plan: RegistryPlan) {
    this.#scenario = scenario;
    this.#plan = plan;
    this.members = plan.members;
    const { network, product, world } = scenario;
    scenario.ledger.see(`registry: ${plan.kind}`);
    const onChange = (): void => this.#changed();
    const models = {
      etcd: () => new EtcdModel(product, world, onChange),
      nacos: () => {
        const model = new NacosModel(product, world, onChange);
        // A server that closes leaves a busy registry after its grace period only.
        return scenario.plan.profile === "rolling" ? Object.assign(model, { busy: 0 }) : model;
      },
      zookeeper: () => new ZooKeeperModel(network, onChange),
    };
    this.model = models[plan.kind]();
  }

  /** The time after which all clients know the content of a registry that has returned. */
  get recoveryMs(): number {
    // Sessions end, clients of lost data wait for twice the time, etcd's client finds a dead connection, resolvers have a backoff.
    return 3 * this.#plan.sessionTimeoutMs + 30_000 + Math.min(36_000, 2 * this.#scenario.plan.chaosMs);
  }

  async start(): Promise<void> {
    for (let member = 0; member < this.members; member++) await this.model.start(member);
  }

  /** Connects a process to the registry. `process` is the beginning of the addresses that it connects to. */
  connect(process: string | undefined): Registry {
    const { sessionTimeoutMs, kind } = this.#plan;
    const { product } = this.#scenario;
    const servers = Array.from(
      { length: this.members },
      (_, member) => `${process}.${memberAddress(member).split(".")[3]}:${this.model.port}`,
    );
    const common = { servers, application: CONSUMER, connectTimeoutMs: 2_000 };
    if (kind === "nacos") return product.nacos({ servers, application: CONSUMER });
    if (kind === "etcd") return product.etcd({ ...common, ttlMs: sessionTimeoutMs });
    return product.zookeeper({ ...common, sessionTimeoutMs });
  }

  /** Leads the addresses of a registry to the hosts that a client sees, and checks the lists of its resolvers. */
  watched(client: number, registry: Registry): WatchedRegistry {
    const route = (address: string): string => this.#route(client, address);
    let last: readonly Endpoint[] = [];
    return {
      ...registry,
      onRemoved: (address) => {
        if (last.some((one) => route(one.address) === address))
          this.#scenario.ledger.violate(
            "I12",
            `client${client + 1} has removed ${address}, which its last list contains`,
          );
      },
      resolver: (key, options = {}) => {
        const { open } = options;
        const routed = { ...options, open: open && ((address: string) => open(route(address))) };
        const resolver = registry.resolver(key, routed);
        const lists = async function* (this: SimulatedRegistry, context: Parameters<typeof resolver>[0]) {
          for await (const list of resolver(context)) {
            last = list;
            this.#checkList(client, list);
            yield list.map((endpoint) => ({ ...endpoint, address: route(endpoint.address) }));
          }
        };
        return lists.bind(this);
      },
    };
  }

  onDial(host: string, server: string): void {
    if (!server.startsWith("registry")) return;
    const { world, ledger } = this.#scenario;
    const recent = [...(this.#dials.get(host) ?? []), world.now].filter((at) => at > world.now - 1_000);
    this.#dials.set(host, recent);
    if (recent.length > MAX_DIALS) {
      ledger.violate("I10", `${host} has connected to the registry ${recent.length} times within a second`);
    }
  }

  /** Checks that a server leaves the registry before it stops to accept connections, if nothing delays that. */
  onUnlistened(server: string): void {
    const { plan, ledger } = this.#scenario;
    const { providers, instances } = contentOf(this.model);
    const isListed = [...providers, ...instances].some((address) => `server${address.split(/[.:]/)[3]}` === server);
    if (plan.profile === "rolling" && isListed) {
      ledger.violate("I8", `${server} does not accept connections any more, and the registry still has it`);
    }
  }

  /**
   * Waits until each client sees what the registry has, and uses it; that is one entry for each provider (I11, I12). Then the
   * connections to the registry are lost and its content changes, several times.
   */
  async checkViews(): Promise<void> {
    const { clients, world } = this.#scenario;
    await Promise.all(clients.map((client) => this.#checkClient(client, this.recoveryMs + 40_000)));
    const usual = this.#plan.kind === "nacos" ? NACOS_LOSSES : LOSSES;
    const losses = this.#plan.isMalformed ? [...usual, "malformed" as const] : usual;
    for (const [index, loss] of [...losses, ...losses].entries()) {
      await world.sleep(STABLE_MS);
      world.note("change", loss);
      await this.#changeWith(loss, 101 + 10 * index);
      await Promise.all(clients.map((client) => this.#checkClient(client, VISIBLE_MS)));
    }
  }

  async #changeWith(loss: (typeof NACOS_LOSSES)[number] | "malformed", weight: number): Promise<void> {
    const { clients, plan, world, network } = this.#scenario;
    const members = Array.from({ length: this.members }, (_, member) => serverName(MEMBER + member));
    const change = (): void => {
      for (const server of plan.servers.keys()) this.#scenario.updateServer(server, weight + server);
    };
    const hold = (held: boolean): void => {
      for (const { index } of clients)
        for (const member of members) network.hold(clientName(index), member, [held, held]);
    };
    const lose = (): void => {
      for (const member of members) network.resetAll(member);
    };
    const random = world.random("changes");
    if (loss === "new clients") {
      const isCalm = plan.profile === "rolling" || plan.profile === "faultless";
      for (const { index } of clients) this.#scenario.restartClient(index, 0);
      // The new clients subscribe while the last ones still do, or after their end.
      await world.sleep(random.pick([0, BEGIN_MS]));
      this.model.malform(isCalm ? 0 : random.int(0, 4));
      const probes = clients.map((client) => this.#scenario.probe(client));
      await world.sleep(random.between(0, BEGIN_MS));
      this.model.malform(0);
      change();
      await Promise.all(probes);
      return;
    }
    if (loss === "malformed") {
      change();
      await world.sleep(plan.link.latencyMs * random.between(0, 8));
      this.model.malform(random.int(1, 4));
      await world.sleep(STABLE_MS);
      this.model.malform(0);
      return;
    }
    if (loss === "while it is read") {
      const read = [...network.connections].filter(
        ({ client, server }) => client.startsWith("client") && members.includes(server),
      );
      for (const { downstream } of read) {
        downstream.cut = { kind: "reset", afterBytes: downstream.arrived + random.log(...READ_BYTES), ms: 0 };
      }
      change();
      await world.sleep(STABLE_MS);
      for (const { downstream } of read) downstream.cut = undefined;
      return;
    }
    if (loss === "meanwhile") hold(true);
    lose();
    await world.sleep(loss === "long before" ? STABLE_MS : plan.link.latencyMs * random.between(0, 12));
    change();
    if (loss !== "meanwhile") return;
    await world.sleep(AWAY_MS);
    this.model.compact();
    hold(false);
  }

  /** Checks that closed providers and consumers have no entries. */
  checkEmpty(): void {
    const { providers, instances, consumers } = contentOf(this.model);
    const left = [...providers, ...instances];
    if (left.length > 0) this.#scenario.ledger.violate("I12", `the registry still has ${left} after all have closed`);
    // Clients that were cut off before their end could not tell the registry.
    if (consumers > 0 && this.#scenario.plan.end !== "cut off")
      this.#scenario.ledger.violate("I12", `the registry has ${consumers} consumers after all have closed`);
  }

  async #checkClient(client: RunningClient, limitMs: number): Promise<void> {
    const { world, ledger, plan } = this.#scenario;
    const all = plan.servers.map((_, index) => `server${index + 1}`);
    const unused = new Set(all);
    const until = world.now + limitMs;
    for (;;) {
      const problem = this.#problemOf(client);
      if (problem === undefined && unused.size === 0) return;
      if (world.now > until) {
        if (problem !== undefined) ledger.violate("I12", problem);
        else ledger.violate("I11", `client${client.index + 1} does not use ${[...unused]}, which its registry lists`);
        return;
      }
      const [outcome, server] = await this.#scenario.probe(client);
      if (outcome === 0) unused.delete(server);
      await world.sleep(LOOK_MS);
    }
  }

  /** Explains how the registry differs from its providers, or a client from the registry. */
  #problemOf({ transport, index, states }: RunningClient): string | undefined {
    const expected = this.#scenario.plan.servers.map((_, server) => this.#scenario.endpoint(-1, server).address);
    const { providers, instances, consumers } = contentOf(this.model);
    const running = new Set(this.#scenario.clients.map(({ registry }) => registry)).size;
    if (consumers !== running) return `the registry has ${consumers} consumers, in place of ${running}`;
    for (const [level, found, isWritten] of [
      ["interface", providers, this.#plan.mode !== "instance"],
      ["application", instances, this.#plan.mode !== "interface"],
    ] as const) {
      if (isWritten && String(found) !== String(expected))
        return `the registry has ${found.join(", ") || "nothing"} at the ${level} level, in place of ${expected.join(", ")}`;
    }
    const name = `client${index + 1}`;
    const weighted = expected.map((address, server) => `${address} (${this.#scenario.weights[server]})`);
    const received = this.#lists[index]?.map(({ address, weight }) => `${address} (${weight})`).sort();
    if (String(received) !== String(weighted)) return `${name} has received ${received}, in place of ${weighted}`;
    const endpoints = (transport as BalancedTransport).endpoints();
    const listed = endpoints.filter((one) => one.listed);
    const used = listed.map(({ address }) => address.replace(`10.${index + 1}.`, "10.0.")).sort();
    if (String(used) !== String(expected)) return `${name} uses ${used}, in place of ${expected}`;
    const silent = endpoints.find(({ address, state, lastError }) => {
      return state === "ready" && (lastError !== undefined || states.get(address) !== state);
    });
    if (silent === undefined) return undefined;
    const { address, lastError } = silent;
    return `${name} has reported that ${address} is ${states.get(address)}, but it is ready (error: ${lastError?.message})`;
  }

  #route(client: number, address: string): string {
    return address.replace(/^10\.0\./, `10.${client + 1}.`);
  }

  #checkList(client: number, list: readonly Endpoint[]): void {
    const { ledger } = this.#scenario;
    this.#lists[client] = list;
    ledger.see(list.length === 0 ? "empty list of a registry" : "list of a registry");
    if (list.length > 0 || this.#wasEmpty) return;
    ledger.violate("I12", `client${client + 1} received an empty list from a registry that was never empty`);
  }

  #changed(): void {
    if (this.#scenario.clients.length === 0) return;
    const { providers, instances } = contentOf(this.model);
    const { mode } = this.#plan;
    if (mode !== "instance" && providers.length === 0) this.#wasEmpty = true;
    if (mode !== "interface" && instances.length === 0) this.#wasEmpty = true;
  }
}
