/**
 * Messages between the benchmark and its child processes. The parent sends one request at a time and the child answers it.
 * A child whose parent has ended exits.
 */
import { type ChildProcess, type SpawnOptions, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { onCpuNanoseconds } from "./cpu-time.ts";
import { startProfile, stopProfile } from "./profile.ts";

/** The functions of a child process that its parent can call, by name. */
export type Answers = Readonly<Record<string, (argument: never) => unknown>>;

interface Question {
  readonly name: string;
  readonly argument?: unknown;
}

/** The first message announces that the child is ready. Every other message answers a request. */
interface Answer {
  readonly value?: unknown;
  readonly error?: string;
}

/** Time limit for an answer of a child, far above the longest window of a benchmark on a busy machine. */
const patienceMs = 180_000;

/** The side of the parent. */
export class Child {
  /** The path of the script, for error messages. */
  readonly name: string;
  readonly #process: ChildProcess;

  private constructor(script: URL, process: ChildProcess) {
    this.name = script.pathname.split("/").slice(-2).join("/");
    this.#process = process;
  }

  /** Starts a script in a separate process, pinned to a CPU if one is given, and waits until it is ready. */
  static async start(script: URL, cpu?: number, argument?: string): Promise<Child> {
    const args = [...process.execArgv, fileURLToPath(script), ...(argument === undefined ? [] : [argument])];
    // The output of children goes to stderr, so that stdout contains only the table.
    const options: SpawnOptions = { stdio: ["ignore", 2, 2, "ipc"] };
    const child = new Child(
      script,
      cpu === undefined
        ? spawn(process.execPath, args, options)
        : spawn("taskset", ["-c", String(cpu), process.execPath, ...args], options),
    );
    await child.#answer();
    return child;
  }

  async ask<T>(name: string, argument?: unknown): Promise<T> {
    const answer = this.#answer();
    this.#process.send({ name, argument } satisfies Question);
    return (await answer) as T;
  }

  /** CPU time of all threads of the child so far, in microseconds. */
  async cpuMicros(): Promise<number> {
    const nanoseconds = onCpuNanoseconds(this.#process.pid ?? 0);
    return nanoseconds === undefined ? this.ask<number>("cpuMicros") : nanoseconds / 1000;
  }

  async stop(): Promise<void> {
    if (this.#process.exitCode !== null || this.#process.signalCode !== null) return;
    const exit = once(this.#process, "exit");
    this.#process.disconnect();
    await exit;
  }

  #answer(): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const settle = () => {
        clearTimeout(timer);
        this.#process.off("message", onMessage).off("exit", onExit);
      };
      const onMessage = (answer: Answer) => {
        settle();
        if (answer.error === undefined) resolve(answer.value);
        else reject(new Error(`${this.name}: ${answer.error}`));
      };
      const onExit = () => {
        settle();
        reject(new Error(`${this.name} exited before it answered`));
      };
      const timer = setTimeout(() => {
        settle();
        this.#process.kill("SIGKILL");
        reject(new Error(`${this.name} did not answer in ${patienceMs / 1000} s`));
      }, patienceMs);
      this.#process.once("message", onMessage).once("exit", onExit);
    });
  }
}

/** The side of the child: announces that it is ready, then answers until the parent has ended. */
export function answerParent(answers: Answers): void {
  // tsx enables source maps. Programs in production do not have them enabled.
  process.setSourceMapsEnabled(false);
  const all: Answers = { cpuMicros: () => sum(process.cpuUsage()), startProfile, stopProfile, ...answers };
  process.on("message", async ({ name, argument }: Question) => {
    try {
      process.send?.({ value: await all[name]?.(argument as never) } satisfies Answer);
    } catch (error) {
      process.send?.({
        error: error instanceof Error ? (error.stack ?? error.message) : String(error),
      } satisfies Answer);
    }
  });
  process.on("disconnect", () => process.exit());
  process.send?.({} satisfies Answer);
}

function sum(usage: NodeJS.CpuUsage): number {
  return usage.user + usage.system;
}
