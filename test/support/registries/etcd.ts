/** An etcd for tests, of one member on loopback, with leases from one second on; over TLS and with users if wanted. */
import { existsSync, readFileSync } from "node:fs";
import { request } from "node:https";
import { join } from "node:path";
import { freePort } from "../port.ts";
import { installRegistry, REGISTRIES, type RegistryProcess, startRegistry } from "./process.ts";

const INSTALLED = join(REGISTRIES, "etcd", "usr", "bin", "etcd");

/** Reports whether etcd can run here. Tests that need it are skipped where it cannot. */
export const hasEtcd: boolean = installRegistry("etcd");

/** Files of a server that asks its clients for certificates. */
export interface EtcdTls {
  readonly cert: string;
  readonly key: string;
  readonly ca: string;
}

export interface EtcdProcess extends RegistryProcess {
  /** Calls a method of the JSON gateway, such as `/v3/kv/range`. Keys and values are strings in base64. */
  call(path: string, body: object): Promise<Record<string, unknown>>;
  /** The keys below a prefix, with their values. */
  entries(prefix: string): Promise<Record<string, string>>;
  put(key: string, value: string): Promise<void>;
}

/** Starts an etcd. Over TLS it asks for certificates, and `own` is that of the test. */
export async function startEtcd(tls?: EtcdTls, own?: EtcdTls): Promise<EtcdProcess> {
  const port = await freePort();
  const peers = `http://127.0.0.1:${await freePort()}`;
  const clients = `${tls === undefined ? "http" : "https"}://127.0.0.1:${port}`;
  const program = existsSync(INSTALLED) ? INSTALLED : "etcd";
  const arch = { x64: "amd64", arm64: "arm64" }[process.arch as string] ?? process.arch;
  const secure =
    tls === undefined
      ? []
      : ["--cert-file", tls.cert, "--key-file", tls.key, "--trusted-ca-file", tls.ca, "--client-cert-auth"];
  const registry = await startRegistry({
    name: "etcd",
    port,
    env: { ETCD_UNSUPPORTED_ARCH: arch },
    command: (folder) => [
      program,
      ...["--name", "one", "--data-dir", folder, "--unsafe-no-fsync"],
      ...["--listen-client-urls", clients, "--advertise-client-urls", clients],
      ...["--listen-peer-urls", peers, "--initial-advertise-peer-urls", peers, "--initial-cluster", `one=${peers}`],
      ...["--heartbeat-interval", "20", "--election-timeout", "200"],
      ...secure,
    ],
    isReady: () => (own === undefined ? isHealthy(clients) : isListening(port, own)),
  });
  const call = async (path: string, body: object): Promise<Record<string, unknown>> => {
    const response = await fetch(`${clients}${path}`, { method: "POST", body: JSON.stringify(body) });
    const answer = (await response.json()) as Record<string, unknown>;
    if (!response.ok) throw new Error(`${path}: ${JSON.stringify(answer)}`);
    return answer;
  };
  return Object.assign(registry, {
    call,
    async entries(prefix: string) {
      const last = String.fromCharCode(prefix.charCodeAt(prefix.length - 1) + 1);
      const end = btoa(prefix.slice(0, -1) + last);
      const { kvs = [] } = (await call("/v3/kv/range", { key: btoa(prefix), range_end: end })) as { kvs?: Pair[] };
      return Object.fromEntries(kvs.map(({ key, value = "" }) => [atob(key), atob(value)]));
    },
    async put(key: string, value: string) {
      await call("/v3/kv/put", { key: btoa(key), value: btoa(value) });
    },
  });
}

interface Pair {
  readonly key: string;
  readonly value?: string;
}

async function isHealthy(url: string): Promise<boolean> {
  try {
    return (await (await fetch(`${url}/health`)).text()).includes('"true"');
  } catch {
    return false;
  }
}

function isListening(port: number, { cert, key, ca }: EtcdTls): Promise<boolean> {
  const read = (file: string): string => readFileSync(file, "utf8");
  return new Promise((resolve) => {
    const options = { port, host: "127.0.0.1", path: "/health", cert: read(cert), key: read(key), ca: read(ca) };
    request({ ...options, rejectUnauthorized: false }, (response) => {
      response.resume();
      resolve(response.statusCode === 200);
    })
      .on("error", () => resolve(false))
      .end();
  });
}
