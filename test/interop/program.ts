/**
 * Programs of peers: servers that run until they are stopped, and clients that run once.
 */
import { type ChildProcess, type ChildProcessByStdio, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import { freePort, isListening } from "../support/port.ts";

/** A server of a peer, or a proxy in front of one. */
export interface Running {
  readonly port: number;
  stop(): Promise<void>;
}

const START_TIMEOUT_MS = 30_000;
const RUN_TIMEOUT_MS = 60_000;

/** A program, with the process that it runs in. */
export interface RunningProgram extends Running {
  readonly pid: number;
}

/**
 * Starts a program that listens on the given port, and waits until it does. `ready`: a line that the program prints when it
 * serves, if that is later.
 */
export async function startProgram(
  commandFor: (port: number) => readonly string[],
  { ready }: { readonly ready?: string } = {},
): Promise<RunningProgram> {
  const port = await freePort();
  const command = commandFor(port);
  const { child, output } = launch(command);
  let isReady = ready === undefined;
  child.stdout?.on("data", (chunk: Buffer) => {
    isReady ||= chunk
      .toString()
      .split(/\r?\n/)
      .includes(ready ?? "");
  });
  const stop = async (): Promise<void> => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill("SIGTERM");
    const kill = setTimeout(() => child.kill("SIGKILL"), 3000);
    await once(child, "exit");
    clearTimeout(kill);
  };
  const deadline = Date.now() + START_TIMEOUT_MS;
  while (!isReady || !(await isListening(port, "127.0.0.1"))) {
    if (child.exitCode !== null || Date.now() > deadline) {
      await stop();
      throw new Error(`${command[0]} does not listen: ${output()}`);
    }
    await delay(50);
  }
  return { port, pid: child.pid ?? 0, stop };
}

/** Runs a program to its end, and returns its output. If it fails, throws an error with the end of the output. */
export async function runProgram(command: readonly string[]): Promise<string> {
  const { child, output } = launch(command);
  const printed: Buffer[] = [];
  child.stdout?.on("data", (chunk: Buffer) => printed.push(chunk));
  const kill = setTimeout(() => child.kill("SIGKILL"), RUN_TIMEOUT_MS);
  const [code, signal] = (await once(child, "close")) as [number | null, string | null];
  clearTimeout(kill);
  if (code !== 0) throw new Error(`${signal ?? `exit code ${code}`}: ${output()}`);
  return Buffer.concat(printed).toString();
}

/** A program that answers lines on its input. */
export interface Conversation {
  /** Sends a line. Returns the lines of the answer, which the program ends with "done". */
  ask(line: string): Promise<string[]>;
  stop(): Promise<void>;
}

/** Starts a program that answers lines, and waits for the "done" that it prints when it is ready. */
export async function startConversation(command: readonly string[]): Promise<Conversation> {
  const { child, output } = launch(command, "pipe");
  const lines = createInterface({ input: child.stdout as Readable })[Symbol.asyncIterator]();
  const answer = async (): Promise<string[]> => {
    const kill = setTimeout(() => child.kill("SIGKILL"), RUN_TIMEOUT_MS);
    const read: string[] = [];
    try {
      for (;;) {
        const { value, done } = await lines.next();
        if (done) throw new Error(`${command[0]} has ended: ${output()}`);
        if (value === "done") return read;
        read.push(value);
      }
    } finally {
      clearTimeout(kill);
    }
  };
  await answer();
  return {
    ask(line) {
      child.stdin?.write(`${line}\n`);
      return answer();
    },
    async stop() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      child.kill("SIGKILL");
      await once(child, "exit");
    },
  };
}

/**
 * A program that runs a case for each line of its input, because its start takes longer than most cases. It answers "passed" or the
 * error, and then "done".
 */
export class CaseProgram {
  readonly #command: readonly string[];
  #running: Promise<Conversation> | undefined;
  #isBusy = false;

  constructor(command: readonly string[]) {
    this.#command = command;
  }

  readonly start = async (): Promise<Conversation> => {
    this.#running ??= startConversation(this.#command);
    return this.#running;
  };

  /** Runs a case. Rejects with its error. */
  async run(...args: readonly string[]): Promise<void> {
    // The case before has exceeded its time limit.
    if (this.#isBusy) await this.stop();
    this.#isBusy = true;
    const answer = await (await this.start()).ask(args.join(" "));
    this.#isBusy = false;
    if (answer.at(-1) !== "passed") throw new Error(answer.join("\n"));
  }

  readonly stop = async (): Promise<void> => {
    const running = await this.#running?.catch(() => undefined);
    this.#running = undefined;
    this.#isBusy = false;
    await running?.stop();
  };
}

/** Returns the output of a program; `undefined` if it is missing or fails. */
export function outputOf(program: string, ...args: string[]): string | undefined {
  const { status, stdout, stderr } = spawnSync(program, args, { encoding: "utf8" });
  return status === 0 ? (stdout + stderr).trim() : undefined;
}

/** Installs packages of Debian, if that is possible: as root, with apt-get. */
export function installDebianPackages(...packages: string[]): void {
  if (process.getuid?.() !== 0 || outputOf("apt-get", "--version") === undefined) return;
  if (outputOf("dpkg", "--status", ...packages) !== undefined) return;
  console.log(`Installing ${packages.join(", ")}`);
  spawnSync("apt-get", ["update"], { stdio: "ignore" });
  spawnSync("apt-get", ["install", "-y", "--no-install-recommends", ...packages], {
    stdio: "ignore",
    env: { ...process.env, DEBIAN_FRONTEND: "noninteractive" },
  });
}

function launch(
  [program = "", ...args]: readonly string[],
  input: "ignore" | "pipe" = "ignore",
): { child: ChildProcess; output: () => string } {
  const child = spawn(program, args, { stdio: [input, "pipe", "pipe"] }) as ChildProcessByStdio<
    null,
    Readable,
    Readable
  >;
  let text = "";
  const add = (chunk: Buffer): void => {
    text = (text + chunk.toString()).slice(-4000);
  };
  child.on("error", (error) => add(Buffer.from(error.message)));
  child.stdout.on("data", add);
  child.stderr.on("data", add);
  return { child, output: () => text.trim() };
}
