/** PostgreSQL for tests: a cluster in a temporary folder, on a free port of the loopback address. */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { chownSync, existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { freePort } from "./port.ts";

const BIN = findPrograms();

/** True if PostgreSQL is installed. Tests that need it are skipped otherwise. */
export const hasPostgres: boolean = BIN !== undefined;

/** A running cluster. */
export interface Postgres {
  readonly url: string;
  /** Opens a session of psql. */
  readonly connect: () => Session;
  readonly stop: () => Promise<void>;
}

/** A session of psql, for transactions that meet those of a program. */
export interface Session {
  /** Runs SQL, and resolves with the rows, whose columns are separated by `|`. */
  readonly run: (sql: string) => Promise<string[]>;
  readonly close: () => Promise<void>;
}

/** Returns the folder of the programs, which Debian does not put into the path. */
function findPrograms(): string | undefined {
  const DEBIAN = "/usr/lib/postgresql";
  const versions = existsSync(DEBIAN) ? readdirSync(DEBIAN).sort((a, b) => Number(b) - Number(a)) : [];
  const folders = [
    ...versions.map((version) => join(DEBIAN, version, "bin")),
    ...(process.env["PATH"] ?? "").split(":"),
  ];
  return folders.find((folder) => ["initdb", "postgres", "psql"].every((name) => existsSync(join(folder, name))));
}

/** PostgreSQL refuses to run as root; then it runs as the user that its package has created. */
function unprivileged(): { readonly uid?: number; readonly gid?: number } {
  if (process.getuid?.() !== 0) return {};
  const idOf = (option: string): number => Number(execFileSync("id", [option, "postgres"], { encoding: "utf8" }));
  return { uid: idOf("-u"), gid: idOf("-g") };
}

export async function startPostgres(): Promise<Postgres> {
  if (BIN === undefined) throw new Error("PostgreSQL is not installed");
  const bin = BIN;
  const folder = mkdtempSync(join(tmpdir(), "triple-es-postgres-"));
  const owner = unprivileged();
  if (owner.uid !== undefined && owner.gid !== undefined) chownSync(folder, owner.uid, owner.gid);
  const options = { ...owner, cwd: folder, env: { PATH: process.env["PATH"], LC_ALL: "C.UTF-8" } };
  const init = ["--pgdata=data", "--username=shop", "--auth=trust", "--no-sync", "--no-instructions"];
  execFileSync(join(bin, "initdb"), init, { ...options, stdio: "pipe" });
  interface Started {
    readonly port: number;
    readonly server: ChildProcess;
    readonly exit: Promise<unknown>;
  }
  const start = async (tries: number): Promise<Started> => {
    const port = await freePort();
    const settings = [`port=${port}`, "listen_addresses=127.0.0.1", "unix_socket_directories=", "fsync=off"];
    const args = ["-D", "data", ...settings.flatMap((setting) => ["-c", setting])];
    const server = spawn(join(bin, "postgres"), args, { ...options, stdio: ["ignore", "ignore", "pipe"] });
    const exit = once(server, "exit");
    try {
      await ready(server);
    } catch (error) {
      // Another process may have taken the port.
      if (tries === 1) throw error;
      return start(tries - 1);
    }
    return { port, server, exit };
  };
  const { port, server, exit } = await start(3);
  const url = `postgres://shop@127.0.0.1:${port}/postgres`;
  return {
    url,
    connect: () => openSession(join(bin, "psql"), url),
    async stop() {
      const FAST_SHUTDOWN = "SIGINT";
      server.kill(FAST_SHUTDOWN);
      await exit;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function ready({ stderr }: ChildProcess): Promise<void> {
  if (stderr === null) throw new Error("the server has no output");
  const lines: string[] = [];
  return new Promise((resolve, reject) => {
    const input = createInterface({ input: stderr });
    input.on("line", (line) => {
      lines.push(line);
      if (line.includes("database system is ready to accept connections")) resolve();
    });
    input.on("close", () => reject(new Error(`PostgreSQL has ended:\n${lines.join("\n")}`)));
  });
}

function openSession(psql: string, url: string): Session {
  const child = spawn(psql, ["-X", "-q", "-A", "-t", url], { stdio: ["pipe", "pipe", "inherit"] });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const END = "-- end --";
  return {
    async run(sql) {
      child.stdin.write(`${sql};\n\\echo ${END}\n`);
      const rows: string[] = [];
      for (;;) {
        const { value, done } = await lines.next();
        if (done) throw new Error(`psql has ended in: ${sql}`);
        if (value === END) return rows;
        rows.push(value);
      }
    },
    async close() {
      child.stdin.end();
      await once(child, "exit");
    },
  };
}
