/**
 * Processes of registries for tests: started on a free port below those of outgoing connections, killed, paused,
 * restarted.
 */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { createWriteStream, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ROOT } from "../documents.ts";
import { CACHE } from "../go.ts";

export const REGISTRIES: string = join(CACHE, "registries");

/** A registry that runs on this machine. */
export interface RegistryProcess {
  readonly port: number;
  /** `host:port`, as registries take it in their option `servers`. */
  readonly address: string;
  /** Ends it at once, as `kill -9` does. Its data stay. */
  kill(): Promise<void>;
  /** Starts it again, on the same port, without its data if they are wiped. */
  restart(options?: { readonly wiped?: boolean }): Promise<void>;
  /** Stops it for a while, without the end of its connections. */
  pause(): void;
  resume(): void;
  /** Ends it and removes its data. */
  close(): Promise<void>;
}

/** Installs a registry if it is not installed yet. Returns false where that is impossible. */
export function installRegistry(name: "etcd" | "zookeeper" | "nacos" | "consul"): boolean {
  const script = join(ROOT, "scripts", "registries.sh");
  return spawnSync("sh", [script, REGISTRIES, name], { stdio: "ignore", timeout: INSTALL_MS }).status === 0;
}

/** The time limit of an installation, in milliseconds: Consul is built. */
const INSTALL_MS = 1_200_000;

export interface RegistryProgram {
  readonly name: string;
  readonly port: number;
  /** The command that starts the program with its data in a folder. */
  readonly command: (folder: string) => readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly isReady: () => Promise<boolean>;
}

/** Starts a registry, and waits until it answers. */
export async function startRegistry({ name, port, command, env, isReady }: RegistryProgram): Promise<RegistryProcess> {
  const folder = mkdtempSync(join(tmpdir(), `triple-es-${name}-`));
  const data = join(folder, "data");
  const log = join(folder, "log");
  let child: ChildProcess | undefined;

  async function start(): Promise<void> {
    mkdirSync(data, { recursive: true });
    const [program = "", ...args] = command(data);
    const started = spawn(program, args, { env: { ...process.env, ...env }, stdio: ["ignore", "pipe", "pipe"] });
    child = started;
    const file = createWriteStream(log, { flags: "a" });
    started.stdout?.pipe(file, { end: false });
    started.stderr?.pipe(file, { end: false });
    for (let tries = 0; tries < 1_200; tries++) {
      if (await isReady()) return;
      if (started.exitCode !== null || started.signalCode !== null) break;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    started.kill("SIGKILL");
    throw new Error(`${name} does not answer:\n${existsSync(log) ? readFileSync(log, "utf8").slice(-2_000) : ""}`);
  }

  async function kill(): Promise<void> {
    const ended = child;
    if (ended === undefined || ended.exitCode !== null || ended.signalCode !== null) return;
    await new Promise<void>((resolve) => {
      ended.once("exit", () => resolve());
      ended.kill("SIGKILL");
    });
  }

  await start();
  const onExit = (): void => void child?.kill("SIGKILL");
  process.once("exit", onExit);
  return {
    port,
    address: `127.0.0.1:${port}`,
    kill,
    async restart({ wiped = false } = {}) {
      await kill();
      if (wiped) rmSync(data, { recursive: true });
      await start();
    },
    pause: () => void child?.kill("SIGSTOP"),
    resume: () => void child?.kill("SIGCONT"),
    async close() {
      process.off("exit", onExit);
      child?.kill("SIGCONT");
      await kill();
      rmSync(folder, { recursive: true });
    },
  };
}
