/** Programs of examples that run during a test. Their output is read line by line. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { resolve } from "node:path";
import { createInterface } from "node:readline";
import { ROOT } from "./documents.ts";

/** Time in milliseconds after which a program that ignores a signal is killed. */
const KILL_MS = 10_000;

/** A running program. */
export interface Program {
  /** Resolves with the first match of the pattern in a line that it has printed, or will print. */
  readonly line: (pattern: RegExp) => Promise<RegExpExecArray>;
  /** Sends SIGTERM to the program, after 10 s SIGKILL, and resolves with its output when it has ended. */
  readonly stop: () => Promise<string>;
}

/** The environment of a user: Vitest sets NODE_ENV, which bundlers read. */
export function environment(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const { NODE_ENV: _, ...own } = process.env;
  return { ...own, ...env };
}

/** Starts a command in the folder of an example, or in another one by its path, such as `npm run server`. Stop it at the end of the test. */
export function startProgram(example: string, command: readonly string[], env: NodeJS.ProcessEnv): Program {
  const [file = "", ...args] = command;
  const child = spawn(file, args, {
    cwd: resolve(ROOT, "examples", example),
    env: environment(env),
    stdio: ["ignore", "pipe", "pipe"],
    // The process group contains npm, its shell and the program.
    detached: true,
  });
  const lines: string[] = [];
  /** Called after each line, and at the end. */
  const readers = new Set<() => void>();
  let hasEnded = false;
  const wake = (): void => {
    for (const reader of readers) reader();
  };
  for (const input of [child.stdout, child.stderr]) {
    createInterface({ input }).on("line", (line) => {
      lines.push(line);
      wake();
    });
  }
  // The output ends with the last process of the group.
  const ended = once(child, "close").then(() => {
    hasEnded = true;
    wake();
  });

  return {
    line: (pattern) =>
      new Promise((resolve, reject) => {
        const read = (): void => {
          const match = lines.map((line) => pattern.exec(line)).find((found) => found !== null);
          if (match === undefined && !hasEnded) return void readers.add(read);
          readers.delete(read);
          if (match !== undefined) resolve(match);
          else reject(new Error(`${command.join(" ")} has ended without a line ${pattern}:\n${lines.join("\n")}`));
        };
        read();
      }),
    async stop() {
      const { pid } = child;
      let timer: NodeJS.Timeout | undefined;
      if (pid !== undefined && child.exitCode === null && child.signalCode === null) {
        process.kill(-pid);
        // workerd waits for requests that its clients have left.
        timer = setTimeout(() => process.kill(-pid, "SIGKILL"), KILL_MS);
      }
      await ended;
      clearTimeout(timer);
      return lines.join("\n");
    },
  };
}
