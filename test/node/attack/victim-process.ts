/** Starts the server under attack in a separate process, and a well-behaved client beside the attack. */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { createTransport } from "triple-es/node";
import { onTestFinished } from "vitest";
import { createGreetServiceClient } from "../../../examples/gen/greet/v1/greet_triple.ts";
import { compiled } from "../../support/compiled.ts";
import type { Counts, Health, Orders } from "./victim.ts";

/** A server with its own process, whose peak of memory is that of one attack. */
export interface Victim {
  readonly port: number;
  /** Collects the garbage, which takes the server some hundredths of a second. */
  health(): Promise<Health>;
  counts(): Promise<Counts>;
  /** Lets the stubborn handlers end. */
  release(): void;
}

/** Starts a server for one test. */
export async function startVictim(orders: Orders): Promise<Victim> {
  const [victim, stop] = await forkVictim(orders);
  onTestFinished(stop);
  return victim;
}

/** Starts a server, and returns it with the function that stops it. */
export async function forkVictim(orders: Orders): Promise<[victim: Victim, stop: () => void]> {
  const child: ChildProcess = fork(compiled("test/node/attack/victim.ts"), {
    execArgv: ["--expose-gc"],
    // glibc returns freed memory to the system. Otherwise it keeps more of it after each large allocation.
    env: { ...process.env, MALLOC_TRIM_THRESHOLD_: "131072", MALLOC_MMAP_THRESHOLD_: "131072" },
  });
  child.send(orders);
  const exit = once(child, "exit").then(([code]) => Promise.reject(new Error(`the server ended with ${code}`)));
  exit.catch(() => {});
  const [port] = (await Promise.race([once(child, "message"), exit])) as [number];
  const ask = async (order: string): Promise<never> => {
    child.send(order);
    return (await once(child, "message"))[0] as never;
  };
  const release = (): void => void child.send("release");
  const victim = { port, health: () => ask("measure"), counts: () => ask("count"), release };
  return [victim, () => child.disconnect()];
}

/** A well-behaved client makes calls one after the other until it is stopped. All of them must succeed. */
export function behave(port: number, overTls: boolean): { end(): Promise<number> } {
  const baseUrl = `${overTls ? "https" : "http"}://127.0.0.1:${port}`;
  const transport = createTransport({ baseUrl, tls: overTls ? { rejectUnauthorized: false } : undefined });
  const client = createGreetServiceClient(transport);
  let ending = false;
  const calling = (async () => {
    let calls = 0;
    for (; !ending || calls === 0; calls++) {
      await client.greet({ name: "Ada" }, { timeoutMs: 20_000 });
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    await transport.close();
    return calls;
  })();
  calling.catch(() => {});
  return {
    end: () => {
      ending = true;
      return calling;
    },
  };
}
