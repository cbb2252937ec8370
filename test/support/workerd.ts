/** Workers in workerd, the runtime of Cloudflare Workers, from the package of examples/workers. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { build } from "esbuild";
import { ROOT } from "./documents.ts";

const WORKERD = join(ROOT, "examples/workers/node_modules/workerd/bin/workerd");

export const isWorkerdInstalled = (): boolean => existsSync(WORKERD);

export interface RunningWorker {
  /** The port whose requests `fetch` answers. */
  readonly port: number;
  /** The port whose connections `connect` serves. */
  readonly tcpPort: number;
  readonly stop: () => Promise<void>;
}

/**
 * Starts the worker of a source file. `more` is added to its configuration; `authorities` are trusted over TLS, in addition to
 * which it may connect to this machine.
 */
export async function startWorker(
  file: string,
  more = "",
  authorities: readonly string[] = [],
): Promise<RunningWorker> {
  const folder = mkdtempSync(join(tmpdir(), "triple-es-workerd-"));
  const trusted = `trustedCertificates = ${JSON.stringify(authorities)}`;
  writeFileSync(
    join(folder, "workerd.capnp"),
    `
using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [
    (name = "main", worker = .main),
    (name = "internet", network = (allow = ["private"], tlsOptions = (${trusted}))),
  ],
  sockets = [
    (name = "http", address = "127.0.0.1:0", http = (), service = "main"),
    (name = "tcp", address = "127.0.0.1:0", tcp = (), service = "main"),
  ],
);
const main :Workerd.Worker = (
  modules = [(name = "worker", esModule = embed "worker.js")],
  compatibilityDate = "2026-10-01",
  ${more}
);
`,
  );
  await build({
    entryPoints: [join(ROOT, file)],
    outfile: join(folder, "worker.js"),
    bundle: true,
    format: "esm",
    conditions: ["triple-source", "workerd"],
    external: ["node:*"],
    logLevel: "warning",
  });
  const args = [WORKERD, "serve", join(folder, "workerd.capnp"), "--control-fd=1"];
  const server = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"], detached: true });
  const ports: Record<string, number> = {};
  for await (const line of createInterface({ input: server.stdout })) {
    const { socket, port } = JSON.parse(line);
    ports[socket] = port;
    if (Object.keys(ports).length === 2) break;
  }
  const { http: port = 0, tcp: tcpPort = 0 } = ports;
  return {
    port,
    tcpPort,
    async stop() {
      if (server.pid !== undefined && server.exitCode === null) {
        // SIGTERM would wait for requests that their clients have left.
        process.kill(-server.pid, "SIGKILL");
        await once(server, "exit");
      }
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
