/**
 * Applies the faults of a plan, and heals them at the end of the chaos.
 */
import type { Connection } from "./network.ts";
import { type Fault, MEMBER } from "./plan.ts";
import { clientName, type Scenario, serverName } from "./scenario.ts";

type CutFault = Extract<Fault, { kind: "cut" }>;

export class FaultInjector {
  readonly #scenario: Scenario;
  /** Cuts that wait for a connection of their client and server. */
  #cuts: CutFault[] = [];
  /** The partitions that a new connection ends. */
  readonly #untilDial = new Set<string>();
  #isHealed = false;
  /** Servers that are away, with the promise of their end. */
  readonly #away = new Map<number, Promise<void>>();

  constructor(scenario: Scenario) {
    this.#scenario = scenario;
  }

  apply(fault: Fault): void {
    const { world, network, ledger } = this.#scenario;
    if (this.#isHealed) return;
    const { kind, at, ...rest } = fault;
    world.note("fault", kind, JSON.stringify(rest));
    ledger.see(`fault: ${kind}`);
    ledger.fail();
    if (kind === "cut") this.#cut(fault);
    else if (kind === "reset all") network.resetAll(serverName(fault.server));
    else if (kind === "partition") {
      const link = [clientName(fault.client), serverName(fault.server)] as const;
      network.hold(...link, fault.held);
      if (fault.untilDial) this.#untilDial.add(link.join());
      world.after(fault.ms, () => network.hold(...link, [false, false]));
    } else if (kind === "dial") {
      network.setDialFault(serverName(fault.server), fault.fault);
      world.after(fault.ms, () => network.setDialFault(serverName(fault.server), undefined));
    } else if (kind === "crash")
      this.#takeAway(fault.server, fault.ms, () => this.#crash(fault.server, fault.isSilent));
    else if (kind === "restart") {
      this.#takeAway(fault.server, fault.ms, () => this.#scenario.closeServer(fault.server, fault.graceMs));
    } else if (kind === "close client") this.#scenario.restartClient(fault.client, fault.graceMs);
    else if (kind === "list") this.#publish(fault);
    else if (kind === "health") {
      this.#scenario.setHealth(fault.server, "not_serving");
      world.after(fault.ms, () => this.#isHealed || this.#scenario.setHealth(fault.server, "serving"));
    } else if (kind === "update") this.#scenario.updateServer(fault.server, fault.weight);
    else if (kind === "block") world.block(fault.ms);
    else if (kind === "jump") world.jump(fault.ms);
    else if (kind === "lose data") this.#loseData(fault.ms);
    else if (kind === "compact") this.#scenario.registry?.model.compact();
    else if (kind === "expire") this.#scenario.registry?.model.expire();
    else this.#scenario.registry?.model.malform(fault.replies);
  }

  /** Ends all faults. Resolves when all servers listen again. */
  async heal(): Promise<void> {
    const { network, plan, clients, world } = this.#scenario;
    this.#isHealed = true;
    this.#cuts = [];
    world.note("heal", "all faults");
    network.heal();
    for (const server of plan.servers.keys()) this.#scenario.setHealth(server, "serving");
    this.#scenario.registry?.model.malform(0);
    for (const [index, { list }] of clients.entries()) {
      list?.heal();
      list?.publish(plan.servers.map((_, server) => this.#scenario.endpoint(index, server)));
    }
    for (const { upstream, downstream } of network.connections) {
      upstream.cut = undefined;
      downstream.cut = undefined;
    }
    await Promise.all(this.#away.values());
  }

  onDial(client: string, server: string): void {
    if (this.#untilDial.delete([client, server].join())) this.#scenario.network.hold(client, server, [false, false]);
  }

  onConnection(connection: Connection): void {
    const index = this.#cuts.findIndex((cut) => isFor(cut, connection));
    const [cut] = index < 0 ? [] : this.#cuts.splice(index, 1);
    if (cut !== undefined) attach(cut, connection);
  }

  #cut(fault: CutFault): void {
    const { network } = this.#scenario;
    const connection = [...network.connections].find(
      (one) => isFor(fault, one) && one.upstream.cut === undefined && one.downstream.cut === undefined,
    );
    if (connection === undefined) this.#cuts.push(fault);
    else attach(fault, connection);
  }

  #publish(fault: Extract<Fault, { kind: "list" }>): void {
    const { clients } = this.#scenario;
    const list = fault.servers.map((server) => this.#scenario.endpoint(fault.client, server));
    clients[fault.client]?.list?.publish(fault.isFailure ? undefined : list);
  }

  /** Takes a server away, and starts it again at the same address after `ms`. */
  #takeAway(server: number, ms: number, leave: () => Promise<void>): void {
    if (this.#away.has(server)) return;
    const { world } = this.#scenario;
    const back = async (): Promise<void> => {
      await Promise.all([leave(), world.sleep(ms)]);
      await this.#scenario.startHost(server);
      this.#away.delete(server);
    };
    this.#away.set(server, back());
  }

  async #crash(server: number, isSilent: boolean): Promise<void> {
    const { network, registry } = this.#scenario;
    network.crash(serverName(server), isSilent, this.#scenario.process(server));
    // The next process starts whether or not what is left of this one has ended.
    if (server < MEMBER) this.#scenario.closeCrashed(server);
    else await registry?.model.stop(server - MEMBER);
  }

  #loseData(ms: number): void {
    const { registry } = this.#scenario;
    for (let member = 0; member < (registry?.members ?? 0); member++) {
      this.#takeAway(MEMBER + member, ms, () => this.#crash(MEMBER + member, false));
    }
    registry?.model.loseData();
  }
}

function isFor({ client, server }: CutFault, connection: Connection): boolean {
  return connection.client === clientName(client) && connection.server === serverName(server);
}

function attach({ upstream, cut }: CutFault, connection: Connection): void {
  const pipe = upstream ? connection.upstream : connection.downstream;
  pipe.cut = { ...cut, afterBytes: cut.afterBytes + pipe.arrived };
}
