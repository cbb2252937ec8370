/** Cells of Nacos: a server for those of a file, and registries in it. */
import type { Registry } from "triple-es/discovery";
import { type NacosOptions, nacos } from "triple-es-dubbo/nacos";
import { afterAll, beforeAll, onTestFinished } from "vitest";
import { type NacosProcess, startNacos } from "../support/registries/nacos.ts";

export const SERVICE = "greet.v1.GreetService";

export interface OwnNacos {
  /** The server, while cells run. */
  readonly server: NacosProcess;
  /** Opens a registry, which is closed when the test is over. */
  open(options?: Partial<NacosOptions>): Registry;
  /** The addresses of a service, as Nacos itself reports them. */
  addressesOf(service: string): Promise<string[]>;
}

/** Starts a server for the cells of this group. */
export function ownNacos(): OwnNacos {
  let server: NacosProcess;
  beforeAll(async () => {
    server = await startNacos();
  });
  afterAll(() => server?.close());
  return {
    get server() {
      return server;
    },
    open(options = {}) {
      const registry = nacos({ servers: [server.address], ...options });
      onTestFinished(() => registry.close());
      return registry;
    },
    async addressesOf(service) {
      const path = `/v1/ns/instance/list?serviceName=${encodeURIComponent(service)}`;
      const { hosts = [] } = JSON.parse(await server.api(path)) as { hosts?: { ip: string; port: number }[] };
      return hosts.map(({ ip, port }) => `${ip}:${port}`);
    },
  };
}
