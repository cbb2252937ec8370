/**
 * A DNS server for tests: dnsmasq on loopback, which has the names that a test sets below `.test` and refuses all others.
 */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { Resolver } from "node:dns/promises";
import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { freePort } from "./port.ts";

const PATH = `${process.env["PATH"]}:/usr/sbin:/sbin`;

/** True if dnsmasq is installed. Tests that need it are skipped otherwise. */
export const hasDnsmasq: boolean = spawnSync("dnsmasq", ["--version"], { env: { PATH } }).status === 0;

export interface DnsServer {
  /** The address in the format of the option `servers` of `dns`. */
  readonly address: string;
  /** Replaces the addresses of all names, by name. They are served after a moment. */
  setHosts(hosts: Readonly<Record<string, readonly string[]>>): Promise<void>;
  /** Stops the server at once. */
  kill(): Promise<void>;
  /** Makes the server silent, as a network partition does: queries have no response at all. */
  pause(): void;
  resume(): void;
  /** Starts the server again, with other records such as `srv-host=_grpc._tcp.greet.test,one.test,50051,0,10`. */
  restart(records?: readonly string[]): Promise<void>;
}

/** Starts the server. Its responses may be cached for a second. */
export async function startDns(
  hosts: Readonly<Record<string, readonly string[]>>,
  records: readonly string[] = [],
): Promise<DnsServer> {
  const folder = mkdtempSync(join(tmpdir(), "triple-es-dns-"));
  const probe = new Resolver({ timeout: 200, tries: 1 });
  let port = 0;
  let version = 0;
  let child: ChildProcess | undefined;

  /** The names are in a file that replaces the previous one, together with a name that identifies the file. */
  const writeHosts = (named: Readonly<Record<string, readonly string[]>>): void => {
    version++;
    const lines = Object.entries(named).flatMap(([name, all]) => all.map((one) => `${one} ${name}`));
    const file = join(folder, "new");
    writeFileSync(file, [...lines, `127.0.0.1 version-${version}.test`, ""].join("\n"));
    renameSync(file, join(folder, "hosts", "names"));
  };
  const served = async (): Promise<void> => {
    const isServed = (): Promise<boolean> =>
      probe.resolve4(`version-${version}.test`).then(
        () => true,
        () => false,
      );
    for (let tries = 0; tries < 200 && child?.exitCode === null; tries++) {
      if (await isServed()) return;
      await new Promise((resolve) => setTimeout(resolve, 25));
    }
    throw new Error("dnsmasq does not answer");
  };
  const start = async (lines: readonly string[]): Promise<void> => {
    probe.setServers([`127.0.0.1:${port}`]);
    const config = join(folder, "records");
    writeFileSync(config, `${lines.join("\n")}\n`);
    const network = [`--port=${port}`, "--listen-address=127.0.0.1", "--bind-interfaces", "--no-resolv", "--no-hosts"];
    const user = [`--user=${userInfo().username}`, "--pid-file=", "--keep-in-foreground"];
    const names = [`--conf-file=${config}`, `--addn-hosts=${join(folder, "hosts")}`, "--local-ttl=1", "--local=/test/"];
    child = spawn("dnsmasq", [...network, ...user, ...names], { env: { PATH }, stdio: "ignore" });
    await served();
  };
  const kill = async (): Promise<void> => {
    const ended = child;
    if (ended === undefined || ended.exitCode !== null || ended.signalCode !== null) return;
    await new Promise<void>((resolve) => {
      ended.once("exit", () => resolve());
      ended.kill("SIGKILL");
    });
  };

  mkdirSync(join(folder, "hosts"));
  writeHosts(hosts);
  onTestFinished(async () => {
    await kill();
    rmSync(folder, { recursive: true });
  });
  for (let tries = 3; ; tries--) {
    port = await freePort();
    try {
      await start(records);
      break;
    } catch (error) {
      // Another process may have taken the port.
      await kill();
      if (tries === 1) throw error;
    }
  }
  return {
    address: `127.0.0.1:${port}`,
    async setHosts(named) {
      writeHosts(named);
      child?.kill("SIGHUP");
      await served();
    },
    kill,
    pause: () => void child?.kill("SIGSTOP"),
    resume: () => void child?.kill("SIGCONT"),
    restart: async (lines = records) => {
      await kill();
      await start(lines);
    },
  };
}
