/** A Consul agent for tests, in development mode on loopback: its data are lost when it ends. */
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { freePort } from "../port.ts";
import { installRegistry, REGISTRIES, type RegistryProcess, startRegistry } from "./process.ts";

const PROGRAM = join(REGISTRIES, "consul-1.12.9", "consul");

/** Reports whether Consul can run here. Tests that need it are skipped where it cannot. */
export const hasConsul: boolean =
  existsSync(PROGRAM) || (spawnSync("go", ["version"], { stdio: "ignore" }).status === 0 && installRegistry("consul"));

export interface ConsulProcess extends RegistryProcess {
  /** The address of its DNS server. */
  readonly dns: string;
  /** Makes a request to the API of the agent, such as `PUT /v1/agent/service/register`. */
  api(method: string, path: string, body?: object): Promise<string>;
}

export async function startConsul(): Promise<ConsulProcess> {
  const http = await freePort();
  const dns = await freePort();
  const url = `http://127.0.0.1:${http}`;
  const ports = [`-dns-port=${dns}`, `-server-port=${await freePort()}`, `-serf-lan-port=${await freePort()}`];
  const registry = await startRegistry({
    name: "consul",
    port: http,
    command: (folder) => [
      PROGRAM,
      ...["agent", "-dev", "-bind=127.0.0.1", "-client=127.0.0.1", `-data-dir=${folder}`, `-http-port=${http}`],
      ...[
        ...ports,
        "-serf-wan-port=-1",
        "-grpc-port=-1",
        "-disable-host-node-id",
        "-hcl=disable_update_check = true",
        // Without it, answers over UDP have three of the instances, at random, and no mark that they are incomplete.
        "-hcl=dns_config { enable_truncate = true }",
        "-log-level=warn",
      ],
    ],
    isReady: () => hasLeader(url),
  });
  return Object.assign(registry, {
    dns: `127.0.0.1:${dns}`,
    async api(method: string, path: string, body?: object) {
      const response = await fetch(`${url}${path}`, { method, ...(body && { body: JSON.stringify(body) }) });
      const text = await response.text();
      if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
      return text;
    },
  });
}

async function hasLeader(url: string): Promise<boolean> {
  try {
    return (await (await fetch(`${url}/v1/status/leader`)).text()).includes(":");
  } catch {
    return false;
  }
}
