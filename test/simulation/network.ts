/**
 * The simulated network: hosts, listeners, the links between hosts, and the substitute of `node:net`.
 *
 * The address `10.FROM.PROCESS.TO` leads from a host to another, so that a connection knows both of its hosts: client 1 has the
 * number 1 there, server 1 has 101 where it connects and 1 where it listens, and member 1 of a registry has 201. The processes
 * that run on a host one after the other have different numbers, because a program goes on after its host has crashed.
 */
import { EventEmitter } from "node:events";
import { type Link, type LinkOptions, Pipe } from "./pipe.ts";
import { SimulatedSocket, systemError } from "./socket.ts";
import type { World } from "./world.ts";

/** Reactions of a server to connections, other than accepting them. */
export type DialFault = "refuse" | "lose" | "accept and close" | "accept and ignore";

/** An open connection. */
export interface Connection {
  readonly id: number;
  /** The time at which the client began to connect. */
  readonly dialedAt: number;
  readonly client: string;
  readonly server: string;
  readonly socket: SimulatedSocket;
  readonly accepted: SimulatedSocket;
  readonly upstream: Pipe;
  readonly downstream: Pipe;
}

/** Receives the events of connections. */
export interface NetworkObserver {
  onDial(client: string, server: string): void;
  /** Called when a program has ended its listener. */
  onUnlistened(server: string): void;
  onConnection(connection: Connection): void;
  onClosed(connection: Connection): void;
}

export class SimulatedServer extends EventEmitter {
  maxConnections: number | undefined;
  readonly sockets: Set<SimulatedSocket> = new Set();
  readonly #network: Network;
  #address: { readonly address: string; readonly port: number; readonly family: string } | undefined;
  #isClosing = false;

  constructor(network: Network) {
    super();
    this.#network = network;
  }

  listen({ host = "10.1.0.1", port = 0 }: { host?: string; port?: number }, onListening?: () => void): this {
    if (onListening !== undefined) this.once("listening", onListening);
    const problem = this.#network.listen(host, port, this);
    this.#network.world.after(0, () => {
      if (problem !== undefined) return void this.emit("error", problem);
      this.#address = { address: host, port, family: "IPv4" };
      this.emit("listening");
    });
    return this;
  }

  address(): object | null {
    return this.#address ?? null;
  }

  close(onClose?: (error?: Error) => void): this {
    if (onClose !== undefined) this.once("close", () => onClose());
    if (this.#address !== undefined) this.#network.unlisten(this.#address.address, this);
    this.#isClosing = true;
    this.#closeIfIdle();
    return this;
  }

  forget(socket: SimulatedSocket): void {
    this.sockets.delete(socket);
    this.#closeIfIdle();
  }

  #closeIfIdle(): void {
    if (!this.#isClosing || this.sockets.size > 0) return;
    this.#isClosing = false;
    this.#network.world.onClosed(() => this.emit("close"));
  }
}

export class Network {
  readonly world: World;
  readonly connections: Set<Connection> = new Set();
  readonly #options: LinkOptions;
  readonly #observer: NetworkObserver;
  readonly #listeners = new Map<string, SimulatedServer>();
  readonly #links = new Map<string, Link>();
  readonly #dialFaults = new Map<string, DialFault>();
  /** Dials that a partition holds, by link. */
  readonly #heldDials: { readonly link: Link; readonly retry: () => void }[] = [];
  /** The first three numbers of the addresses that crashed processes connect to. */
  readonly #crashed = new Set<string>();
  /** Accepted sockets that no program reads. */
  #ignored: SimulatedSocket[] = [];
  #ids = 0;

  constructor(world: World, options: LinkOptions, observer: NetworkObserver) {
    this.world = world;
    this.#options = options;
    this.#observer = observer;
  }

