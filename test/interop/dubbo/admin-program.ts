/**
 * The program `Admin.java`, which reads and writes a registry as the Java version of Dubbo Admin does. No registry of packages has
 * Admin itself.
 */
import { setTimeout as delay } from "node:timers/promises";
import { startConversation } from "../program.ts";

/** The program in Java. */
export interface Admin {
  /** Returns the result of a command. Rejects with its error. */
  ask(command: string, ...args: unknown[]): Promise<unknown>;
  stop(): Promise<void>;
}

/** Starts the program. `command` has the URL of the registry. */
export async function startAdmin(command: readonly string[]): Promise<Admin> {
  const program = await startConversation(command);
  return {
    async ask(...words) {
      const [line = ""] = await program.ask(JSON.stringify(words));
      if (line.startsWith("failed: ")) throw new Error(line);
      return JSON.parse(line);
    },
    stop: program.stop,
  };
}

/** Time limit for consumers and Admin to notice a change in the registry, in milliseconds. */
const NOTICE_MS = 30_000;

/** Asks until the answer is accepted, or the time is over. Returns the last answer. */
export async function until<T>(ask: () => Promise<T>, isAccepted: (answer: T) => boolean): Promise<T> {
  const deadline = performance.now() + NOTICE_MS;
  for (;;) {
    const answer = await ask();
    if (isAccepted(answer) || performance.now() > deadline) return answer;
    await delay(20);
  }
}
