/**
 * nginx and HAProxy between client and server, in cleartext, each with a configuration that can be replaced while it
 * runs.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { MissingPeer } from "../interop/peer.ts";
import { installDebianPackages, outputOf, type Running, startProgram } from "../interop/program.ts";

/** The response header in which a proxy reports which of its configurations is in force. */
export const CONFIGURATION_HEADER = "x-configuration";

export interface Proxy extends Running {
  /** Replaces the configuration, without stopping: exchanges that have begun are finished by the old processes. */
  reload(): void;
}

export interface ProxyKind {
  readonly name: string;
  start(backend: number): Promise<Proxy>;
}

interface Program {
  readonly package: string;
  readonly version: readonly string[];
  readonly signal: NodeJS.Signals;
  command(folder: string): readonly string[];
  configuration(folder: string, port: number, backend: number, number: number): string;
}

/** Returns the settings of nginx by which it keeps its temporary files in a folder. */
export function nginxFolders(folder: string): string {
  const names = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"];
  return names.map((name) => `${name}_temp_path ${join(folder, name)};`).join(" ");
}

const nginx: Program = {
  package: "nginx-light",
  version: ["nginx", "-v"],
  signal: "SIGHUP",
  command: (folder) => ["nginx", "-p", folder, "-e", "stderr", "-c", join(folder, "conf")],
  configuration(folder, port, backend, number) {
    return `
      daemon off;
      worker_processes 1;
      pid ${join(folder, "pid")};
      events { worker_connections 4096; }
      http {
        access_log off;
        ${nginxFolders(folder)}
        upstream server { server 127.0.0.1:${backend}; keepalive 16; }
        server {
          listen 127.0.0.1:${port} http2;
          http2_max_concurrent_streams 128;
          location / { grpc_pass grpc://server; add_header ${CONFIGURATION_HEADER} ${number}; }
        }
      }
    `;
  },
};

const haproxy: Program = {
  package: "haproxy",
  version: ["haproxy", "-v"],
  signal: "SIGUSR2",
  // A master and its workers: on a signal the master starts new workers, and the old ones finish their exchanges.
  command: (folder) => ["haproxy", "-W", "-f", join(folder, "conf"), "-p", join(folder, "pid")],
  configuration: (folder, port, backend, number) => `
global
  stats socket ${join(folder, "socket")} mode 600 level admin expose-fd listeners
defaults
  mode http
  timeout connect 5s
  timeout client 30s
  timeout server 30s
frontend in
  bind 127.0.0.1:${port} proto h2
  http-response set-header ${CONFIGURATION_HEADER} ${number}
  default_backend out
backend out
  server only 127.0.0.1:${backend} proto h2
`,
};

/** The proxies. Throws {@link MissingPeer} for one that is not installed and cannot be. */
export function findProxy(name: "nginx" | "haproxy"): ProxyKind {
  const program = name === "nginx" ? nginx : haproxy;
  installDebianPackages(program.package);
  const [command = "", ...args] = program.version;
  const version = outputOf(command, ...args)?.match(/\d+\.\d+\.\d+/)?.[0];
  if (version === undefined) throw new MissingPeer(`there is no ${name} on the PATH (${program.package})`);
  return { name: `${name} ${version}`, start: (backend) => startProxy(program, backend) };
}

async function startProxy(program: Program, backend: number): Promise<Proxy> {
  const folder = mkdtempSync(join(tmpdir(), "triple-es-proxy-"));
  const configure = (port: number, number: number): void => {
    writeFileSync(join(folder, "conf"), program.configuration(folder, port, backend, number));
  };
  const running = await startProgram((port) => {
    configure(port, 1);
    return program.command(folder);
  });
  return {
    port: running.port,
    reload() {
      configure(running.port, 2);
      process.kill(Number(readFileSync(join(folder, "pid"), "utf8")), program.signal);
    },
    async stop() {
      await running.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