  listen(host: string, port: number, server: SimulatedServer): Error | undefined {
    const name = serverOf(host);
    if (this.#listeners.has(name)) return systemError("EADDRINUSE", "listen", { address: host, port });
    this.#listeners.set(name, server);
    return undefined;
  }

  unlisten(host: string, server: SimulatedServer): void {
    if (this.#listeners.get(serverOf(host)) !== server) return;
    this.#listeners.delete(serverOf(host));
    this.#observer.onUnlistened(serverOf(host));
  }

  /** Sets what happens to new connections of a server; `undefined` for no fault. */
  setDialFault(server: string, fault: DialFault | undefined): void {
    if (fault === undefined) this.#dialFaults.delete(server);
    else this.#dialFaults.set(server, fault);
  }

  /** Holds all bytes of a link in one or both directions, or releases them. */
  hold(client: string, server: string, held: readonly [boolean, boolean]): void {
    const link = this.#link(client, server);
    link.held[0] = held[0];
    link.held[1] = held[1];
    for (const connection of this.connections) {
      if (connection.client !== client || connection.server !== server) continue;
      if (!held[0]) connection.upstream.release();
      if (!held[1]) connection.downstream.release();
    }
    if (held[0] || held[1]) return;
    const waiting = this.#heldDials.filter((one) => one.link === link);
    for (const one of waiting) {
      this.#heldDials.splice(this.#heldDials.indexOf(one), 1);
      // A lost SYN is sent again after a second or more.
      this.world.after(link.random.between(0, 1_000), one.retry);
    }
  }

  /** Ends the faults of links and of dials, and resets the connections that were accepted and ignored. */
  heal(): void {
    for (const socket of this.#ignored) socket.resetAndDestroy();
    this.#ignored = [];
    this.#dialFaults.clear();
    for (const name of this.#links.keys()) this.hold(...(name.split("-") as [string, string]), [false, false]);
  }

  /** Resets all connections to a server. */
  resetAll(server: string): void {
    for (const { accepted, server: name } of [...this.connections]) {
      if (name !== server) continue;
      accepted.resetPeer();
      accepted.receiveReset();
    }
  }

  /**
   * Ends the process of a host: its listener is gone, and its connections are reset, or silent if the host is gone too. Nothing
   * that the process sends to `prefix` arrives.
   */
  crash(host: string, isSilent: boolean, prefix?: string): void {
    this.#listeners.delete(host);
    if (prefix !== undefined) this.#crashed.add(prefix);
    for (const { client, server, socket, accepted } of [...this.connections]) {
      for (const [owner, end] of [[client, socket] as const, [server, accepted] as const]) {
        if (owner !== host) continue;
        if (isSilent) end.silence();
        else end.resetPeer();
        end.receiveReset();
      }
    }
  }

  /** The substitute of the module `node:net`. */
  module(original: object): object {
    return {
      ...original,
      Socket: SimulatedSocket,
      connect: (to: { readonly host: string; readonly port: number }) => this.connect(to),
      createServer: () => new SimulatedServer(this),
    };
  }

  connect({ host, port }: { readonly host: string; readonly port: number }): SimulatedSocket {
    const { world } = this;
    const client = clientOf(host);
    const server = serverOf(host);
    this.#observer.onDial(client, server);
    const link = this.#link(client, server);
    const id = ++this.#ids;
    const dialedAt = world.now;
    const local = { address: host.replace(/\d+$/, "200"), port: 20_000 + (id % 40_000) };
    const remote = { address: host, port };
    let connection: Connection | undefined;
    const socket = new SimulatedSocket(world, `${client}#${id}`, client, { local, remote }, () => {
      if (connection !== undefined) this.#onSocketClosed(connection);
    });
    world.note("dial", `${client}#${id}`, server);
    const refuse = (): void => {
      if (socket.destroyed) return;
      world.note("refused", `${client}#${id}`, server);
      socket.connecting = false;
      socket.destroy(systemError("ECONNREFUSED", "connect", remote));
    };
    const arrive = (): void => {
      const fault = this.#dialFaults.get(server);
      if (fault === "lose" || socket.destroyed || this.#crashed.has(host.slice(0, host.lastIndexOf(".")))) return;
      if (link.held[0] || link.held[1]) {
        this.#heldDials.push({ link, retry: arrive });
        return;
      }
      const listener = this.#listeners.get(server);
      if (listener === undefined || fault === "refuse") {
        world.after(link.latencyMs, refuse);
        return;
      }
      connection = this.#open({ id, dialedAt, client, server, socket }, link, listener, fault);
    };
    world.after(link.latencyMs, arrive);
    return socket;
  }

  #open(
    dialed: Pick<Connection, "id" | "dialedAt" | "client" | "server" | "socket">,
    link: Link,
    listener: SimulatedServer,
    fault: DialFault | undefined,
  ): Connection {
    const { world } = this;
    const { id, server, socket } = dialed;
    const addresses = {
      local: { address: socket.remoteAddress as string, port: socket.remotePort as number },
      remote: { address: socket.localAddress, port: socket.localPort },
    };
    const accepted = new SimulatedSocket(world, `${server}#${id}`, server, addresses, () => {
      listener.forget(accepted);
      this.#onSocketClosed(connection);
    });
    const upstream = new Pipe(world, link, 0, socket, accepted);
    const downstream = new Pipe(world, link, 1, accepted, socket);
    const connection: Connection = { ...dialed, accepted, upstream, downstream };
    this.connections.add(connection);
    this.#observer.onConnection(connection);
    accepted.open(upstream, downstream);
    world.after(link.latencyMs, () => {
      if (socket.destroyed) return accepted.receiveReset();
      world.note("connected", socket.label, server);
      socket.open(downstream, upstream);
      socket.emit("connect");
      socket.emit("ready");
    });
    const { maxConnections = Number.POSITIVE_INFINITY } = listener;
    accepted.on("error", ignore);
    if (fault === "accept and ignore") {
      this.#ignored.push(accepted);
      return connection;
    }
    if (fault === "accept and close" || listener.sockets.size >= maxConnections) {
      accepted.destroy();
      return connection;
    }
    listener.sockets.add(accepted);
    // The kernel has accepted the connection; the program does so a little later.
    world.after(link.random.next() * 0.2, () => {
      accepted.off("error", ignore);
      if (!accepted.destroyed) listener.emit("connection", accepted);
    });
    return connection;
  }

  #onSocketClosed(connection: Connection): void {
    if (!connection.socket.destroyed || !connection.accepted.destroyed) return;
    if (this.connections.delete(connection)) this.#observer.onClosed(connection);
  }

  #link(client: string, server: string): Link {
    const name = `${client}-${server}`;
    let link = this.#links.get(name);
    if (link === undefined) {
      link = { ...this.#options, name, random: this.world.random(`link/${name}`), held: [false, false] };
      this.#links.set(name, link);
    }
    return link;
  }
}

/** The listener of sockets that the program has not accepted: nothing sees their errors. */
function ignore(): void {}

function clientOf(host: string): string {
  const number = Number(host.split(".")[1]);
  return number > 100 ? `server${number - 100}` : `client${number}`;
}

function serverOf(host: string): string {
  const number = Number(host.split(".")[3]);
  return number > 200 ? `registry${number - 200}` : `server${number}`;
}
