/** Servers of peers that run until the last table is over, because a JVM takes seconds to start Dubbo. */
import type { Running } from "../program.ts";
import type { DubboPeer } from "./peer.ts";

export class KeptServers {
  readonly #servers = new Map<string, Promise<Running>>();

  /** Returns the peer with servers that are started once, and that {@link stop} stops. */
  keep(peer: DubboPeer): DubboPeer {
    const { name, startHttpServer } = peer;
    return {
      ...peer,
      startServer: (own) => this.#start(`${name} ${own === undefined ? "" : "TLS"}`, () => peer.startServer(own)),
      ...(startHttpServer && { startHttpServer: () => this.#start(`${name} HTTP RPC`, startHttpServer) }),
    };
  }

  async #start(name: string, start: () => Promise<Running>): Promise<Running> {
    const starting = this.#servers.get(name) ?? start();
    this.#servers.set(name, starting);
    const { port } = await starting;
    return { port, stop: async () => {} };
  }

  /** Stops the servers. Those that are needed later are started again. */
  readonly stop = async (): Promise<void> => {
    const servers = await Promise.allSettled(this.#servers.values());
    this.#servers.clear();
    await Promise.all(servers.map((one) => (one.status === "fulfilled" ? one.value.stop() : undefined)));
  };
}
